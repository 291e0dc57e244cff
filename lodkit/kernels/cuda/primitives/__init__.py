"""CUDA kernels that several families share: reduce, gather, sort, scan, update."""
