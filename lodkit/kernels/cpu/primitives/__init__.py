"""CPU kernels that several families share: reduce, gather, sort, update."""
