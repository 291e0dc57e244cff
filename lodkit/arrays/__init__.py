"""Arrays of any device: allocation, checks, casts, transfer."""

from ..base.bfloat16 import BFLOAT16, bfloat16_dtype, dtype_named, is_bfloat16, name_of_dtype
from .bfloat16 import compute_dtype, is_floating, is_half, is_plain, to_dtype
from .checks import MAX_INT64, Scalar, checker, integer, is_integer, is_number, is_scalar, is_time, to_tuple
from .generic import (
    are_apart,
    cast,
    device_of,
    dtype_of,
    flat,
    holds_rows,
    is_array,
    may_share_memory,
    one_device,
    parts,
    refuse_overlap,
    to_int32,
    zeros_like,
)
from .number_types import (
    COMPUTED,
    DISTINCT,
    FLOATING,
    FLOATS,
    INTEGERS,
    MOVED,
    ORDERED,
    PACKED,
    SUMMED,
    TAKES,
    VALUE_TYPES,
    WHOLE,
    TypeSet,
    check_values,
    native,
)
from .numpy_arrays import (
    ALIGNED,
    AS_THEY_ARE,
    BIG_ARRAY_BYTES,
    OWN,
    check_gradient,
    check_rows,
    check_same_type,
    empty,
    from_lists,
    integers,
    matrix,
    output,
    plain_array,
    plain_rows,
    small_output,
    time_of,
    total_dtype,
    upcast,
    words,
    writable,
)
from .remedies import cast_to, mixed_types, remedy_for
from .tensors import array_of, check_dense, is_cpu_tensor, is_tensor, tensor_of
from .transfer import to_device
from .writes import Drafts, write_together
