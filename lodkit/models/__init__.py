"""What models are made of above operators: nested features, recurrences, tables that grow, and files of all this."""
