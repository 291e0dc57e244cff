"""Values of other libraries: Arrow, SciPy."""
