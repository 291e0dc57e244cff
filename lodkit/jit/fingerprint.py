"""Fingerprints: text of all that compiled code depends on, equal in every process.

A function is identified by its bytecode, constants and free variables, and so is every function that it reaches.
Whatever Numba does not compile from its own body (intrinsics, functions with an overload, types) is identified by the
files that define it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
import types
import weakref

import numpy as np
from numba import types as numba_types

from .private_numba import names_read, options_of

_IMPORTED = time.time()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_CODE = "name argcount posonlyargcount kwonlyargcount flags code names varnames freevars cellvars exceptiontable"

# Functions that Numba compiles from their own body into every caller, with their options.
jitables: weakref.WeakKeyDictionary[types.FunctionType, str] = weakref.WeakKeyDictionary()


class NotFingerprintable(Exception):
    """A value that cannot be fingerprinted; code that depends on it is not stored."""


def fingerprint(dispatcher):
    """Fingerprint a jitted function: its options, and all that it reaches."""
    modules = __name__, dispatcher.py_func.__module__ or ""
    return _Walk({module.partition(".")[0] for module in modules}).value(dispatcher)


def check_plain(text):
    """Return a text, unless it holds an address, which means nothing in another process."""
    if " at 0x" in text:
        raise NotFingerprintable(text)
    return text


class _Walk:
    """Walk over all that a function reaches: free variables, globals, attributes of modules."""

    def __init__(self, packages):
        self.packages, self.seen, self.modules = packages, {}, set()

    def value(self, value, attributes=()):
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        if kind is types.CodeType:
            return self.code(value)
        if kind is types.FunctionType:
            return self.function(value)
        if kind is types.ModuleType:
            return self.module(value, attributes)
        if (options := options_of(value)) is not None:
            return f"jit {self.options(options)} {self.function(value.py_func, compiled=True)}"
        if isinstance(value, (tuple, list)):
            return f"{kind.__qualname__}({', '.join(self.value(v, attributes) for v in value)})"
        if kind is dict:
            return self.value(list(value.items()), attributes)
        if isinstance(value, (set, frozenset)):
            return f"{kind.__name__}({', '.join(sorted(map(self.value, value)))})"
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            return f"{value.dtype!r} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, np.dtype):
            return repr(value)
        return self.walk_named(value)

    def function(self, function, compiled=False):
        compiled = compiled or function in jitables
        if not compiled and not self.is_own(function.__module__):
            return self.walk_named(function)
        if function in self.seen:
            return f"function {self.seen[function]}"
        self.seen[function] = len(self.seen)
        code, scope = function.__code__, function.__globals__
        names, attributes = _names(code)
        values = [function.__defaults__, function.__kwdefaults__, *map(_content, function.__closure__ or ())]
        parts = [function.__module__, function.__qualname__, jitables.get(function, ""), self.code(code)]
        parts += [self.value(v, attributes) for v in values]
        for name in names:
            try:
                parts.append(self.value(scope[name], attributes) if name in scope else name)
            except NotFingerprintable:
                if compiled:
                    raise
        return " ".join(parts) + ("" if compiled else self.files(function.__module__))

    def code(self, code):
        # Without line numbers: moving a function changes nothing that it computes.
        fields = " ".join(repr(getattr(code, f"co_{field}", None)) for field in _CODE.split())
        return f"{fields} {self.value(code.co_consts)}"

    def module(self, module, attributes):
        if not self.is_own(module.__name__) or module in self.seen:
            return self.name_of(module.__name__, "")
        self.seen[module] = len(self.seen)
        found = [(name, vars(module)[name]) for name in sorted(attributes) if name in vars(module)]
        text = " ".join(self.value(pair, attributes) for pair in found)
        del self.seen[module]
        return f"{module.__name__} {text}"

    def options(self, options):
        return check_plain(", ".join(f"{name}={_option(value)}" for name, value in sorted(options.items())))

    def walk_named(self, value):
        """Fingerprint a value by its qualified name: a ufunc, a class, an intrinsic, a Numba type."""
        named = value if hasattr(value, "__qualname__") or hasattr(value, "__name__") else type(value)
        owner = getattr(named, "__module__", None) or "builtins"
        if named is not value and not isinstance(value, numba_types.Type) and not self.is_own(owner):
            raise NotFingerprintable(repr(value))
        parts = [self.name_of(owner, getattr(named, "__qualname__", None) or named.__name__), self.files(owner)]
        if isinstance(value, numba_types.Type):
            parts.append(check_plain(str(value)))
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType) and self.is_own(owner):
            parts.append(self.function(wrapped))
        return " ".join(parts)

    def name_of(self, module, name):
        top = sys.modules.get(module.partition(".")[0])
        return f"{module}.{name} {getattr(top, '__version__', '')}"

    def files(self, name):
        """Digests of a module's file, and of the files of own modules that it imports from."""
        if not self.is_own(name) or name in self.modules:
            return ""
        self.modules.add(name)
        module = sys.modules.get(name)
        try:
            digest = _file_digest(module.__file__)
        except (AttributeError, TypeError, OSError) as error:
            raise NotFingerprintable(name) from error
        owners = {_owner(value) for value in vars(module).values()}
        return " ".join([name, digest, *map(self.files, sorted(owners))])

    def is_own(self, module):
        return (module or "").partition(".")[0] in self.packages


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _option(value):
    if hasattr(value, "__slots__"):
        return [(name, getattr(value, name)) for name in value.__slots__]
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def _owner(value):
    """Name of a module, or of the module that defines a value."""
    owner = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", "")
    return owner if isinstance(owner, str) else ""


def _file_digest(path):
    status = os.stat(path)
    # The module was loaded from an earlier version of the file.
    if max(status.st_mtime, status.st_ctime) > _IMPORTED:
        raise OSError(f"{path} has changed since it was imported")
    return _content_digest(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _content_digest(path, mtime_ns, size):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@functools.lru_cache(maxsize=4096)
def _names(code):
    """Names of globals and of attributes that a code object, and those nested in it, read."""
    names, attributes = names_read(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_names, inner_attributes = _names(constant)
            names.update(dict.fromkeys(inner_names))
            attributes.update(dict.fromkeys(inner_attributes))
    return tuple(names), tuple(attributes)
