"""Mutations of a whole call: every input at a size whose sums and products leave 64 bits.

Arrays of empty items have 2**61 rows without using memory. Alone they are refused for not fitting the other inputs, so
lengths, ids, ranges and structure take the same sizes here. Or inputs stay few, and an attribute takes such a size.
"""

from __future__ import annotations

import numpy as np

from .values import Given, Numbers, Ragged, Rows, Several

SIZES = [(2**61, 8), (2**61, 8), (2**62, 4), (2**60, 16), (2**63 - 1, 2), (2**62, 3)]


def empty_rows(rows, dtype, rank=2):
    """Rows of no elements, in float16 if NumPy makes no such array of the type."""
    dtype = dtype if rows * dtype.itemsize < 2**63 else np.dtype(np.float16)
    return np.zeros((rows, *(0,) * max(1, rank - 1)), dtype)


def enlarge(rng, call):
    """Make all inputs of a call giants, of no elements."""
    size, times = rng.choice(SIZES)
    if rng.random() < 0.4 and (widths := [name for name, check in call.checks.items() if "integer" in check.expected]):
        return _widen(rng, call, widths, size, times)
    for slot in call.slots:
        slot.value = _giant(rng, slot.name, slot.value, size, times)
    if call.variadic and rng.random() < 0.6:
        call.slots += [call.slots[-1]] * (times - 1)
    return f"giants of {size} x {times}"


def _widen(rng, call, widths, size, times):
    """Make one attribute a giant and the others nothing, which is what a sum of widths takes to wrap alone.

    Segments have two rows each, so that some are left when as many widths as segments wrap to a few below 0.
    """
    wide = rng.choice(widths)
    call.attrs.update({name: size if name == wide else 0 for name in widths})
    if rng.random() < 0.7:
        times *= rng.choice([1, 1, 2])
        for slot in call.slots:
            if isinstance(slot.value, Numbers) and "length" in slot.name:
                slot.value = Numbers(np.full(times, 2), slot.value.at_end)
            elif isinstance(slot.value, Numbers) and slot is call.slots[0]:
                slot.value = Numbers(np.zeros((2 * times, *slot.value.array.shape[1:]), slot.value.array.dtype))
            elif isinstance(slot.value, Ragged) and isinstance(slot.value.values, Numbers):
                array = slot.value.values.array
                slot.value = Ragged(Numbers(np.zeros((2 * times, *array.shape[1:]), array.dtype)), [[2] * times])
    return f"{wide} of {size}"


def _integers(rng, name, a, size, times):
    if name in ("grad", "out", "output_gradients"):
        return np.zeros((0, 0), a.dtype)
    if a.ndim == 3:
        return np.array([[[0, size]] * times], np.int64)
    counts = [[size], [size], [size] * times, [1] * times]
    places = [[0] * times] * 3 + [[0, size]]
    likely, other = (counts, places) if "length" in name or name == "sizes" else (places, counts)
    made = np.array(rng.choice(likely if rng.random() < 0.85 else other), np.int64)
    return made.reshape(-1, *(1,) * (a.ndim - 1))


def _array(rng, name, a, size, times):
    if a.dtype.kind == "i":
        return _integers(rng, name, a, size, times)
    if a.dtype.kind != "f" or rng.random() < 0.1:
        return a
    if name in ("grad", "out", "output_gradients") and rng.random() < 0.9:
        return empty_rows(0, np.dtype(np.float16) if size * a.dtype.itemsize >= 2**63 else a.dtype, a.ndim)
    return empty_rows(size, a.dtype, a.ndim)


def _giant(rng, name, x, size, times):
    if isinstance(x, Numbers):
        return Numbers(_array(rng, name, x.array, size, times), x.at_end)
    if isinstance(x, Ragged):
        return _structure(rng, x, size, times)
    if isinstance(x, Rows):
        if rng.random() < 0.5:
            return Rows(np.zeros(times, np.int64), Numbers(np.zeros((times, 0), x.value.array.dtype)), size)
        return Rows(np.zeros(0, np.int64), Numbers(np.zeros((0, 0), x.value.array.dtype)), size)
    if isinstance(x, Several):
        return Several([_giant(rng, name, x.parts[0], size, times)] * times)
    if isinstance(x, Given) and isinstance(x.value, list):
        return Given(rng.choice([[0] * times + [1], [size] * times, [[size, 5]]]))
    return x


def _structure(rng, x, size, times):
    kind, values = rng.random(), x.values
    if not isinstance(values, Numbers):
        return Ragged(None, [[size, 5]])
    if kind < 0.5 and values.array.dtype.kind == "f":
        levels = len(x.lengths) > 1 if rng.random() < 0.7 else rng.random() < 0.5
        return Ragged(Numbers(empty_rows(size, values.array.dtype)), [[1], [size]] if levels else [[size]])
    item = values.array.shape[1:] if rng.random() < 0.5 else ()
    return Ragged(Numbers(np.zeros((times, *item), values.array.dtype)), [[times]])
