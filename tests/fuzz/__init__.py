"""A fuzzer of every public operator: hostile calls with all arrays in guarded memory.

``python -m tests.fuzz --seconds 120 --seed 1`` from the root of the repository. Linux only.

A case is a sample of an operator whose inputs and attributes were mutated. Every array that a kernel can reach lies
between pages without access, results too, so that the first byte read or written outside kills the worker process. A
case runs twice, over memory filled with different bytes: what differs was never written. A finding is printed with its
case, which ``--replay SEED:CASE`` runs again, and with the fewest mutations that still show it.
"""
