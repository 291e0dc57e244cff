"""``embedding_bags`` under torch.autograd: bags of many tables in one call, by the names of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import torch

from ... import ops
from ...base.tracebacks import surface
from ...lod import LoDTensor
from ...ops.shared.named_columns import call_columns, ranges_of
from .autograd import differentiable

#: Made before torch.compile traces a call.
COLUMNS = differentiable(ops.embedding_bag_columns)


@overload
def embedding_bags(
    tables: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | torch.nn.ParameterDict | torch.nn.ParameterList,
    columns: Mapping[Any, LoDTensor | torch.Tensor] | Sequence[LoDTensor | torch.Tensor] | LoDTensor,
    weights: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"] = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
    as_dict: Literal[False] = False,
) -> torch.Tensor: ...
@overload
def embedding_bags(
    tables: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | torch.nn.ParameterDict | torch.nn.ParameterList,
    columns: Mapping[Any, LoDTensor | torch.Tensor] | Sequence[LoDTensor | torch.Tensor] | LoDTensor,
    weights: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"] = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
    as_dict: Literal[True],
) -> dict[Any, torch.Tensor]: ...
@surface
def embedding_bags(
    tables: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | torch.nn.ParameterDict | torch.nn.ParameterList,
    columns: Mapping[Any, LoDTensor | torch.Tensor] | Sequence[LoDTensor | torch.Tensor] | LoDTensor,
    weights: Mapping[Any, torch.Tensor] | Sequence[torch.Tensor] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"] = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
    as_dict: bool = False,
) -> torch.Tensor | dict[Any, torch.Tensor]:
    """Look up and pool many columns of ids, each in its table, in one call that torch.autograd differentiates.

    ``lodkit.embedding_bags`` with tensors.

    Parameters
    ----------
    tables : dict of name to tensor, list, ParameterDict or ParameterList
        Tables ``(height, width)`` of one type, by the names of the columns. A parameter under several names is one
        table, with one gradient.
    columns : dict of name to LoDTensor, list, or LoDTensor of two levels
        Ids of one level, or jagged nested tensors: a bag for every row of the result. ``LoDTensor.from_torch`` makes
        such a dictionary of TorchRec's KeyedJaggedTensor.
    weights : dict of name to tensor, or list, optional
        One number per id, of all columns, with sum and mean.
    pool, pad_value, padding_idx, dtype
        As in ``embedding_bag``, of all columns.
    is_sparse : bool
        Gradients of tables are sparse COO tensors, not coalesced; False for dense ones.
    as_dict : bool
        True returns a dictionary of the columns by name, views of one tensor.

    Returns
    -------
    torch.Tensor of shape (bags, sum of widths), or a dictionary

    Raises
    ------
    ValueError, RowIndexError, LoDMismatchError
        As of ``lodkit.embedding_bags``; the message names the column.

    Examples
    --------
    >>> import torch
    >>> items = torch.nn.Parameter(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> columns = {"clicked": LoDTensor([1, 1, 0], [[2, 1]]), "bought": LoDTensor([0], [[0, 1]])}
    >>> out = embedding_bags({"clicked": items, "bought": items}, columns)
    >>> out.sum().backward()
    >>> out.tolist(), items.grad.to_dense().tolist()
    ([[4.0, 6.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]])
    """
    if isinstance(tables, torch.nn.ParameterDict):
        tables = dict(tables.items())
    elif isinstance(tables, torch.nn.ParameterList):
        tables = [*tables]
    attrs = {"pool": pool, "pad_value": pad_value, "padding_idx": padding_idx, "is_sparse": is_sparse, "dtype": dtype}
    out, names, arrays = call_columns(COLUMNS, tables, columns, weights, attrs)
    if not as_dict:
        return out
    return {name: out[:, start:stop] for name, (start, stop) in ranges_of(names, arrays).items()}
