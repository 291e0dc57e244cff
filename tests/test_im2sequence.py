"""Windows of images: padding, strides, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import VarDesc, VarType

IMAGE = np.arange(12.0).reshape(1, 2, 2, 3)


def test_channels_lie_side_by_side():
    out = lodkit.im2sequence(IMAGE, kernels=(2, 2))
    assert out.to_list() == [[[0, 1, 3, 4, 6, 7, 9, 10], [1, 2, 4, 5, 7, 8, 10, 11]]]


def test_paddings_are_above_left_below_right():
    out = lodkit.im2sequence(np.ones((1, 1, 1, 1)), kernels=(1, 1), paddings=(1, 2, 3, 4))
    assert np.flatnonzero(out.values).tolist() == [1 * 7 + 2]
    assert out.lengths().tolist() == [5 * 7]


def test_what_windows_skip_has_no_gradient():
    image = lodkit.parameter(IMAGE)
    with lodkit.Tape() as tape:
        out = lodkit.im2sequence(image, kernels=(1, 1), strides=(2, 2))
    assert out.values.tolist() == [[0, 6], [2, 8]]
    assert tape.gradient(out, [image])[0].tolist() == [[[[1, 0, 1], [0, 0, 0]]] * 2]


def test_unknown_sizes():
    desc = VarDesc("x", VarType.LOD_TENSOR, np.dtype(np.float32), (-1, 3, 8, -1))
    out = lodkit.im2sequence.infer(desc, kernels=(2, 2))
    assert (out.dims, out.lod_level) == ((-1, 12), 1)


@pytest.mark.parametrize(
    ("shape", "attrs", "error", "message"),
    [
        ((2, 3, 4), {"kernels": (1, 1)}, lodkit.ShapeMismatchError, r"\(n, channels, height, width\)"),
        ((1, 1, 2, 2), {"kernels": (3, 1)}, lodkit.ShapeMismatchError, "no window of 3 fits into height 2 with 0"),
        ((1, 1, 2, 2), {"kernels": 2}, ValueError, "kernels must be 2 integers of at least 1, .* got 2"),
        ((1, 1, 2, 2), {"kernels": (1, 1), "strides": (0, 1)}, ValueError, "strides must be 2 integers"),
        ((1, 1, 2, 2), {"kernels": (1, 1), "paddings": (0, 0, -1, 0)}, ValueError, "paddings must be 4 integers"),
    ],
)
def test_wrong_inputs(shape, attrs, error, message):
    with pytest.raises(error, match=message):
        lodkit.im2sequence(np.ones(shape), **attrs)
