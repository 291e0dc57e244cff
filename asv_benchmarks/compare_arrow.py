"""Comparisons of columns in and out: Arrow arrays of any library, awkward arrays."""

from __future__ import annotations

from measuring import QUICK, measure, rng
from peers import awkward, polars, pyarrow

from lodkit import LoDTensor

LISTS = 1000 if QUICK else 100_000


def _taken_apart(array):
    """What pyarrow's own calls give of a column: offsets and values."""
    return array.offsets.to_numpy().copy(), array.values.to_numpy()


def columns():
    """Compare reading and giving lists of 20 floats on average with building from offsets alone."""
    for lists in (3, LISTS):
        lengths = rng.integers(0, 41, lists)
        t = LoDTensor(rng.standard_normal(int(lengths.sum())), [lengths])
        name, inner = f"{lists:,} lists", 100 if lists == 3 else 1
        values, offsets = t.values, t.offsets()
        calls = {"lodkit": lambda r, t=t: LoDTensor.from_arrow(t).values}
        if pyarrow:
            array = pyarrow.array(t)
            calls["lodkit, of pyarrow"] = lambda r, a=array: LoDTensor.from_arrow(a).values
            calls["pyarrow's calls"] = lambda r, a=array: _taken_apart(a)[1]
        if polars:
            series = polars.Series(t)
            calls["lodkit, of polars"] = lambda r, s=series: LoDTensor.from_arrow(s).values
        if awkward:
            ragged = t.to_awkward()
            calls["lodkit, of awkward"] = lambda r, x=ragged: LoDTensor.from_awkward(x).values
        calls["from_offsets alone"] = lambda r, v=values, o=offsets: LoDTensor.from_offsets(v, o).values
        measure(f"Arrow in, {name}", calls, inner=inner)
        calls = {"lodkit, capsules": lambda r, t=t: t.__arrow_c_array__() and None}
        if pyarrow:
            calls["pyarrow.array(t)"] = lambda r, t=t: pyarrow.array(t) and None
            calls["pyarrow's calls"] = lambda r, v=values, o=offsets: (
                pyarrow.LargeListArray.from_arrays(pyarrow.array(o), pyarrow.array(v)) and None
            )
        if polars:
            calls["polars.Series(t)"] = lambda r, t=t: polars.Series(t) is None or None
        measure(f"Arrow out, {name}", calls, inner=inner)


GROUPS = (columns,)
