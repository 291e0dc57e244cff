"""Recurrences over sequences: steps in Python, and layers made of layers."""

from .layers import bidirectional, stacked
