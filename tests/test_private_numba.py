"""Internals of Numba, numba-cuda and CPython still behave as lodkit uses them; a failure says what depends on it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import pickle
import sys
import threading
import types

import numba
import numpy as np
import pytest
from llvmlite.binding import ffi, parse_assembly
from numba.core import dispatcher as numba_dispatcher

from lodkit.jit import private_numba as private

needs_cuda = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


def needed_for(feature, *files):
    """Decorate a test: whatever it raises becomes a failure that names the feature and the files that depend on it."""

    def decorate(test):
        @functools.wraps(test)
        def run(*args, **kwargs):
            try:
                test(*args, **kwargs)
            except Exception as error:
                versions = f"Numba {numba.__version__}, Python {sys.version.split()[0]}"
                where = " and ".join(f"lodkit/{file}" for file in files)
                pytest.fail(f"{feature} ({where}) depends on this, which {versions} changed: {error!r}")

        return run

    return decorate


def add(x, y):
    return x + y


class Recorder(private.NullCache):
    """A cache that keeps compiled code as bytes, and notes what the dispatcher asks it."""

    def __init__(self):
        self.payload, self.asked = None, []

    @property
    def cache_path(self):
        return "here"

    def load_overload(self, signature, target_context):
        locked = private.compiler_lock.is_locked()
        self.asked.append(("load", *map(str, private.argument_types(signature)), locked))
        assert all(isinstance(part, str) for part in private.target_of(target_context.codegen()))
        return self.payload and private.deserialise(target_context, self.payload)

    def save_overload(self, signature, result):
        self.asked.append(("save", *map(str, private.argument_types(signature)), private.is_storable(result)))
        assert private.target_of(result.codegen) == private.target_of(result.target_context.codegen())
        self.payload = private.serialise(result)


def cached(function, cache):
    compiled = numba.njit(function)
    private.set_cache(compiled, cache)
    return compiled


@pytest.mark.jit
@needed_for("the disk cache", "jit/cache.py")
def test_a_dispatcher_loads_from_its_cache_and_saves_to_it():
    cache = Recorder()
    first, second = cached(add, cache), cached(add, cache)
    assert first(1, 2) == second(1, 2) == 3
    assert cache.asked == [
        ("load", "int64", "int64", True),
        ("save", "int64", "int64", True),
        ("load",) + ("int64",) * 2 + (True,),
    ]
    assert (first.stats.cache_path, sum(second.stats.cache_hits.values())) == ("here", 1)


@pytest.mark.jit
@needed_for("the disk cache, which must not store addresses", "jit/cache.py")
def test_code_that_holds_an_address_is_not_storable():
    big, cache = np.zeros(1 << 20), Recorder()
    with contextlib.suppress(Exception):  # nothing says that it can be serialised
        cached(lambda i: big[i], cache)(3)
    assert cache.asked[-1] == ("save", "int64", False)
    assert numba_dispatcher.LiftedCode.can_cache is False
    assert "lifted" in numba.core.compiler.CR_FIELDS


@needed_for("the disk cache: symbols of two processes must differ", "jit/cache.py")
def test_functions_are_numbered_from_the_whole_range():
    identity = numba.core.bytecode.FunctionIdentity.from_function(add)
    assert identity.unique_id > 1 << 16
    assert identity.unique_name.endswith(f"${identity.unique_id}")


@needed_for("the disk cache: settings are part of the key", "jit/cache.py")
def test_settings_of_the_key_exist():
    from lodkit.jit.cache import _SETTINGS

    assert all(hasattr(numba.config, name) for name in (*_SETTINGS, "NUMBA_NUM_THREADS", "DISABLE_JIT"))


@needed_for("the disk cache: a changed global or attribute changes the key", "jit/fingerprint.py")
def test_globals_and_attributes_are_told_apart():
    def reads():
        return np.float64(add).dtype, len

    names, attributes = private.names_read(reads.__code__)
    assert (set(names), set(attributes)) == ({"np", "add", "len"}, {"float64", "dtype"})


@pytest.mark.jit
@needed_for("the disk cache: options are part of the key", "jit/fingerprint.py")
def test_a_dispatcher_tells_its_options():
    options = private.options_of(numba.njit(nogil=True, error_model="numpy")(add))
    assert (options["nogil"], options["error_model"], options["pipeline_class"]) == (True, "numpy", "Compiler")
    assert private.options_of(add) is private.options_of(3) is None


@pytest.mark.jit
@needed_for("parallel kernels: threads of Numba's pool call them", "jit/llvm/shares.py")
def test_the_pool_calls_a_function_once_a_part():
    """With the address of the part, and what else it was given."""
    calls = []
    word = ctypes.c_int64
    pointers, part_type = ctypes.POINTER(ctypes.c_void_p), ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)

    def part(addresses, counts, steps, frame):
        first, count = ctypes.cast(addresses, pointers)[0], ctypes.cast(counts, ctypes.POINTER(word))[0]
        calls.extend((first + 64 * n, frame) for n in range(count))

    numba.get_num_threads()  # which starts the threading layer
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[word] * 3)(private.launcher())
    threads = numba.get_num_threads()
    starts, counts, steps = (ctypes.c_void_p * 1)(4096), (word * 1)(threads), (word * 1)(64)
    run(ctypes.cast(part_type(part), ctypes.c_void_p), starts, counts, steps, 7, 0, 1, threads)
    assert sorted(calls) == [(4096 + 64 * n, 7) for n in range(threads)]


@pytest.mark.jit
@needed_for("one compilation for writable and read-only arrays", "jit/compiling.py")
def test_an_entry_serves_further_types():
    first = numba.njit(lambda x: x[0])
    kind, frozen = numba.typeof(np.ones(2)), np.ones(2)
    frozen.flags.writeable = False
    assert private.to_writable(numba.typeof(frozen)) == kind == private.to_writable(kind)
    assert private.to_writable(numba.int64) is numba.int64
    some, other = np.ones(2), np.ones((1, 2))
    assert private.to_writable(numba.typeof((some, frozen))) == numba.typeof((some, some))
    assert private.to_writable(numba.typeof((frozen, 1, other))) == numba.typeof((some, 1, other))
    for _ in range(2):  # as two threads do whose first calls meet: of two equal entries none would be found
        private.share_entry(first, (numba.typeof(frozen),), first.compile((kind,)))
    first.compile = None
    assert first(frozen) == 1.0


@pytest.mark.jit
@needed_for("simd", "jit/simd.py")
def test_an_intrinsic_runs_instead_of_a_function():
    """And nothing is compiled around it."""

    def doubled(x):
        return x * 2

    @numba.extending.intrinsic
    def halved(typing, x):
        return x(x), lambda context, builder, signature, args: builder.ashr(args[0], args[0].type(1))

    @numba.njit
    def call(x):
        return doubled(x)

    private.run_instead(doubled, halved)
    compiled = []
    with numba.core.event.install_recorder("numba:compile") as recorder:
        assert call(10) == 5 and doubled(10) == 20
        compiled += [event for _, event in recorder.buffer if event.is_start]
    assert len(compiled) == 1


@pytest.mark.jit
@needed_for("one compilation for writable and read-only arrays", "jit/compiling.py")
def test_a_dispatcher_compiles_by_an_attribute():
    compiled, given = numba.njit(add), []
    compile_types = compiled.compile
    compiled.compile = lambda kinds: given.append(kinds) or compile_types(kinds)
    assert compiled(1, 2) == 3
    assert given == [(numba.int64, numba.int64)]


class NoSuchNumber(IndexError):
    """Raised with a number."""


@pytest.mark.jit
@needed_for("t[i] of a LoDTensor in compiled code", "interop/numba/sequences.py")
def test_an_error_takes_a_number_and_leaves_no_reference_behind():
    @numba.extending.intrinsic
    def refuse(typing, x):
        def build(context, builder, signature, args):
            with builder.if_then(builder.icmp_signed("<", args[0], args[0].type(0))):
                private.raise_with(context, builder, NoSuchNumber, args, signature.args)
            return args[0]

        return x(x), build

    @numba.njit
    def item(array, i):
        return array[refuse(i)]

    @numba.njit
    def caught(i):
        try:
            return refuse(i)
        except Exception:
            return 99

    array = np.arange(3.0)
    before = sys.getrefcount(array)
    assert item(array, 2) == 2.0 and caught(3) == 3 and caught(-3) == 99
    for _ in range(3):
        with pytest.raises(NoSuchNumber) as error:
            item(array, -7)
        assert error.value.args == (-7,)
        del error
    assert sys.getrefcount(array) == before


@needed_for("read-only offsets of a LoDTensor in compiled code", "interop/numba/kinds.py")
def test_a_type_of_arrays_has_a_read_only_twin():
    frozen = np.ones(2)
    frozen.flags.writeable = False
    assert private.read_only(numba.float64[::1]) == numba.typeof(frozen)
    trusted = private.TrustedType()
    assert trusted.untrusted == private.read_only(numba.int64[::1]) != trusted
    assert trusted.copy(layout="A").layout == "A" and type(trusted.copy(layout="A")) is private.TrustedType
    assert trusted.copy(readonly=False) == numba.int64[::1]


@pytest.mark.jit
@needed_for("thread limits", "jit/threading_layer.py")
def test_threads_are_counted_and_limited():
    count = numba.get_num_threads()  # which starts the threading layer
    try:
        assert private.thread_count() == count
        private.set_thread_count(1)
        assert private.thread_count() == numba.get_num_threads() == 1
    finally:
        private.set_thread_count(count)


@needed_for("forking while another thread compiles", "jit/threading_layer.py")
def test_the_compiler_has_a_lock():
    private.compiler_lock.acquire()
    try:
        assert private.compiler_lock.is_locked()
    finally:
        private.compiler_lock.release()


@needed_for("forking while another thread is in LLVM", "jit/threading_layer.py")
def test_calls_of_llvm_have_a_lock_that_can_be_renewed():
    lock, inside, leave = ffi.lib._lock._lock, threading.Event(), threading.Event()

    def enter():
        if threading.current_thread() is thread:
            inside.set()
            leave.wait(60)

    def parse():  # it releases the lock that is there then, which it has not taken
        with contextlib.suppress(RuntimeError):
            parse_assembly("")

    callbacks, thread = (enter, lambda: None), threading.Thread(target=parse)
    ffi.register_lock_callback(*callbacks)
    try:
        thread.start()
        assert inside.wait(60)
        private.renew_llvm_lock()
        renewed = ffi.lib._lock._lock
        assert renewed is not lock and parse_assembly("").name
        private.renew_llvm_lock()
        assert ffi.lib._lock._lock is renewed
    finally:
        leave.set()
        thread.join()
        ffi.unregister_lock_callback(*callbacks)
    private.wait_for_llvm()


@needed_for("the disk cache", "jit/private_numba.py")
def test_code_that_calls_what_is_not_there_loads_all_of_numba(monkeypatch):
    # LLVM would end the process.
    asked = []
    context = types.SimpleNamespace(refresh=lambda: asked.append("refresh"))
    monkeypatch.setattr(private.CompileResult, "_rebuild", lambda context, *parts: parts)
    monkeypatch.setattr(private.rtsys, "initialize", lambda context: asked.append("runtime"))
    for name in ("memcpy", "no_such_name_of_numba"):
        assert private.deserialise(context, pickle.dumps(([name], (1, 2)))) == (1, 2)
    assert asked == ["runtime", "runtime", "refresh"]
