"""LoDTensor and SelectedRows: structure, encodings, indexing, batching, text and Jupyter views."""
