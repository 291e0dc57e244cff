"""CUDA kernels of the operators in lodkit/ops, a module a family."""
