"""The bundled sample: scikit-learn classifiers answering handwritten digits."""
