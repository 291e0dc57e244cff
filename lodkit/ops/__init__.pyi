from .._operators import *
