"""What was meant by an index that a LoDTensor does not take: as text, for errors."""

from __future__ import annotations

import numpy as np


def write_index(key):
    """Return an index as it was written: ``:, :3`` of a tuple of slices."""
    if isinstance(key, tuple):
        return ", ".join(map(write_index, key))
    if isinstance(key, slice):
        parts = ["" if x is None else f"{x!r:.20}" for x in (key.start, key.stop, key.step)]
        return ":".join(parts if key.step is not None else parts[:2])
    return "..." if key is Ellipsis else f"{key!r:.40}" if np.isscalar(key) or key is None else type(key).__name__


def advise_on_parts(t, key):
    """Say what an index means that begins with a slice or dots, as those of arrays do."""
    first, second = key[0], key[1]
    rule = f"t[{write_index(key)}]: sequences are not of one length, and integers come first, t[i, j] and t[i, a:b]"
    advice = []
    if first == slice(None):
        if isinstance(second, slice) and second.step is None:
            bounds = second.start, second.stop
            shown = ", ".join(map(str, bounds)) if bounds[1] is not None else str(bounds[0])
            advice.append(f"of each sequence lodkit.sequence_slice(t, {shown}, clip=True)")
        elif isinstance(second, int) and second in (0, -1):
            advice.append(f"of each sequence lodkit.sequence_pool(t, pool={'first' if second == 0 else 'last'!r})")
        elif isinstance(second, int):
            stop = f", {second + 1}" if second != -1 else ""
            advice.append(f"of each sequence lodkit.sequence_slice(t, {second}{stop}, clip=True)")
    if len(t.shape) > 1 or not advice:
        rest = [x for x in key[1:] if not (isinstance(x, type(Ellipsis)))]
        advice.append(f"of each row t.with_values(t.values[..., {write_index(tuple(rest[-1:]))}])")
    return f"{rule}; {', '.join(advice)}"


def advise_on_mask(mask):
    """Say how rows are chosen by another LoDTensor: it is no index, since sequences would get other lengths."""
    if mask.dtype != bool:
        return "a LoDTensor is no index of sequences; lodkit.sequence_select(t, indices) takes parts of each sequence"
    numbers = f"numbers np.where(mask, t, 0), mask being the LoDTensor of shape {mask.shape}"
    if len(mask.shape) > 1:
        return f"t[mask]: a LoDTensor is no index of sequences; for {numbers}"
    rows = "LoDTensor.from_segment_ids(t.values[mask.values], t.segment_ids()[mask.values], len(t))"
    return f"t[mask]: a LoDTensor is no index of sequences; for rows use {rows}, for {numbers}"


def advise_on_writing(t, key):
    """Say how a LoDTensor is written, which it is not by index."""
    part = f"t[{', '.join('0' * max(t.lod_level, 1))}]"
    return (
        f"t[{write_index(key)}] = ...: a LoDTensor is not written by index; its sequences are views, write into one, "
        f"{part}[...] = value, or into all rows, t.values[...] = value; np.where(mask, value, t) makes another"
    )
