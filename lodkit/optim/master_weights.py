"""Master weights: copies of parameters in float32 that are stepped, and rounded into parameters of halves."""

from __future__ import annotations

import numpy as np

from ..arrays import compute_dtype, dtype_of, is_half, to_dtype
from ..arrays.recorded import plain_view
from ..arrays.rounded_rows import round_rows, take_changed_rows
from ..registry.kinds import numbers_of, with_numbers
from ..registry.open_tapes import note_written

#: Name of the option and of the copy among the states of a parameter.
MASTER = "master_weights"


def keeps_master(group, param):
    """Whether a parameter has a copy in float32: one of float32 or float64 needs none."""
    return bool(group.get(MASTER)) and is_half(dtype_of(param))


def check_master(group, name, is_on_cpu):
    """Refuse a copy of what none is kept of, and a second way to keep what rounding loses."""
    if not is_on_cpu:
        raise TypeError(
            f"{name}: master_weights=True takes parameters on the CPU; on a GPU keep a float32 parameter, step that, "
            "and lodkit.cast it"
        )
    if group.get("rounding_seed") is not None:
        raise ValueError(f"{name}: master_weights=True keeps what rounding loses; leave out rounding_seed")


def make_master(param):
    """The copy of a parameter: its numbers, exactly."""
    return np.array(to_dtype(param, compute_dtype(dtype_of(param))), order="C")


def widen_gradient(grad):
    """A gradient in float32: an array or SelectedRows."""
    numbers = plain_view(numbers_of(grad))
    return with_numbers(grad, to_dtype(numbers, compute_dtype(numbers.dtype)))


def step_master(step, param, master, rows):
    """Step the copy by ``step(master)``, and round it into the parameter: the listed rows, or all for None.

    Where the parameter is not what the copy rounds to, another has written it since, and the copy takes its numbers.
    """
    take_changed_rows(param, rows, master)
    step(master)
    round_rows(master, rows, param)
    note_written(param)
