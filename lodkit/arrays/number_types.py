"""Types of numbers: the sets that operators take, and the table of which operator takes which.

An operator declares its set where it is defined, ``@op(types=MOVED)``, and the registry writes it to ``TAKES``; checks,
``infer``, errors, documentation and tests read it there.
"""

from __future__ import annotations

import numpy as np

from ..base.bfloat16 import is_bfloat16, name_of_dtype
from ..base.errors import DTypeError
from ..base.float8 import FLOAT8, float8_of
from .objects import id_remedy_of, remedy_of


def native(dtype):
    """Data type in native byte order."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


class TypeSet:
    """Types of numbers that an input of an operator may have; ``dtype in types`` takes either byte order.

    Attributes
    ----------
    name, meaning : str
        Of the set, as documentation shows it.
    words : str
        The types, as errors list them.
    known : frozenset of numpy.dtype
        Types in native byte order, of one width each.
    kinds : str
        Kinds of which all types are taken, as times in any unit.
    formats : tuple of str
        Formats of float8 that are taken.
    gives : str
        The type of the result, in words.
    """

    def __init__(self, name, meaning, words, known, kinds="", formats=(), gives="the type of the values"):
        self.name, self.meaning, self.words, self.kinds, self.gives = name, meaning, words, kinds, gives
        self.formats = formats
        self.known = frozenset(map(np.dtype, known))

    def __contains__(self, dtype):
        if dtype in self.known or native(dtype) in self.known or dtype.kind in self.kinds:
            return True
        return bool(self.formats) and float8_of(dtype) in self.formats

    def has_bfloat16(self):
        """Whether bfloat16 is one of these types: as bits, or copied to float32, where an operator takes no bits."""
        return np.dtype(np.float16) in self.known

    def __repr__(self):
        return self.name


_FLOATS, _SIGNED = ("float16", "float32", "float64"), ("int8", "int16", "int32", "int64")
_INTEGERS = (*_SIGNED, "uint8", "uint16", "uint32", "uint64")
_FLOATS_TEXT = "float16, bfloat16, float32 or float64"
FLOATING = TypeSet("floating", "Means, roots, exponentials, gradients.", _FLOATS_TEXT, _FLOATS)
COMPUTED = TypeSet("computed", "Arithmetic.", f"{FLOATING.words}, int32 or int64", (*_FLOATS, "int32", "int64"))
MOVED = TypeSet(
    "moved",
    "Moving rows.",
    "floats of at most 64 bits, integers, bool, datetime64 or timedelta64",
    (*_FLOATS, *_INTEGERS, "bool"),
    kinds="mM",
)
WHOLE = TypeSet("whole", "Tokens, and ids that are compared.", "integers or bool", (*_INTEGERS, "bool"))
INTEGERS = TypeSet("integers", "Ids and lengths.", "integers", _INTEGERS, gives="a type that the operator says")
SUMMED = TypeSet(
    "summed",
    "Comparisons and sums.",
    "floats of at most 64 bits, integers or bool",
    (*_FLOATS, *_INTEGERS, "bool"),
    gives="the type of the values, except sums and products: int64 for integers and bool, uint64 for unsigned integers",
)
ORDERED = TypeSet(
    "ordered",
    "Sums, and comparisons that times have too: maxima, minima, first and last rows.",
    MOVED.words,
    MOVED.known,
    kinds="mM",
    gives=SUMMED.gives,
)
DISTINCT = TypeSet(
    "distinct", "Searches for distinct values.", "integers, bool, datetime64 or timedelta64", WHOLE.known, kinds="mM"
)
PACKED = TypeSet(
    "packed",
    "Compressed tables.",
    "uint8, the bytes of packed rows, or float8",
    ("uint8",),
    formats=tuple(FLOAT8),
    gives="float32, or bfloat16 where the scale or the weights have it",
)
#: Operators whose kernels take the bits of bfloat16. The registry writes it.
TAKES_BFLOAT16: set[str] = set()
#: Operator -> what its values may be. The registry writes it.
TAKES: dict[str, TypeSet] = {}
FLOATS, VALUE_TYPES = FLOATING.known, COMPUTED.known


def check_values(dtype, what, *, floating=False, takes=None, bfloat16=False):
    """Check the type of an operator's values, and return it in native byte order.

    ``what`` is the operator, whose types the table has, or names what must be ``floating`` or in the set ``takes``.
    Whatever the table does not have takes what operators compute with. bfloat16 is refused unless ``bfloat16`` is
    True or the operator takes it: the call is made again with copies in float32.
    """
    takes = takes or (FLOATING if floating else TAKES.get(what, COMPUTED))
    # These are native already: 100 ns less.
    if dtype in takes.known:
        return dtype
    if (bfloat16 or what in TAKES_BFLOAT16) and is_bfloat16(dtype) and takes.has_bfloat16():
        return native(dtype)
    if dtype not in takes:
        dtype = native(dtype)
        whole = not takes.known & FLOATING.known
        remedy = id_remedy_of(dtype, "x") if whole else remedy_of(dtype, takes is FLOATING)
        raise DTypeError(f"{what} takes {takes.words}, not {name_of_dtype(dtype)}; {remedy}")
    return native(dtype)
