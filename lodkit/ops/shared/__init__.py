"""Checks, definitions and infer rules that several families share."""
