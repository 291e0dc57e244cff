"""CUDA kernels, under the file names of lodkit/ops; ``primitives`` are shared."""
