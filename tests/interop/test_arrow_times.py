"""Dates and times of Arrow are no numbers: what the error says makes them numbers."""

from __future__ import annotations

import re

import pytest

from lodkit import DTypeError, LoDTensor

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "kind",
    [pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.timestamp("s"), pa.duration("ms")],
    ids=str,
)
def test_times_are_read_after_the_cast_that_is_told(kind):
    array = pa.array([[0, 7], []], pa.list_(kind))
    with pytest.raises(DTypeError, match=r"cast to int\d+ first") as told:
        LoDTensor.from_arrow(array)
    target = re.search(r"cast to (\w+) first", str(told.value))[1]
    assert LoDTensor.from_arrow(array.cast(pa.list_(pa.type_for_alias(target)))).to_list() == [[0, 7], []]
