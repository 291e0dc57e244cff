"""Registry of operators and their kernels: ``OPS``, ``op``, ``run``."""

from .contract import FewRows, FewSequences, Ids
from .desc import (
    DATA_TYPES,
    DescError,
    LodTensorDesc,
    TensorDesc,
    VarDesc,
    VarType,
    array_desc,
    inferred_level,
    pooled_desc,
)
from .kinds import Dense, aligned
from .open_tapes import Call
from .operators import OPS, Op, op, run
from .tensors import keeps_bfloat16, takes_bfloat16

__all__ = [
    "Call",
    "DATA_TYPES",
    "Dense",
    "DescError",
    "FewRows",
    "FewSequences",
    "Ids",
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
    "pooled_desc",
    "run",
    "keeps_bfloat16",
    "takes_bfloat16",
]
