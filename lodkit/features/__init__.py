"""Nested features: dictionaries of LoDTensors and what becomes of them."""
