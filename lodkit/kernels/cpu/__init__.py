"""How operators run on the CPU. Modules have the names of those in lodkit/ops; the others start with an underscore."""
