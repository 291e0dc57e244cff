"""Gradients: calls of operators and of NumPy's functions are recorded, and walked backwards.

The values that NumPy computes with are ``arrays.recorded``, and what a call needs to know is ``registry.open_tapes``:
rooms below take both for granted, and this one puts the recording into them when it is imported.
"""

from .recording import parameter, stop_gradient
from .tape import Tape

__all__ = ["Tape", "parameter", "stop_gradient"]
