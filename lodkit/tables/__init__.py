"""Tables whose rows are keys."""
