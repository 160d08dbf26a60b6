"""What was tried for `optimal_design`, measured: `python -m benchmarks.methods_table` writes docs/methods.md."""
