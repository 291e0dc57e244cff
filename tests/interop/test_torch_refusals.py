"""What a backward pass must not see, what rounds, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.registry import operators

torch = pytest.importorskip("torch")
from lodkit.interop import torch as bridge  # noqa: E402


def test_arrays_may_be_written_between_forward_and_backward():
    ids, weight = np.array([0, 1]), np.ones((1, 2), np.float32)
    bags = LoDTensor(np.array([0, 1]), [[2]])
    table = torch.zeros(4, 1, requires_grad=True)
    rows, pooled = bridge.lookup_table(table, ids), bridge.embedding_bag(table, bags)
    columns = bridge.fc(rows, weight)
    ids[:], weight[:], bags.values[:] = 3, 100, 3
    (rows.sum() + pooled.sum() + columns.sum()).backward()
    assert table.grad.to_dense().ravel().tolist() == [4, 4, 0, 0]


def test_results_are_bfloat16_where_no_input_is_wider():
    x, weight = torch.randn(4, 3).bfloat16(), torch.randn(3, 2)
    for given in (weight, weight.numpy(), weight.bfloat16()):
        expected = lodkit.fc(x, given)
        made = bridge.fc(x.clone().requires_grad_(), given)
        assert made.dtype is expected.dtype
        torch.testing.assert_close(made.detach(), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_other_ways_to_differentiate_are_refused():
    relu, forward = bridge.relu, torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(torch.ones(2), torch.ones(2))
        for call in (relu, lodkit.relu):
            with pytest.raises(TypeError, match="forward-mode"):
                call(x)
    for call in (torch.func.grad(lambda x: relu(x).sum()), torch.vmap(relu)):
        with pytest.raises(TypeError, match="not supported"):
            call(torch.ones(2))


def test_a_gradient_rule_declares_that_it_reads_results(monkeypatch):
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    def double(x, /):
        """Double."""
        return 2 * x

    def rule(call, grad):
        (out,) = call.outputs
        return grad * out / call.inputs[0]

    for reads_outputs in (False, True):
        double.__name__ = f"double_{reads_outputs}".lower()
        op = lodkit.op(double)
        op.kernel("cpu")(double)
        op.infer_rule(lambda x: x)
        assert op.gradient(reads_outputs=reads_outputs)(rule) is rule
        made = bridge.differentiable(op)
        for call in (made, torch.compile(made, fullgraph=True, backend="aot_eager")):
            x = torch.tensor([1.0, 3.0], requires_grad=True)
            total = call(x).sum()
            if reads_outputs:
                total.backward()
                assert x.grad.tolist() == [2, 2]
                continue
            with pytest.raises(lodkit.LodkitError, match=r"double_false reads call.outputs; declare it: @double_false"):
                total.backward()


def test_optimizers_refuse_what_is_pytorchs_and_stay_usable():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = bridge.optim.Adam([weight], lr=0.1)
    theirs = torch.optim.Adam([weight], lr=0.1).state_dict()
    with pytest.raises(lodkit.LodkitError, match=r"not of .*optim\.Adam, but of PyTorch's own maybe: .* betas, eps"):
        optimizer.load_state_dict(theirs)
    weight.grad = torch.ones(2)
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert (weight < 1).all()


@pytest.mark.parametrize("lr", [-1, -1.0, float("nan"), torch.tensor(-1.0)])
def test_optimizers_refuse_rates_below_zero(lr):
    with pytest.raises(ValueError, match="lr must be finite and at least 0"):
        bridge.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=lr)


def test_optimizers_by_names_that_there_are_not():
    for name, hint in (("SparseAdam", r"use Adam\(\.\.\., lazy=True"), ("RMSProp", "did you mean RMSprop")):
        with pytest.raises(AttributeError, match=f"optim' has no attribute '{name}'; {hint}"):
            getattr(bridge.optim, name)
    with pytest.raises(TypeError, match="Adagrad needs lr, the learning rate"):
        bridge.optim.Adagrad([torch.nn.Parameter(torch.ones(2))])
    assert {name for name in dir(bridge.optim) if not name.startswith("_")} == set(bridge.optim.__all__)


def test_a_batch_is_no_example():
    batch = LoDTensor([1, 2], [[2]])
    with pytest.raises(TypeError, match=r"example 0 is a LoDTensor, .* lodkit\.concat"):
        bridge.collate([batch, batch])
    with pytest.raises(TypeError, match=r"example 1\[0\] is a LoDTensor"):
        bridge.collate([([1], 1), (batch, 1)])


def _replace_state(param, state):
    state["moment1"] = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p, s: p.grad.resize_(2, 3), lodkit.ShapeMismatchError, r"its parameter \(4, 3\): it was resized"),
        (lambda p, s: setattr(p, "grad", p.data), lodkit.OutputError, "the gradient overlaps the parameter"),
        (lambda p, s: setattr(p, "data", p.data.double()), lodkit.DTypeError, "the gradient is float32"),
        (_replace_state, lodkit.ShapeMismatchError, r"its state moment1 has shape \(2, 3\), and a step takes \(4, 3\)"),
    ],
)
def test_later_steps_refuse_what_the_first_would(change, error, message):
    """A parameter before the one at fault stays as it is, too."""
    params = [torch.nn.Parameter(torch.ones(4, 3)) for _ in range(2)]
    optimizer = bridge.optim.Adam(params, lr=0.1)
    for param in params:
        param.grad = torch.ones(4, 3)
    for _ in range(3):
        optimizer.step()
    before = params[0].detach().clone()
    change(params[1], optimizer.state[params[1]])
    with pytest.raises(error, match=r"param_groups\[0\]\[1\].*" + message):
        optimizer.step()
    assert torch.equal(params[0], before)


def test_states_of_half_a_parameters_precision_are_stepped_or_refused():
    """What is read as a copy would not be updated."""
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        param = torch.nn.Parameter(torch.ones(4, 3, dtype=kind))
        optimizer = bridge.optim.Adam([param], lr=0.1)
        param.grad = torch.ones_like(param)
        optimizer.step()
        state = optimizer.state[param]
        state |= {name: state[name].to(torch.bfloat16) for name in ("moment1", "moment2")}
        before = state["moment1"].clone()
        if kind is torch.bfloat16:
            optimizer.step()
            assert (state["moment1"] > before).all()
        else:
            with pytest.raises(lodkit.DTypeError, match=r"its state moment1 is bfloat16, and a step of float\d+ takes"):
                optimizer.step()
