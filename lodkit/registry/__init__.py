"""Registry of operators and their kernels: ``OPS``, ``op``, ``run``."""

from .desc import DATA_TYPES, DescError, LodTensorDesc, TensorDesc, VarDesc, VarType, array_desc, inferred_level
from .kinds import Dense, aligned
from .operators import OPS, Op, op, run
