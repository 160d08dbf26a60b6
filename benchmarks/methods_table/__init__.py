"""`python -m benchmarks.methods_table` measures what was tried for `optimal_design`: docs/methods.md."""
