"""Demo: train a model on the docstrings of the standard library."""
