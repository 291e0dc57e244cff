"""What every room stands on: errors, files, imports, signals, markup, tracebacks."""
