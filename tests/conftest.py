"""Devices, poisoned outputs, and fixtures that shrink block sizes."""

from __future__ import annotations

import gc
import os
import sys
import types

# Tests run side by side: threads of NumPy's BLAS would wait for each other, 20 times as long as a small product takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Nor may threads of OpenMP spin while they wait: tests of threads would take three times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Failures of tests show where they arise.
os.environ.setdefault("LODKIT_FULL_TRACEBACK", "1")

import numpy as np
import pytest
from samples import ALL_TYPES, FEW_KERNELS, place_in_registry, rules_left_out
from thread_script import cache_of_threads, run_threads  # noqa: F401  fixtures

import lodkit
from lodkit import arrays
from lodkit.kernels.cpu.primitives import device, reduce, update
from lodkit.lod.packed_rows import CODE_BITS

if not ALL_TYPES:
    # Batches that tests take for large share the kernels of small ones, which sum the columns in strips of two widths;
    # of few kernels one by one, as updates do; test_reduce.py has strips, and test_equal_rows.py updates of wide rows.
    reduce.tuning = reduce.tuning._replace(strip_bytes=0)
    reduce.WIDTHS, reduce.PACKED_WIDTHS = (1,) if FEW_KERNELS else (4, 1), (4,)
WIDEST_UPDATES = update.MOST_LANES, update.MOST_PAIRS
if FEW_KERNELS:
    update.MOST_LANES = update.MOST_PAIRS = 1

# Compiling makes objects by the million, nearly all of which stay: collecting as often as usual takes a seventh of it.
gc.set_threshold(1_000_000, 20, 100)
#: A test whose kernels no other runs.
with_all_types = pytest.mark.skipif(not ALL_TYPES, reason="compiles kernels for itself: with LODKIT_TEST_TYPES=all")
DEVICES = os.environ.get("LODKIT_TEST_DEVICES", "cpu").split(",")


#: Tests over the registry that run every operator, of which optimizers have several kernels each.
OVER_THE_REGISTRY = {"test_batches_apart", "test_every_op", "test_ids_outside", "test_interrupts"}


def is_left_out(item, names):
    """Whether a test over the registry is of an operator that has its turn with LODKIT_TEST_TYPES=all alone."""
    return item.module.__name__ in OVER_THE_REGISTRY and item.callspec.params.get("name") in names


def place_of(item):
    """Where the operator that a test over the registry is of stands in it; other tests come after all of these."""
    name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
    return place_in_registry(name if item.module.__name__ in OVER_THE_REGISTRY else None)


def pytest_collection_modifyitems(config, items):
    """Run the longest tests first, for balance between workers; then all of an operator, then those of the next.

    Workers begin with half of the tests each: where both compile the kernels of an operator at a time, neither finds
    them in the cache. Of few kernels leave out some optimizers.
    """
    items.sort(key=lambda item: ("test_machine_code" not in item.name, place_of(item)))
    if FEW_KERNELS:
        names = rules_left_out()
        left_out = {item for item in items if hasattr(item, "callspec") and is_left_out(item, names)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


#: Generators of test modules, with the states that importing left them in.
STATES = {}


@pytest.fixture(autouse=True)
def same_draws(request):
    """Draw the same numbers in whatever order tests run, side by side or alone."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = STATES.setdefault(value, value.bit_generator.state)


@pytest.fixture
def forget_plans():
    """Make the plans of reductions anew, by settings that a test has set; and at its end by those that it found."""

    def forget():
        reduce.plans.clear()
        reduce.reduction_of.cache_clear()
        for op in (lodkit.embedding_bag, lodkit.sequence_pool):
            op._plans.clear()

    yield forget
    forget()


@pytest.fixture(autouse=True, scope="session")
def poison():
    """Fill outputs with NaN (or an unlikely integer), to expose unwritten elements."""
    fresh = arrays.output

    def poisoned(shape, dtype, out=None, like=None):
        assert np.dtype(dtype).isnative, "take the type that check_values returns: kernels write native numbers"
        result = fresh(shape, dtype, out)
        if result.dtype.kind == "V":  # NaN of bfloat16
            result.view(np.int16).fill(0x7FC1)
            return result
        result.fill(np.nan if result.dtype.kind == "f" else 177 if result.dtype.kind == "u" else -77)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "output", poisoned)
        patch.setattr(arrays, "small_output", poisoned)
        patch.setattr(device, "output", poisoned)
        yield


class tracing:
    """Context in which ``trace`` sees the frames of this thread, without collections, whose finalizers it would see."""

    def __init__(self, trace):
        self.trace = trace

    def __enter__(self):
        self.before = sys.gettrace()
        gc.disable()
        sys.settrace(self.trace)

    def __exit__(self, *error):
        sys.settrace(self.before)
        gc.enable()


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Always use threads, and chunks and blocks of 3 rows, so that every boundary is crossed.

    With LODKIT_TEST_TYPES=all also prefetch, which kernels of their own do.
    """
    from lodkit.jit import settings

    monkeypatch.setattr(settings, "parallel_from", 0)
    monkeypatch.setattr(settings, "chunk_rows", 3)
    monkeypatch.setattr(settings, "block_rows", 3)
    monkeypatch.setattr(settings, "few_rows", 0)
    monkeypatch.setattr(settings, "near_bytes", -1)
    monkeypatch.setattr(settings, "mid_bytes", -1)
    if ALL_TYPES:
        monkeypatch.setattr(settings, "fetch_from", 0)


@pytest.fixture
def widest_updates(monkeypatch):
    """Update as many columns of a row at a time as without tests."""
    for name, lanes in zip(("MOST_LANES", "MOST_PAIRS"), WIDEST_UPDATES, strict=True):
        monkeypatch.setattr(update, name, lanes)


@pytest.fixture
def frozen_heap():
    """Collections look at what the test makes; at all that its process holds, each would take a second."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def kit(tmp_path):
    """A folder with a small package of kernels."""
    import kernel_package

    return kernel_package.make(tmp_path)


@pytest.fixture
def emulated_gpu(monkeypatch):
    """The module ``emulated``, whose GPU it is, as long as a test runs; bounds are checked as before then."""
    for needed in ("greenlet", "numba_cuda", "array_api_compat"):
        pytest.importorskip(needed)
    import emulated
    import gpus

    gpus.install(monkeypatch, "emulated", 1)
    before = lodkit.bounds_check()
    yield emulated
    lodkit.bounds_check(before)


@pytest.fixture(params=["cpu", "cuda"])
def place(request):
    """The CPU or the emulated GPU: ``to`` moves values there, ``home`` brings results back."""
    if request.param == "cpu":
        return types.SimpleNamespace(to=lambda x: x, home=lambda x: x)
    emulated = request.getfixturevalue("emulated_gpu")
    return types.SimpleNamespace(to=emulated.to_gpu, home=emulated.to_numpy)


def copy(x):
    """Copy an input, for in-place operators."""
    if isinstance(x, lodkit.LoDTensor):
        return x.with_values(x.values.copy())
    if isinstance(x, lodkit.SelectedRows):
        return lodkit.SelectedRows(x.rows, x.value.copy(), x.height)
    return x.copy() if isinstance(x, np.ndarray) else x


def flat(result):
    """Flatten the results of a call to plain arrays, including structure."""
    if isinstance(result, tuple):
        return [part for r in result for part in flat(r)]
    if isinstance(result, lodkit.LoDTensor):
        return [result.values, *(np.array(level) for level in result.lod())]
    if isinstance(result, lodkit.SelectedRows):
        return [result.rows, result.value, np.array(result.height)]
    if isinstance(result, lodkit.RankTable):
        return [result.index, result.running, *(np.array(level) for level in result.lod())]
    if isinstance(result, lodkit.PackedRows):
        scales = [] if result.scale is None else [np.asarray(result.scale)]
        return [result.values, *scales, np.array([*CODE_BITS].index(result.bits))]
    return [result]


def check_locked_array(array):
    """Neither an array nor what it lies in can be made writable."""
    while isinstance(array, np.ndarray):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        array = array.base
    assert type(array).__name__ in ("bytes", "PyCapsule")


def check_locked(x):
    """Check that nobody can write the structure of a result, PyTorch neither: it writes to read-only arrays."""
    if isinstance(x, tuple):
        for part in x:
            check_locked(part)
        return
    handed, kept = [], []
    if isinstance(x, lodkit.LoDTensor):
        kept = [*x._lod, *map(x._row_offsets, range(x.lod_level))]
        handed = [*map(x.offsets, range(x.lod_level)), *map(x.row_offsets, range(x.lod_level))]
    elif isinstance(x, lodkit.SelectedRows):
        kept, handed = [x._rows], [x.rows]
    elif isinstance(x, lodkit.RankTable):
        kept, handed = [x._index, x._running, x._ranks, x._steps], [x.index, x.running]
    for numbers in handed:
        check_locked_array(numbers)
        assert not any(np.shares_memory(numbers, other) for other in kept)


@pytest.fixture
def texts(tmp_path):
    """Forty short texts of two labels that differ in one word."""
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{'ab'[i % 2]}\tthe word {'left' if i % 2 else 'right'} w{i % 7}\n" for i in range(40)))
    return str(path)
