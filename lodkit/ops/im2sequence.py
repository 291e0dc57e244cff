"""Windows of images as sequences (Paddle's im2sequence)."""

from __future__ import annotations

import math
import typing

import numpy as np

from ..arrays import FLOATING, MAX_INT64, MOVED, check_gradient, check_values
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor, freeze
from ..registry import Dense, op, takes_bfloat16

DOCS_PAGE = "attend"
SEARCH_WORDS = {"im2sequence": "unfold, im2col, image patches, OCR"}


class Grid(typing.NamedTuple):
    """Grid of the windows of an image."""

    down: int  # windows along the height
    across: int  # windows along the width
    kernels: tuple
    strides: tuple
    before: tuple  # padding above, and to the left

    @property
    def windows(self):
        return self.down * self.across


def _check_sizes(name, given, count, least):
    numbers = tuple(given) if np.iterable(given) else ()
    if len(numbers) != count or not all(isinstance(n, int | np.integer) and least <= n <= MAX_INT64 for n in numbers):
        rule = f"{count} integers of at least {least}, which 64 bits hold"
        raise ValueError(f"im2sequence: {name} must be {rule}, got {given!r}")
    return tuple(map(int, numbers))


def check_grid(shape, kernels, strides, paddings):
    """The grid of windows of images of a shape; counts are -1 along axes of unknown size, -1."""
    kernels = _check_sizes("kernels", kernels, 2, 1)
    strides, (up, left, down, right) = _check_sizes("strides", strides, 2, 1), _check_sizes("paddings", paddings, 4, 0)
    if len(shape) != 4:
        raise ShapeMismatchError(
            f"im2sequence: images have shape {tuple(shape)}; they must be (n, channels, height, width)"
        )
    counts = []
    for axis, size, pad in ((0, shape[2], up + down), (1, shape[3], left + right)):
        if 0 <= size < kernels[axis] - pad:
            raise ShapeMismatchError(
                f"im2sequence: no window of {kernels[axis]} fits into {('height', 'width')[axis]} {size} "
                f"with {pad} of padding; pass smaller kernels, or larger paddings"
            )
        counts.append(-1 if size < 0 else (size + pad - kernels[axis]) // strides[axis] + 1)
    return Grid(*counts, kernels, strides, (up, left))


def prepare(x, kernels, strides, paddings, grad=None):
    """Check images, and the gradient of their windows, on any device.

    Returns the type of the values, the grid of windows, and the shape of the result.
    """
    what = "im2sequence" if grad is None else "the gradient"
    dtype = check_values(x.dtype, what, floating=grad is not None)
    grid = check_grid(x.shape, kernels, strides, paddings)
    shape = len(x) * grid.windows, x.shape[1] * math.prod(grid.kernels)
    if grad is not None:
        check_gradient(grad, shape)
    return dtype, grid, shape


def sequences_of(rows, images, windows):
    """A LoDTensor of one sequence per image."""
    return LoDTensor._wrap(rows, (freeze(np.arange(images + 1) * windows),))


def _places(shape, grid):
    """Row, image, and start in the image of each window."""
    for row in range(shape[0] * grid.windows):
        image, window = divmod(row, grid.windows)
        y, x = divmod(window, grid.across)
        yield row, image, y * grid.strides[0] - grid.before[0], x * grid.strides[1] - grid.before[1]


def _elements(shape, grid):
    """Place in the result, and in the images, of each element of each window."""
    for row, image, top, left in _places(shape, grid):
        for column, (c, i, j) in enumerate(np.ndindex(shape[1], *grid.kernels)):
            if 0 <= top + i < shape[2] and 0 <= left + j < shape[3]:
                yield (row, column), (image, c, top + i, left + j)


@op(types=MOVED)
def im2sequence(
    x: Dense, /, *, kernels: typing.Any, strides: typing.Any = (1, 1), paddings: typing.Any = (0, 0, 0, 0)
) -> LoDTensor:
    """Cut images into windows: a sequence per image, a row per window, from left to right and then downwards.

    im2sequence of Paddle.

    Parameters
    ----------
    x : array of shape (n, channels, height, width)
    kernels : pair of int
        Height and width of a window.
    strides : pair of int
        Distances between windows, downwards and to the right.
    paddings : four int
        Zeros above, to the left, below and to the right.

    Returns
    -------
    LoDTensor
        Rows ``(channels * kernel height * kernel width,)``.

    Raises
    ------
    ShapeMismatchError
        x has not four dimensions, or a window does not fit.
    ValueError
        A kernel or stride is less than 1, or a padding negative.

    Examples
    --------
    >>> im2sequence(np.arange(6).reshape(1, 1, 2, 3), kernels=(2, 2)).to_list()
    [[[0, 1, 3, 4], [1, 2, 4, 5]]]
    """
    dtype, grid, shape = prepare(x, kernels, strides, paddings)
    out = np.zeros(shape, dtype)
    for place, source in _elements(x.shape, grid):
        out[place] = x[source]
    return sequences_of(out, len(x), grid.windows)


@im2sequence.infer_rule
def _(x, *, kernels, strides=(1, 1), paddings=(0, 0, 0, 0)):
    grid = check_grid(x.dims, kernels, strides, paddings)
    rows = -1 if -1 in (x.dims[0], grid.down, grid.across) else x.dims[0] * grid.windows
    columns = -1 if x.dims[1] < 0 else x.dims[1] * math.prod(grid.kernels)
    return x.but(dims=(rows, columns), lod_level=1, sequences=x.dims[:1])


@op(like="x", gradient_of=im2sequence, types=FLOATING)
def im2sequence_grad(
    x: Dense, grad: Dense, /, *, kernels: typing.Any, strides: typing.Any = (1, 1), paddings: typing.Any = (0, 0, 0, 0)
) -> Dense:
    """Return the gradient of ``im2sequence``: the sum over the windows that an element is in.

    >>> im2sequence_grad(np.zeros((1, 1, 1, 3)), np.array([[1., 2.], [4., 8.]]), kernels=(1, 2))
    array([[[[1., 6., 8.]]]])
    """
    dtype, grid, _ = prepare(x, kernels, strides, paddings, grad)
    result = np.zeros(x.shape)
    for place, source in _elements(x.shape, grid):
        result[source] += grad[place]
    return result.astype(dtype)


im2sequence.example(lambda dtype: [((np.ones((1, 1, 2, 2), dtype),), {"kernels": (2, 1)})])


takes_bfloat16(im2sequence)
