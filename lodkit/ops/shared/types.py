"""Checks of the types of arrays that are computed with each other."""

from __future__ import annotations

from ...arrays import check_values, mixed_types, native


def check_same_type(name, values, **others):
    """Refuse arrays of another type than the values, which must be floating."""
    check_values(values.dtype, name, floating=True)
    for what, array in others.items():
        if array is not None and native(array.dtype) != native(values.dtype):
            raise mixed_types(f"{name}: the {what}", array.dtype, "the input", values.dtype)
