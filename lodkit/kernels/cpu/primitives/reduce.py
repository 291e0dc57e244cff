"""Segment reductions: one route for all values, and tiles of long segments.

Tiles depend on the lengths and not on the number of threads, so neither do the bits of a result.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from .... import arrays
from ....arrays import ALIGNED, AS_THEY_ARE, BIG_ARRAY_BYTES, is_half, matrix, native, total_dtype, upcast
from ....arrays.ids import ids_in_range
from ....jit import limits, run, settings
from ....jit.reducers import REDUCERS, Divisor
from ....jit.tuning import SHARED, tuning
from ....lod.offsets import tiles_of
from ....lod.packed_rows import CODE_BITS, PARAMS_BYTES, packed_columns
from ....ops.shared.reductions import pad_of, result_dtype
from ....ops.shared.tables import check_padding
from ...common.integers import computed_type, needs_integers, reduce_integers
from . import device
from .flat_kernels import LANES, SHORT_LANES, flat_kernel, flat_logsumexp_kernel
from .gather import NO_WEIGHTS, rows_to_read
from .gradient_kernels import plain, weight_sums
from .reduce_kernels import BAD_IDS, TILE, divide_rows, extreme_kernel, logsumexp_kernel, sum_kernel
from .row_access import NO_PREFETCH, Prefetch
from .select_kernels import end_kernel

WIDTHS = (128, 64, 32, 16, 4, 1)
PACKED_WIDTHS = (128, 64, 16, 4)
ENDS = ("first", "last")
#: Reductions that divide: the reduction of the total, and the Divisor (a plain integer, which Numba types faster).
_UNDIVIDED = {
    "mean": ("sum", int(Divisor.WEIGHT)),
    "sqrt": ("sum", int(Divisor.ROOT_OF_WEIGHT)),
    "logmeanexp": ("logsumexp", int(Divisor.WEIGHT)),
}
NO_IDS = np.empty(0, np.int64)
FLOAT32 = np.dtype(np.float32)
#: Numbers of a result from which its memory matters.
LARGE_OUTPUT = BIG_ARRAY_BYTES // 8
MAX_PLANS = 1024


class Plan:
    """What calls have in common whose types, columns and sizes are alike.

    Attributes
    ----------
    facts : tuple
        Type, dimensions and columns of the values, the reduction, the type that was asked for and that of the weights,
        whether rows go by ids, and the bits of packed rows.
    dtype : numpy.dtype
        Type of the result.
    total_dtype : numpy.dtype
        Type of the results of tiles.
    kernel : callable
    divisor : int
        A ``Divisor``.
    distance, near_distance : int
        Rows between a prefetch, and a second one, and the use of a row.
    adapt : callable or None
        Gives values and results the shape and type that the kernel takes; None where they have it.
    converts, copies : bool
        The kernel does not take the type of the values; their byte order is another one, or it does not.
    code : callable or None
        The compiled kernel, which looks at no types, from the first call on.
    group_code : callable or None
        The same of the kernel for groups of tables, of ``reduce_columns``.
    pad : tuple
        The last pad value, and what the kernel takes for it.
    flat : bool
        The kernel takes vectors.
    takes_ends : bool
        The kernel reads the first or last row of a segment alone.
    lanes : int
        Numbers of a row that the kernel takes at a time.
    """

    __slots__ = (
        *("facts", "dtype", "total_dtype", "kernel", "divisor", "distance", "near_distance"),
        *("adapt", "converts", "copies", "code", "group_code", "pad", "flat", "takes_ends", "lanes"),
    )

    def __init__(self, facts, few, reach):
        self.facts = kind, ndim, columns, reduce, dtype, weights, gather, bits = facts
        numbers = FLOAT32 if bits else kind
        self.dtype = dtype if isinstance(dtype, np.dtype) else result_dtype(numbers, reduce, dtype)
        self.total_dtype, row_bytes = total_dtype(numbers), columns * kind.itemsize
        width = columns if not few and row_bytes <= tuning.strip_bytes else width_of(columns)
        if bits:
            width = packed_width_of(columns, bits)
            row_bytes = width * CODE_BITS[bits] // 8 + PARAMS_BYTES[bits]
        prefetch, self.distance, self.near_distance = choose_prefetch(reduce, row_bytes, gather, reach)
        converts, weighted = native(numbers) != self.dtype, weights is not None
        chosen = choose_kernel(reduce, columns, width, gather, weighted, prefetch, converts, bits)
        self.kernel, self.divisor, self.flat = chosen
        self.adapt = flatten if self.flat else matrix
        self.converts = not bits and needs_integers(kind, self.dtype)
        self.copies = self.converts or not kind.isnative
        if numbers in AS_THEY_ARE and self.dtype in AS_THEY_ARE and ndim < 3:
            self.adapt = None if ndim == 2 - self.flat else flatten if self.flat else add_axis
        self.takes_ends = reduce in ENDS
        self.lanes = 1 if self.takes_ends else width
        self.code = self.group_code = None
        self.pad = None, None

    def keep_pad(self, pad_value):
        """Convert a pad value to what the kernel takes: halves as bits, or as float32 where it takes numbers."""
        pad = pad_of(pad_value, self.dtype)
        if is_half(self.dtype):
            halves = np.asarray(pad).reshape(1)
            pad = upcast(halves)[0] if self.flat else matrix(halves)[0, 0]
        self.pad = pad_value, pad
        return pad

    def keep_code(self, args):
        """Compile the kernel for arguments of these types."""
        self.code = self.kernel.entry(*args)
        return self.code


#: The facts of calls, which hold no numbers but those of columns and dimensions -> whether the numbers of a call are
#: few, and the caches that it exceeds -> the plan.
plans: dict[tuple, dict[tuple, Plan]] = {}


def plan_of(facts, few, reach):
    """The plan of calls of these facts and sizes."""
    plan = plans.get(facts, {}).get((few, reach))
    if plan is None:
        plan = Plan(facts, few, reach)
        if len(plans) >= MAX_PLANS:
            plans.clear()
        plans.setdefault(facts, {})[few, reach] = plan
    return plan


#: A vector as a matrix of one column.
add_axis = operator.itemgetter((slice(None), None))


def flatten(array):
    """Numbers of an array as a vector, halves as bits."""
    return matrix(array).reshape(-1)


def reduce_into(
    values,
    ids,
    weights,
    padding_idx,
    offsets,
    reduce,
    pad_value,
    out=None,
    dtype=None,
    unchecked=False,
    bits=None,
    scales=None,
):
    """Reduce the rows of every segment of ``values``: all rows in order, or those at ``ids``.

    Parameters
    ----------
    values : array of shape (rows, *item)
    ids : int64 array or None
    weights : array or None
        One a row, with sum and mean.
    padding_idx : int or None
        Rows with this id read as zeros.
    offsets : int64 array
        Checked ones, over ids or rows.
    reduce : str
    pad_value : number
        Result of an empty segment.
    out : array of shape (segments, *item), optional
    dtype : str or numpy.dtype, optional
        Type of the result. As a string it is checked to suit the values.
    unchecked : bool
        Some ids may be outside the values, and raise.
    bits : int or str, optional
        Those of the columns of packed rows, which ``values`` are, or their format of float8; weights are float32.
    scales : array, optional
        The column of scales of float8.
    """
    of_weights = None
    if weights is not None:
        if weights.dtype not in AS_THEY_ARE or not weights.flags.c_contiguous:
            weights = plain(weights)
        of_weights = weights.dtype
    ndim, shape = values.ndim, values.shape
    columns = shape[1] if ndim == 2 else math.prod(shape[1:])
    if bits:
        columns = packed_columns(columns, bits)
    facts = values.dtype, ndim, columns, reduce, dtype, of_weights, ids is not None, bits
    return reduction_of(facts)(values, ids, offsets, weights, pad_value, padding_idx, out, unchecked, scales)


@functools.lru_cache(MAX_PLANS)
def reduction_of(facts):
    """Make the function that reduces arrays of one type and as many columns, by one reduction.

    It takes the arrays and numbers of ``reduce_into``, in the order in which plans of operators give them.
    """
    kind, ndim, columns, reduce, _, _, gather, _ = facts
    small, sizes, make = plan_of(facts, True, None), {}, arrays.small_output
    total, adapt, divisor, ends, copies = small.dtype, small.adapt, small.divisor, small.takes_ends, small.copies

    def reduce_arrays(
        values, ids, offsets, weights, pad_value, padding_idx=None, out=None, unchecked=True, scales=None
    ):
        rows, segments = len(values), len(offsets) - 1
        size = (segments if ends else len(ids) if gather else rows) * columns
        plan, few = small, size < settings.parallel_from
        if size >= settings.fetch_from or not few:
            reach = reach_of(values.nbytes, size, gather)
            plan = sizes.get((few, reach)) or sizes.setdefault((few, reach), plan_of(facts, few, reach))
        if padding_idx is not None and not 0 <= padding_idx < rows:
            check_padding(padding_idx, rows)
        if gather and (not rows or (unchecked and (out is not None or ends))):
            ids_in_range(ids, rows)
        shape = (segments, columns) if ndim == 2 else (segments, *values.shape[1:])
        if out is None and segments * columns < LARGE_OUTPUT:
            out = target = make(shape, total)
        else:
            out = target = arrays.output(shape, total, out)
        if not (segments and columns):
            if unchecked and gather:
                ids_in_range(ids, rows)
            return out
        table, places, padding = values, ids, padding_idx
        if copies or values.flags.num & ALIGNED != ALIGNED:
            if small.converts:
                return reduce_integers(device, values, ids, padding_idx, offsets, reduce, pad_value, out, unchecked)
            table, places, padding = rows_to_read(values, ids, padding_idx)
            table = np.require(table, native(kind), "CA")
        if adapt:
            table, target = adapt(table), adapt(out)
        known, pad = plan.pad
        if known is not pad_value:
            pad = plan.keep_pad(pad_value)
        factors, chunk, block = NO_WEIGHTS if weights is None else weights, settings.chunk_rows, settings.block_rows
        if scales is not None:
            factors = factors, scales
        args = (
            table,
            places if gather else NO_IDS,
            factors,
            -1 if padding is None else padding,
            offsets,
            pad,
            divisor,
            chunk,
            block,
            plan.distance,
            plan.near_distance,
            target,
        )
        code = plan.code or plan.keep_code(args)
        state = code(*args) if few else run(code, args)
        if state:
            if state == BAD_IDS and unchecked:
                ids_in_range(ids, rows)
            reduce_in_tiles(plan, values, ids, offsets, weights, pad_value, padding_idx, out, unchecked, scales)
        return out

    return reduce_arrays


def specialize_reduction(values, gather, weights, reduce, dtype):
    """The function of ``reduction_of`` for arrays of these types and items; None where weights are converted."""
    of_weights = None if weights is None else weights.dtype
    if weights is not None and of_weights not in AS_THEY_ARE:
        return None
    facts = values.dtype, values.ndim, math.prod(values.shape[1:]), reduce, dtype, of_weights, gather, None
    return reduction_of(facts)


def reduce_in_tiles(plan, values, ids, offsets, weights, pad_value, padding_idx, out, unchecked, scales=None):
    """Reduce long segments into their rows of ``out``: tiles, in double precision, and then the results of tiles."""
    limit, dtype, facts = TILE * settings.chunk_rows, plan.total_dtype, plan.facts
    long, reduce = np.flatnonzero(np.diff(offsets) > limit), facts[3]
    if not len(long):
        # Only an id was outside, and another thread has mended it.
        return
    starts = offsets[long]
    # The long segments and, as one segment each, the rows between two of them.
    offsets = np.unique(np.concatenate([starts, offsets[long + 1]]))
    at, (tiles, tile_offsets) = np.searchsorted(offsets, starts), tiles_of(offsets, limit)
    inner, divisor = _UNDIVIDED.get(reduce, (reduce, int(Divisor.NOTHING)))
    tile_facts = *facts[:3], inner, dtype, *facts[5:]
    partial = reduction_of(tile_facts)(values, ids, tiles, weights, 0, padding_idx, None, unchecked, scales)
    if not divisor:
        out[long] = reduce_into(partial, None, None, None, tile_offsets, inner, pad_value, None, plan.dtype)[at]
        return
    total = reduce_into(partial, None, None, None, tile_offsets, inner, pad_value, None, dtype)[at]
    weight = np.diff(offsets).astype(np.float64) if weights is None else weight_sums(weights, offsets)
    quotient = np.empty(total.shape, plan.dtype)
    pad, logs = plan.keep_pad(pad_value), inner == "logsumexp"
    divide_rows(matrix(total), weight[at], pad, divisor, logs, matrix(quotient))
    out[long] = quotient


def reach_of(nbytes, size, gather):
    """Whether so many bytes exceed the first, the second and third level of the cache, and whether threads may share a
    reduction of ``size`` numbers by ids: what ``choose_prefetch`` goes by. None for few numbers.
    """
    if size < settings.fetch_from:
        return None
    may_share = gather and tuning.shared_rows_ahead > 0 and size >= settings.parallel_from
    beyond = nbytes > settings.first_bytes, nbytes > settings.near_bytes, nbytes > settings.mid_bytes
    return *beyond, may_share and limits.threads > 1


def choose_prefetch(reduce, row_bytes, gather, reach):
    """How a reduction prefetches rows, the rows between that and the use of a row, and those between a second prefetch
    and its use.

    ``reach`` is that of ``reach_of``.
    """
    if reach is None:
        return NO_PREFETCH, 0, 0
    beyond_first, beyond_second, beyond_third, shares = reach
    row_bytes, alternate, near = min(row_bytes, tuning.strip_bytes), False, 0
    if not gather:
        by_passes = reduce in ("logsumexp", "logmeanexp")
        # By passes, 16 rows ahead took 1.13 of the time (znver4).
        distance = ((0 if by_passes else tuning.rows_in_order) or tuning.distance_of(row_bytes)) if beyond_second else 0
    elif beyond_second and beyond_third:
        alternate = shares and row_bytes >= SHARED
        distance, near = tuning.distances_by_id(row_bytes, alternate)
    else:
        distance = tuning.distance_in_cache(row_bytes, beyond_first, beyond_second)
        if distance and tuning.cached_level:
            return Prefetch(tuning.cached_level, astride=tuning.cached_astride), distance, 0
        alternate = True
    return (Prefetch(tuning.level, alternate, near > 0), distance, near) if distance else (NO_PREFETCH, 0, 0)


def width_of(columns):
    """Lanes of a strip of columns; the last strip may overlap the one before."""
    return next((w for w in WIDTHS if w <= columns), 1)


def packed_width_of(columns, bits, most=PACKED_WIDTHS[0]):
    """Lanes of a strip of packed columns, which fill their bytes; the last strip may overlap the one before."""
    return next((w for w in PACKED_WIDTHS if w <= min(columns, most)), 8 // CODE_BITS[bits])


def choose_kernel(reduce, columns, width, gather, weighted, prefetch, converts, bits):
    """Kernel of a reduction, its Divisor, and whether it takes arrays of one dimension."""
    inner, divisor = _UNDIVIDED.get(reduce, (reduce, int(Divisor.NOTHING)))
    if inner in ENDS:
        return end_kernel(inner == "last", converts), divisor, False
    in_order = columns == 1 and not gather
    if inner == "logsumexp":
        return (flat_logsumexp_kernel() if in_order else logsumexp_kernel(width, gather, prefetch)), divisor, in_order
    if in_order and not weighted:
        return flat_kernel(reduce), divisor, True
    if REDUCERS[inner].start is not None:
        return sum_kernel(inner, width, gather, weighted, prefetch, bits), divisor, False
    return extreme_kernel(inner, width, gather, prefetch), divisor, False


def reduce_loop(reduce, values, ids, weights, padding_idx, offsets, dtype=None, bits=None):
    """The loop of ``reduce_into`` for these arrays, and what was chosen for them."""
    columns, gather, limit = matrix(values).shape[1], ids is not None, TILE * settings.chunk_rows
    if bits:
        columns = packed_columns(columns, bits)
    size = (ids.size if gather else len(values)) * columns
    few, reach = size < settings.parallel_from, reach_of(values.nbytes, size, gather)
    of_weights = None if weights is None else weights.dtype
    kind = values.dtype if bits else computed_type(values.dtype, dtype)
    plan = Plan((kind, values.ndim, columns, reduce, dtype, of_weights, gather, bits), few, reach)
    again = f" and {plan.near_distance}" if plan.near_distance else ""
    ahead = f"{plan.distance}{again} rows ahead" if plan.distance else "none: the rows are few, or in the cache"
    if plan.flat:
        numbers = tuning.numbers_ahead or tuning.sums_ahead
        ahead = f"{numbers} numbers ahead" if numbers else "none: numbers are read in order"
    long = reduce not in ENDS and max(np.diff(offsets), default=0) > limit
    tiles = f"of {limit} rows" if long else "none: no segment is that long"
    lanes = f"{SHORT_LANES}, of long segments {LANES}" if plan.flat else plan.lanes
    return plan.kernel, {"lanes": lanes, "prefetch": ahead, "tiles": tiles}
