"""Registry of operators and their kernels: ``OPS``, ``op``, ``run``."""

from .desc import DATA_TYPES, DescError, LodTensorDesc, TensorDesc, VarDesc, VarType, array_desc, inferred_level
from .kinds import Dense, aligned
from .open_tapes import Call
from .operators import OPS, Op, op, run

__all__ = [
    "Call",
    "DATA_TYPES",
    "Dense",
    "DescError",
    "LodTensorDesc",
    "OPS",
    "Op",
    "TensorDesc",
    "VarDesc",
    "VarType",
    "aligned",
    "array_desc",
    "inferred_level",
    "op",
    "run",
]
