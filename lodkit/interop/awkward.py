"""LoDTensors from and to awkward arrays, by their layouts."""

from __future__ import annotations

import sys

import numpy as np

from ..base.errors import DeviceError, DTypeError

_REMEDIES = {"Record": ("records", "pass one field, x['name']"), "Union": ("a union", "pass the part of one type")}
_OPTIONS = ("BitMasked", "ByteMasked", "IndexedOption")
_WORDS = (
    "from_awkward takes numbers, not words; for ids and words: "
    "LoDTensor.from_arrow(awkward.to_arrow(x, extensionarray=False), dictionary=True)"
)


def is_array(x):
    """Whether ``x`` is an awkward array, whose library the caller has loaded."""
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(x, getattr(awkward, "Array", ()))


def from_awkward(kind, x, nulls="raise", dictionary=False):
    """``LoDTensor.from_awkward``: ``kind`` is LoDTensor; with ``nulls`` and ``dictionary`` as in ``from_arrow``."""
    if not is_array(x):
        raise TypeError(f"from_awkward takes an awkward.Array, got {type(x).__name__}; lists go to from_nested")
    if dictionary:
        raise DTypeError(_WORDS)
    layout = x.layout
    if layout.backend.name != "cpu":
        raise DeviceError(f"the array is on the backend {layout.backend.name}; awkward.to_backend(x, 'cpu') moves it")
    levels = []
    while (found := _level(_without_nulls(layout) if nulls == "empty" else layout)) is not None:
        offsets, layout = found
        levels.append(offsets)
    return kind.from_offsets(_items(layout), *levels)


def _project(layout):
    """A layout without indirections, or raise with the remedy."""
    while True:
        name = type(layout).__name__.removesuffix("Array")
        if layout.parameter("__array__") in ("string", "bytestring", "char", "byte"):
            raise DTypeError(_WORDS)
        if name in _REMEDIES:
            found, remedy = _REMEDIES[name]
            raise DTypeError(f"from_awkward takes lists of numbers, not {found}; {remedy}")
        if name in _OPTIONS:
            empty = ", or read lists that are None as empty ones, LoDTensor.from_arrow(x, nulls='empty')"
            raise DTypeError(
                "from_awkward takes lists of numbers, not None; drop it (awkward.drop_none) or fill it "
                f"(awkward.fill_none){empty if _is_lists(layout.content) else ''}"
            )
        if name == "Indexed":
            layout = layout.project()
        elif name == "Unmasked":
            layout = layout.content
        else:
            return layout


def _level(layout):
    """Offsets from 0 and content of lists; None where there are only items."""
    layout = _project(layout)
    name = type(layout).__name__.removesuffix("Array")
    if name == "Regular" and _holds_lists(layout):
        return np.arange(len(layout) + 1) * layout.size, layout.content[: len(layout) * layout.size]
    if name not in ("ListOffset", "List"):
        return None
    layout = layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets.data)
    return offsets, layout.content[: offsets[-1]]


def _is_lists(layout):
    """Whether the elements of a layout are lists that make a level."""
    name = type(layout).__name__.removesuffix("Array")
    return name in ("ListOffset", "List") or (name == "Regular" and _holds_lists(layout))


def _without_nulls(layout):
    """A layout with empty lists in place of those that are None."""
    if type(layout).__name__.removesuffix("Array") not in _OPTIONS or not _is_lists(layout.content):
        return layout
    awkward = sys.modules["awkward"]
    layout = layout.to_IndexedOptionArray64()
    index, lists = np.asarray(layout.index.data), layout.content.to_ListOffsetArray64(True)
    offsets = np.asarray(lists.offsets.data)
    starts = np.where(index < 0, 0, offsets[index])
    stops = np.where(index < 0, 0, offsets[index + 1])
    made = awkward.index.Index64
    return awkward.contents.ListArray(made(starts), made(stops), lists.content)


def _holds_lists(layout):
    while type(layout).__name__ == "RegularArray":
        layout = _project(layout.content)
    return type(layout).__name__ in ("ListOffsetArray", "ListArray")


def _items(layout):
    """Values: regular dimensions are items."""
    layout, shape = _project(layout), []
    while type(layout).__name__ == "RegularArray":
        shape.append((len(layout), layout.size))
        layout = _project(layout.content[: len(layout) * layout.size])
    if type(layout).__name__ == "EmptyArray":
        layout = layout.to_NumpyArray(np.float64)
    values = np.asarray(layout.data)
    return values.reshape(shape[0][0], *(size for _, size in shape), *values.shape[1:]) if shape else values


def to_awkward(t):
    """``LoDTensor.to_awkward``."""
    try:
        import awkward
    except ImportError as error:
        raise ImportError('to_awkward needs awkward: pip install "lodkit[awkward]"') from error
    from .arrow.exporting import plain_values

    layout = awkward.contents.NumpyArray(np.ascontiguousarray(plain_values(t._whole())))
    for level in reversed(range(t.lod_level)):
        layout = awkward.contents.ListOffsetArray(awkward.index.Index64(t.offsets(level)), layout)
    return awkward.Array(layout)
