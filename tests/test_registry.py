"""How a kernel is chosen, and what is said when none is there."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import lodkit
from lodkit import Dense, LoDTensor, SelectedRows
from lodkit.registry import operators

PARAM = np.ones((3, 2), np.float32)
GRAD = SelectedRows([2], np.ones((1, 2), np.float32), 3)


def test_one_operator_selects_by_kind():
    param = PARAM.copy()
    lodkit.sgd(param, np.ones((3, 2), np.float32), lr=1.0)
    lodkit.sgd(param, GRAD, lr=1.0)
    np.testing.assert_array_equal(param, [[0, 0], [0, 0], [-1, -1]])
    one, rows = lodkit.sgd.select(PARAM, GRAD), lodkit.sgd.select(GRAD, GRAD)
    assert (one.__name__, rows.__name__) == ("sgd_rows", "sgd_selected")
    assert lodkit.sum.select(PARAM, PARAM) != lodkit.sum.select(GRAD, GRAD)


def test_run_by_name_and_unknown_names():
    x = LoDTensor(np.ones((3, 1)), [[1, 2]])
    np.testing.assert_array_equal(lodkit.run("sequence_pool", x, pool="sum"), lodkit.sequence_pool(x))
    with pytest.raises(lodkit.UnknownOperatorError, match="did you mean sequence_pool"):
        lodkit.run("sequence_pol", x)
    with pytest.raises(KeyError):
        lodkit.OPS["nothing_like_it"]
    with pytest.raises(AttributeError):
        lodkit.no_such_name


def test_a_miss_lists_the_kernels():
    with pytest.raises(
        lodkit.NoKernelError, match=r"sgd has no cpu kernel for grad=LoDTensor; kernels: .*SelectedRows"
    ):
        lodkit.sgd(PARAM, LoDTensor(PARAM, [[1, 2]]), lr=1.0)
    with pytest.raises(NotImplementedError, match="sequence_pool has no cpu kernel for x=Dense"):
        lodkit.sequence_pool(PARAM)
    with pytest.raises(lodkit.NoKernelError, match="relu has no cpu kernel for x=SelectedRows"):
        lodkit.relu(GRAD)


@pytest.mark.parametrize(
    ("attrs", "error", "text"),
    [
        ({"pool": "summ"}, ValueError, "pool must be one of 'sum'.*got 'summ'"),
        ({"pool": 3}, TypeError, "pool must be one of"),
        ({"pool": ["sum"]}, TypeError, "pool must be one of"),
        ({"level": 1.5}, TypeError, "level must be an integer, got 1.5"),
        ({"level": True}, TypeError, "level must be an integer"),
        ({"pad_value": "0"}, TypeError, "pad_value must be a number"),
        ({"return_index": 1}, TypeError, "return_index must be True or False"),
        ({"pol": "sum"}, TypeError, "sequence_pool has no attribute 'pol'"),
        ({"level": 2}, lodkit.LoDLevelError, "level"),
        ({"return_index": True}, ValueError, "return_index has a meaning with max and min"),
    ],
)
def test_attributes_are_checked(attrs, error, text):
    x = LoDTensor(np.ones((3, 1)), [[1, 2]])
    with pytest.raises(error, match=text):
        lodkit.sequence_pool(x, **attrs)


def test_arrays_of_another_library_are_refused():
    class Tensor:
        """A CPU array that is no ndarray."""

        device = None

        def __array__(self, dtype=None, copy=None):
            return PARAM

    with pytest.raises(TypeError, match=r"np\.asarray"):
        lodkit.relu(Tensor())


def test_mixed_devices_are_refused():
    class OnGpu:
        shape, dtype = (3, 2), np.dtype(np.float32)
        __cuda_array_interface__ = {"shape": (3, 2), "typestr": "<f4", "data": (0, False), "version": 3}

    with pytest.raises(lodkit.DeviceError, match="sgd: inputs on different devices"):
        lodkit.sgd(PARAM, OnGpu(), lr=1.0)
    with pytest.raises(lodkit.DeviceError, match=r"none can be reached|no arithmetic"):
        lodkit.relu(OnGpu())


def test_rowwise_operators_keep_structure():
    x = LoDTensor(-np.ones((3, 2)), [[1, 2]])
    y = lodkit.relu(x)
    assert isinstance(y, LoDTensor)
    assert y.same_lod(x)
    assert lodkit.relu.infer(lodkit.VarDesc.of(x)).lod_level == 1
    with pytest.raises(lodkit.LoDMismatchError):
        lodkit.relu_grad(x, LoDTensor(np.ones((3, 2)), [[2, 1]]))
    np.testing.assert_array_equal(lodkit.relu(LoDTensor(PARAM)), PARAM)


def test_a_lod_tensor_given_as_out_becomes_the_result():
    x = LoDTensor(np.arange(6.0).reshape(3, 2), [[1, 2]])
    for name in ("tanh", "sequence_reverse"):
        out = LoDTensor(np.zeros((3, 2)), [[1, 1], [2, 1]])
        got = lodkit.run(name, x, out=out)
        assert got.values is out.values and out.equals(got) and out.equals(lodkit.run(name, x))


def test_out_takes_the_result_or_is_refused_whole():
    x = LoDTensor(np.arange(6.0).reshape(3, 2), [[1, 2]])
    out = np.full((2, 2), 7.0)
    assert lodkit.sequence_pool(x, out=out) is out
    np.testing.assert_array_equal(out, [[0, 1], [6, 8]])
    frozen = np.zeros((2, 2))
    frozen.flags.writeable = False
    for bad, text in [
        (np.zeros((3, 2)), "shape"),
        (np.zeros((2, 2), np.float32), "dtype"),
        (np.zeros((2, 2), order="F"), "contiguous"),
        (frozen, "read-only"),
        (x.values[:2], "out overlaps x; pass separate memory"),
    ]:
        before = bad.copy()
        with pytest.raises(ValueError, match=text):
            lodkit.sequence_pool(x, out=bad)
        np.testing.assert_array_equal(bad, before)
    with pytest.raises(TypeError, match="takes no out="):
        lodkit.sgd(PARAM.copy(), PARAM, lr=0.1, out=PARAM.copy())


def test_an_operator_made_elsewhere():
    @lodkit.op
    def twice_for_tests(x: Dense | SelectedRows, /, *, times: int = 2) -> Dense:
        """Multiply."""
        return x * times

    try:

        @twice_for_tests.kernel("cpu")
        def run(x: Dense, /, *, times):
            return x * times

        np.testing.assert_array_equal(lodkit.run("twice_for_tests", PARAM), 2 * PARAM)
        np.testing.assert_array_equal(twice_for_tests(PARAM, times=3), 3 * PARAM)
        with pytest.raises(lodkit.NoKernelError, match="x=SelectedRows; kernels: cpu"):
            twice_for_tests(GRAD)
    finally:
        del lodkit.OPS["twice_for_tests"]


def test_structure_without_values_is_refused():
    shell = lodkit.LoDTensor(None, [[1, 2]])
    for name in ("sequence_pool", "tanh"):
        with pytest.raises(lodkit.LoDError, match=f"{name}: x has structure but no values"):
            lodkit.run(name, shell)


def test_a_needed_attribute_is_asked_for():
    with pytest.raises(TypeError, match="sgd needs the attribute lr"):
        lodkit.sgd(np.ones(2), np.ones(2))


def test_arrays_where_sequences_belong_are_told_how():
    with pytest.raises(lodkit.NoKernelError, match=r"wrap it: LoDTensor\(x, \[lengths\]\).*cpu \(x=LoDTensor\)"):
        lodkit.sequence_pool(np.ones((3, 2)))


def test_nothing_has_no_rows():
    for call in (lodkit.lookup_table, lodkit.gather, lodkit.segment_reduce):
        with pytest.raises(lodkit.ShapeMismatchError, match="no dimension"):
            call(np.array(1.0), [0])


def test_near_names_are_suggested():
    with pytest.raises(AttributeError, match="did you mean sequence_pool"):
        lodkit.sequence_pol


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("tanh", [np.ones((2, 3))]),
        ("fc", [np.ones((2, 3)), np.ones((3, 4))]),
        ("lengths_to_offsets", [np.array([1, 2])]),
        ("sum", [np.ones(3), np.ones(3)]),
        ("tanh", [lodkit.LoDTensor(np.ones((3, 1)), [[1, 2]])]),
    ],
)
def test_every_operator_whose_result_is_an_array_takes_out(name, inputs):
    expected = lodkit.run(name, *inputs)
    out = np.empty_like(getattr(expected, "values", expected))
    got = lodkit.run(name, *inputs, out=out)
    assert getattr(got, "values", got) is out
    np.testing.assert_array_equal(out, getattr(expected, "values", expected))
    with pytest.raises(ValueError, match="out has shape"):
        lodkit.run(name, *inputs, out=out[:1] if len(out) > 1 else out[:0])


def test_a_kernel_may_take_several_kinds(monkeypatch):
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    @lodkit.op
    def count(x: lodkit.Dense | lodkit.SelectedRows, y: lodkit.Dense | lodkit.SelectedRows | None = None, /) -> int:
        return len(x)

    @count.kernel("cpu")
    def run(x: lodkit.Dense | lodkit.SelectedRows, y: lodkit.Dense | None = None, /):
        return len(x)

    grad = lodkit.SelectedRows([1], np.ones((1, 2)), 3)
    assert [count(np.ones(4)), count(grad), count(grad, None), count(grad, np.ones(2))] == [4, 1, 1, 1]
    with pytest.raises(lodkit.NoKernelError, match="y=SelectedRows"):
        count(grad, grad)


@pytest.mark.parametrize("rows_first", [True, False])
def test_a_kernel_of_any_mix_serves_what_no_other_names(monkeypatch, rows_first):
    monkeypatch.setattr(operators, "OPS", dict(operators.OPS))

    @lodkit.op
    def mix(*xs: Dense | SelectedRows) -> int:
        return len(xs)

    kernels = [(lambda *xs: "any", Dense | SelectedRows), (lambda *xs: "rows", SelectedRows)]
    for function, kinds in reversed(kernels) if rows_first else kernels:
        function.__annotations__ = {"xs": kinds}
        mix.kernel("cpu")(function)
    assert [mix(PARAM, GRAD), mix(PARAM), mix(GRAD)] == ["any", "any", "rows"]


def test_select_refuses_what_a_call_refuses():
    for name, inputs in (("sequence_pool", [np.ones(2)]), ("lookup_table", [None, [0]])):
        with pytest.raises((lodkit.NoKernelError, TypeError)) as called:
            lodkit.OPS[name](*inputs)
        with pytest.raises(called.type):
            lodkit.OPS[name].select(*inputs)


def test_a_name_is_taken_once(monkeypatch):
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))
    with pytest.raises(ValueError, match=r"lodkit.ops.dense has an operator 'mean' already"):

        @lodkit.op
        def mean(x: lodkit.Dense, /) -> lodkit.Dense:
            return x


def test_sequences_of_one_structure_add_up():
    t = lodkit.LoDTensor(np.ones((3, 1)), [[1, 2]])
    assert lodkit.sum(t, t).equals(t.with_values(np.full((3, 1), 2.0)))


def test_reprs_name_the_kernels():
    text = repr(lodkit.sgd)
    assert text.startswith("sgd(param")
    assert "grad=SelectedRows" in text
    assert "kernels/common/optimizers.py:" in text
    assert "<table>" in lodkit.sgd._repr_html_()
    assert "sequence_pool" in lodkit.OPS._repr_html_()
    assert pickle.loads(pickle.dumps(lodkit.sgd)) is lodkit.sgd


def test_missing_inputs_are_named():
    table, desc = np.zeros((4, 2)), lodkit.VarDesc.of(np.zeros((4, 2)))
    for call in (lambda: lodkit.embedding_bag(table), lambda: lodkit.embedding_bag.infer(desc)):
        with pytest.raises(TypeError, match=re.escape("embedding_bag lacks ids; call embedding_bag(table, ids)")):
            call()
    with pytest.raises(TypeError, match=re.escape("lookup_table lacks ids; call lookup_table(table, ids)")):
        lodkit.lookup_table(table)
    for call in (lodkit.embedding_bag, lodkit.embedding_bag.infer):
        with pytest.raises(TypeError, match="embedding_bag lacks table, ids; call"):
            call()
    for call in (lodkit.sum, lodkit.sum.infer):
        with pytest.raises(TypeError, match=r"sum lacks xs; call sum\(\*xs\)"):
            call()
    for call in (lambda: lodkit.relu(table, table), lambda: lodkit.relu.infer(desc, desc)):
        with pytest.raises(
            TypeError, match=re.escape("relu takes 1 input, relu(x), got 2 inputs; it has no attributes")
        ):
            call()


def test_the_signature_of_an_operator_with_types_for_annotations_names_no_module(monkeypatch):
    monkeypatch.setattr(operators, "OPS", {})

    def halved(x: Dense | LoDTensor, y: SelectedRows | None = None, /, *, by: float = 2.0, z=1) -> LoDTensor:
        return x

    halved.__annotations__.update(x=Dense | LoDTensor, y=SelectedRows | None, by=float)
    halved.__annotations__["return"] = LoDTensor
    shown = "(x: Dense | LoDTensor, y: SelectedRows | None = None, /, *, by: float = 2.0, z=1) -> LoDTensor"
    assert str(lodkit.op(halved).signature) == shown


def test_an_operator_of_no_module(monkeypatch):
    monkeypatch.setattr(operators, "OPS", {})
    space = {"Dense": Dense, "__name__": None}
    exec("def doubled(x: Dense, /) -> Dense:\n    return 2 * x", space)
    made = lodkit.op(space["doubled"])
    made.kernel("cpu")(lambda x: 2 * x)
    assert made(np.ones(1)) == 2
    assert made.family == "__main__"


def test_numbers_among_inputs_are_converted_on_every_call():
    """The first call finds the kernel, the next ones take it without a look at the inputs."""
    x = lodkit.LoDTensor(np.ones((3, 2), np.float32), [[1, 2]])
    for pad in (0.5, 2, 0, -0.0, np.inf, 7.25):
        padded, _ = lodkit.sequence_pad(x, pad)
        assert padded[0, 1].tolist() == [pad, pad]
        assert np.signbit(padded[0, 1, 0]) == np.signbit(pad)
    for bad in (1e300, 2**80):
        with pytest.raises((ValueError, lodkit.DTypeError), match="pad_value"):
            lodkit.sequence_pad(x, bad)
    half = lodkit.LoDTensor(np.ones(3, np.float32))
    with pytest.raises(lodkit.LodkitError):
        lodkit.sequence_pad(half, 0.5)
