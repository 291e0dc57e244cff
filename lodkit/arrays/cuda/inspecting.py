"""What this process knows of CUDA kernels: their signatures, their entries in the cache, their code as text.

The names are those of ``lodkit/jit/inspecting.py``. A kernel is compiled as it is first launched on a GPU.
"""

from __future__ import annotations

import contextlib
import os

from ...jit.cache import place
from ...jit.fingerprint import NotFingerprintable
from . import launcher


def functions_of(code):
    """Return the kernels that were made of some code and launched, the first one first."""
    return [*dict.fromkeys(kernel for kernel, *_ in [*launcher.modules] if kernel.py_func.__code__ is code)]


def modules_of(kernel):
    """List the modules of a kernel, one for each device and signature that it was launched with."""
    return [module for (launched, *_), module in [*launcher.modules.items()] if launched is kernel]


def signatures_of(kernel):
    """Return the names of the types of the arguments that a kernel was compiled for, with the compute capability."""
    return [*dict.fromkeys((*module.names, module.capability) for module in modules_of(kernel))]


def report_of(kernel, signature):
    """Return what the compiler reported of the code for a signature: registers, bytes of stack and of spills."""
    return next(m.report for m in modules_of(kernel) if (*m.names, m.capability) == signature)


def entry_of(kernel, signature):
    """Return the file of the cache that keeps the code for a signature; None where there is none."""
    *names, capability = signature
    with contextlib.suppress(NotFingerprintable):
        path = os.path.join(place() or "", launcher.name_of_entry(kernel, tuple(names), capability))
        return path if os.path.exists(path) else None
    return None


def explain_absence():
    """Return why a kernel has no signature, and what to do."""
    return "it is not compiled yet; call the operator once on a GPU, with inputs of these types"


def text_of(kernel, signature, form):
    """Return the code of PTX (``"asm"``); Numba gives no text of LLVM's for a GPU."""
    if form != "asm":
        raise ValueError(f"there is no code of LLVM to show for a kernel of a GPU; asm() gives its PTX, not {form}()")
    *names, capability = signature
    return launcher.ptx_of(kernel, tuple(names), min(capability, launcher.GENERATION))
