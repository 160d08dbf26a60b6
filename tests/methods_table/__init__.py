"""What was tried for `optimal_design`, measured: `python -m tests.methods_table` writes docs/methods.md."""
