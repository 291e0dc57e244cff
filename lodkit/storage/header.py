"""Headers of NumPy's .npy format, read by one thread at a time.

NumPy reads them with Python's own parser, which counts its depth for all threads together in some versions (3.11.7) and
raises SystemError where two of them parse: https://github.com/python/cpython/issues/106905
"""

import io
import threading

import numpy as np

PARSER = threading.Lock()
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def header(dtype, shape):
    """The bytes in front of an array in row-major order."""
    written = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, described)
    return written.getvalue()


def read_header(file):
    """Shape, whether it is in column-major order, and dtype of the array that follows in ``file``."""
    version = np.lib.format.read_magic(file)
    if version not in READERS:
        raise ValueError(f"it has version {version} of NumPy's format, not 1.0 or 2.0")
    try:
        with PARSER:
            return READERS[version](file)
    except MemoryError:
        # The parser raises it for an expression that is nested too deep.
        raise ValueError("it has a header that is no array's") from None
