"""The main job: train a model on the docstrings of the standard library."""
