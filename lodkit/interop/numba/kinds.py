"""Numba's types of LoDTensor and SelectedRows, and what compiled code holds of each."""

from __future__ import annotations

from numba import types
from numba.extending import lower_cast, models, register_model

from ...jit.private_numba import TrustedType, TypingError, read_only

#: Offsets of a level, and row numbers, as objects keep them.
OFFSETS = read_only(types.Array(types.int64, 1, "C"))

#: The same as users' code reads them.
TRUSTED = TrustedType()
register_model(TrustedType)(models.ArrayModel)


@lower_cast(TrustedType, types.Array)
@lower_cast(types.Array, TrustedType)
@lower_cast(TrustedType, TrustedType)
def cast_trusted(context, builder, source, target, value):
    if not isinstance(target, TrustedType):
        raise TypingError(
            "offsets and row numbers of an object are no other array's place, from which Python could write to them; "
            "take a copy: t.offsets().copy(), s.rows.copy()"
        )
    return value


class LoDTensorType(types.IterableType):
    """Type of a LoDTensor.

    Parameters
    ----------
    values : numba.types.Array or numba.types.none
        Type of ``t.values``; none for structure without values.
    lod_level : int
        Number of levels.
    in_torch : bool
        True if Python's side holds the values as a tensor of PyTorch; compiled code sees an array.

    Examples
    --------
    >>> import numba
    >>> LoDTensorType(numba.float32[:, ::1], 2)
    LoDTensor(array(float32, 2d, C), lod_level=2)
    """

    def __init__(self, values, lod_level, in_torch=False):
        if getattr(values, "layout", None) == "F":
            # Some of its rows are contiguous in neither order.
            values = values.copy(layout="A")
        self.values, self.lod_level, self.in_torch = values, lod_level, in_torch
        library = ", torch" if in_torch else ""
        super().__init__(name=f"LoDTensor({values}, lod_level={lod_level}{library})")

    @property
    def levels(self):
        """Type of the offsets of all levels."""
        return types.UniTuple(OFFSETS, self.lod_level)

    @property
    def has_values(self):
        return self.values is not types.none

    @property
    def item(self):
        """Type of one sequence of a tensor with levels."""
        if self.lod_level > 1:
            return LoDTensorType(self.values, self.lod_level - 1, self.in_torch)
        return need_values(self).values

    @property
    def iterator_type(self):
        return SequencesType(self) if self.lod_level else self.values.iterator_type


def need_values(kind):
    """Return the type of a LoDTensor; a typing error if it is structure without values."""
    if not kind.has_values:
        raise TypingError("this LoDTensor is structure without values; give it rows first: t.with_values(...)")
    return kind


class SequencesType(types.SimpleIteratorType):
    """Type of an iterator over the outermost sequences of a LoDTensor."""

    def __init__(self, tensor):
        self.tensor = tensor
        super().__init__(f"sequences of {tensor}", tensor.item)


class SelectedRowsType(types.Type):
    """Type of SelectedRows.

    Parameters
    ----------
    value : numba.types.Array
        Type of ``s.value``.
    in_torch : bool
        True if Python's side holds the value as a tensor of PyTorch.
    """

    def __init__(self, value, in_torch=False):
        self.value, self.in_torch = value, in_torch
        super().__init__(name=f"SelectedRows({value}{', torch' if in_torch else ''})")


@register_model(LoDTensorType)
class LoDTensorModel(models.StructModel):
    """The sequences ``start:stop`` of the outermost of ``levels``, which may be part of a larger batch.

    ``values`` are the rows of these sequences; ``first_row`` is what the innermost offsets say of the first of them,
    and ``first_row + base`` its row in the tensor that Python cut from.
    """

    def __init__(self, manager, kind):
        members = [(name, types.int64) for name in ("start", "stop", "first_row", "base")]
        if kind.lod_level:
            members.append(("levels", kind.levels))
        if kind.has_values:
            members.append(("values", kind.values))
        super().__init__(manager, kind, members)


@register_model(SequencesType)
class SequencesModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("tensor", kind.tensor), ("at", types.EphemeralPointer(types.int64))])


@register_model(SelectedRowsType)
class SelectedRowsModel(models.StructModel):
    def __init__(self, manager, kind):
        members = [("rows", TRUSTED), ("value", kind.value), ("height", types.int64), ("is_merged", types.boolean)]
        super().__init__(manager, kind, members)
