"""Arrow's C data and stream interfaces, without an Arrow library: LoDTensors and Features from and to its arrays."""

from .reading import columns

__all__ = ["columns"]
