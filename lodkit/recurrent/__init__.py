"""Recurrences over sequences: steps in Python, and layers made of layers."""
