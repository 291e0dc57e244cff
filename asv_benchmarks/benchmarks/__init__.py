"""Benchmarks for asv, a file a family. Compilation happens in setup; lower is better everywhere."""
