"""Benchmarks for asv, one file per family. Setup compiles; lower is better everywhere."""
