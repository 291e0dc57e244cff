"""Functions that are compiled for the types in their annotations, and called without a look at types."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from lodkit.jit import Bytes, Flags, Numbers, Table, compile_typed

pytestmark = pytest.mark.jit


def add_up(numbers: Numbers, rows: Table, flags: Flags, codes: Bytes, start: int, doubled: bool):
    total = start + codes[0]
    for i in range(len(numbers)):
        total += numbers[i] * rows[0, i] if flags[i] else 0
    return 2 * total if doubled else total


def arguments():
    numbers, flags = np.array([1, 2, 3]), np.array([True, False, True])
    return numbers, 10 * numbers[None], flags, np.array([7], np.uint8), 5, True


def test_one_compilation_serves_read_only_arrays():
    function, given = compile_typed(add_up), arguments()
    assert function.code(*given) == add_up(*given) == 224
    for x in given[:4]:
        x.flags.writeable = False
    assert function.code(*given) == function(*given) == 224
    assert len(function.nopython_signatures) == 1
    assert function.code(*given[:4], np.int64(6), False) == 113


def test_other_sizes_of_elements_are_refused():
    numbers, *others = arguments()
    code = compile_typed(add_up).code
    with pytest.raises((TypeError, ValueError)):
        code(numbers.astype(np.int32), *others)
    with pytest.raises(TypeError):
        code(numbers)


CHECKED = """
import numpy as np
from lodkit.lod.offsets import longest_length
assert longest_length.code(np.array([0, 2, 5])) == 3
x = np.array([0, 2, 5])
for wrong in (x.astype(np.uint64), x[::2], x.astype(float), x[None]):
    try:
        longest_length.code(wrong)
    except TypeError as error:
        assert "was called with" in str(error), error
    else:
        raise AssertionError(wrong)
"""


def test_any_other_type_is_found_where_indices_are_checked(tmp_path):
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "LODKIT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CHECKED], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr


def test_what_is_not_compiled_runs_as_it_is():
    code = """
import numpy as np
from lodkit.lod.offsets import longest_length
assert longest_length.code(np.array([0, 2, 5])) == longest_length.code(np.array([0, 1, 4])) == 3
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
