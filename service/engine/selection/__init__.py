"""Selection methods, which choose the examples of a micro-benchmark."""
