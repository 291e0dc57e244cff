"""Registry of operators and their kernels: ``OPS``, ``op``, ``run``."""

from .kinds import Dense as Dense
from .operators import OPS as OPS
from .operators import Op as Op
from .operators import op as op
from .operators import run as run
