"""Recurrences over sequences, in Python steps."""
