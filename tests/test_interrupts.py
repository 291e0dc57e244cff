"""Updates are whole or not at all: at every bytecode, where Ctrl-C may come, arrays are all old or all new."""

from __future__ import annotations

import pickle
import signal
import threading

import numpy as np
import pytest
from conftest import copy, tracing
from numba import extending
from samples import ALL_TYPES, SAMPLES

import lodkit
from lodkit.base.signals import uninterrupted
from lodkit.jit import njit

UPDATES = [name for name, op in lodkit.OPS.items() if op.updates]
MOST = 12  # samples of an operator


def memory(x):
    """The numbers of an input, as bytes."""
    return (x.value if isinstance(x, lodkit.SelectedRows) else x).tobytes()


def watched(call, read):
    """What ``read`` returns at each bytecode of a call, where it differs from the one before; and where that was."""
    states, places = [read()], [None]

    def trace(frame, event, arg):
        frame.f_trace_opcodes = True
        now = read()
        if now != states[-1]:
            states.append(now)
            places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return trace

    with tracing(trace):
        call()
    if read() != states[-1]:
        states.append(read())
        places.append("the end")
    return states, places


def kinds(inputs, attrs):
    """What makes samples take different ways; types, which have kernels of their own, with LODKIT_TEST_TYPES=all."""
    types = tuple((type(x).__name__, ALL_TYPES and str(getattr(x, "dtype", None))) for x in inputs)
    return types, tuple(sorted(attrs)), attrs.get("duplicates"), attrs.get("lazy")


def chosen(op):
    """Samples that take different ways."""
    found = {}
    for inputs, attrs in SAMPLES[op.name]:
        if getattr(inputs[0], "size", 1):
            found.setdefault(kinds(inputs, attrs), (inputs, attrs))
    return [*found.values()][:MOST]


def check(op, run):
    names = [*op.inputs]
    changed = 0
    for inputs, attrs in chosen(op):
        given = [copy(x) for x in inputs]
        run(*(copy(x) for x in inputs), **attrs)  # compiles
        updated = [x for name, x in zip(names, given, strict=False) if name in op.updates and x is not None]
        states, places = watched(lambda g=given, a=attrs: run(*g, **a), lambda u=updated: [memory(x) for x in u])
        assert len(states) <= 2, f"{op.name} of {kinds(inputs, attrs)} writes at {places[1:]}"
        changed += len(states) == 2
    assert changed


@pytest.mark.jit
@pytest.mark.parametrize("name", UPDATES)
def test_operators_write_all_at_once(name):
    op = lodkit.OPS[name]
    check(op, op)


@pytest.mark.parametrize("name", UPDATES)
def test_definitions_write_all_at_once(name):
    op = lodkit.OPS[name]
    check(op, op.definition)


@pytest.mark.jit
def test_mixed_types_write_all_at_once():
    """float16 parameters, whose states are float32."""
    rng = np.random.default_rng(0)
    for sparse in (False, True):
        param, moment = rng.normal(size=(6, 3)).astype(np.float16), np.ones((6, 3), np.float32)
        grad = rng.normal(size=(6, 3)).astype(np.float16)
        grad = lodkit.SelectedRows([4, 1, 4, 0, 2, 2], grad, 6) if sparse else grad
        lodkit.adagrad(param.copy(), grad, moment.copy(), lr=0.5)  # compiles
        states, places = watched(
            lambda p=param, m=moment, g=grad: lodkit.adagrad(p, g, m, lr=0.5),
            lambda p=param, m=moment: [memory(p), memory(m)],
        )
        assert len(states) == 2, places


@pytest.fixture(autouse=True)
def _default_handler():
    """A shell that starts tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(make, run, read, stride=7):
    """Send SIGINT at every few lines of ``run(make())``: what ``read`` returns is as it was, or as it is without."""
    made = make()
    before = read(made)
    run(made)
    after = read(made)
    assert before != after
    count = at = 0
    while True:
        made, left = make(), at

        def trace(frame, event, arg):
            nonlocal left
            if "/lodkit/" not in frame.f_code.co_filename:
                return None
            left -= event == "line"
            if left == 0 and event == "line":
                signal.raise_signal(signal.SIGINT)
            return trace

        try:
            with tracing(trace):
                run(made)
        except KeyboardInterrupt:
            count += 1
        assert read(made) in (before, after), f"interrupted at line {at}"
        if left > 0:
            return count
        at += stride


def optimizer_of(states="all"):
    params = {name: np.ones((5, 3)) for name in "ab"}
    made = lodkit.optim.Adam(params, lr=0.1, states=states, lazy=True)
    made.step({name: lodkit.SelectedRows([1], np.ones((1, 3)), 5) for name in params})
    return made


def numbers_of(optimizer):
    states = [pickle.dumps(optimizer.state_dict()["states"][name]) for name in "ab"]
    return optimizer.iteration, [x.tobytes() for x in optimizer.params.values()], states


@pytest.mark.parametrize("states", ["all", "touched"])
def test_a_step_of_several_parameters_is_whole(states):
    grads = {name: lodkit.SelectedRows([3, 1], np.ones((2, 3)), 5) for name in "ab"}
    assert interrupted(lambda: optimizer_of(states), lambda made: made.step(grads), numbers_of)


def test_a_growing_table_keeps_its_keys():
    def make():
        table = lodkit.GrowingTable(2, capacity=2)
        table.state("moment")
        table.slots([5])
        return table

    def numbers(table):
        """Rows may have been made for keys that have no slots yet; values and states have the same ones."""
        assert table.values.shape == table.states["moment"].shape
        return table.keys.tolist(), table.slots([5, 7, 9], grow=False).tolist()

    assert interrupted(make, lambda table: table.slots([7, 9, 5]), numbers, stride=1)


def test_torch_steps_are_whole():
    torch = pytest.importorskip("torch")
    from lodkit.interop.torch import optim

    def make():
        params = [torch.nn.Parameter(torch.ones(5, 3, dtype=kind)) for kind in (torch.float32, torch.bfloat16)]
        for param in params:
            param.grad = torch.ones_like(param)
        return optim.Adagrad(params, lr=0.1)

    def numbers(made):
        params = [p for group in made.param_groups for p in group["params"]]
        states = [[v if isinstance(v, int) else v.tolist() for v in made.state[p].values()] for p in params]
        steps = [state or [0, torch.zeros(5, 3).tolist()] for state in states]  # states are made by the first step
        return [p.tolist() for p in params], steps

    assert interrupted(make, lambda made: made.step(), numbers)


def test_interrupts_wait_in_the_main_thread_alone():
    caught = []
    before = signal.signal(signal.SIGINT, lambda *_: caught.append(1))
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
            assert not caught
        assert caught == [1]
        thread = threading.Thread(target=uninterrupted().__enter__)
        thread.start()
        thread.join()
        signal.raise_signal(signal.SIGINT)
        assert caught == [1, 1]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.jit
def test_compiling_is_not_interrupted(tmp_path, monkeypatch):
    """It would leave Numba's lock taken, for which other threads would wait for ever."""
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))  # what is cached is not compiled

    def same(x):
        return x

    @extending.overload(same)
    def _(x):
        signal.raise_signal(signal.SIGINT)
        return lambda x: x

    kernel = njit(lambda x: same(x))
    with pytest.raises(KeyboardInterrupt):
        kernel(1.0)
    assert kernel.signatures
    assert kernel(1.0) == 1.0
