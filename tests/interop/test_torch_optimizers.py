"""``lodkit.interop.torch.optim``: as lodkit's optimizers, as PyTorch's of the same formula."""

from __future__ import annotations

import copy
import inspect
import io

import numpy as np
import pytest

import lodkit

torch = pytest.importorskip("torch")
from lodkit.interop.torch import optim  # noqa: E402

RULES = [name for name in optim.__all__ if name != "Optimizer"]
#: Attributes without which a rule refuses sparse gradients, or does nothing.
ATTRS = {"Momentum": {"momentum": 0.5}, "FTRL": {"l1": 0.01}, "Storm": {"beta": 0.1}}


def gradients(shape=(6, 3), steps=3, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(steps)]


def sparse_gradients(height=6):
    rng = np.random.default_rng(1)
    return [
        lodkit.SelectedRows(rng.integers(0, height, 4), rng.standard_normal((4, 3), dtype=np.float32), height)
        for _ in range(3)
    ]


def start():
    return np.random.default_rng(2).standard_normal((6, 3), dtype=np.float32)


def coo(rows):
    return torch.sparse_coo_tensor(
        torch.from_numpy(rows.rows.copy())[None], torch.from_numpy(rows.value), rows.shape, check_invariants=False
    )


def stepped(optimizer, param, grads):
    for grad in grads:
        param.grad = grad.clone()
        optimizer.step()
    return param.detach().numpy()


def test_there_is_a_class_for_every_rule():
    rules = {n for n, c in vars(lodkit.optim).items() if isinstance(c, type) and c is not lodkit.optim.Optimizer}
    assert set(RULES) == rules
    for name in RULES:
        kind = getattr(optim, name)
        assert issubclass(kind, torch.optim.Optimizer)
        assert kind.__doc__ == getattr(lodkit.optim, name).__doc__
        assert [*inspect.signature(kind).parameters][:2] == ["params", "lr"]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_the_numbers_are_those_of_lodkits_optimizer(name, sparse, lazy):
    attrs = dict(ATTRS.get(name, {}))
    if lazy and "lazy" not in inspect.signature(getattr(optim, name)).parameters:
        pytest.skip("the rule has no lazy step")
    attrs |= {"lazy": True} if lazy else {}
    array, param = start(), torch.nn.Parameter(torch.from_numpy(start()))
    mine = getattr(lodkit.optim, name)({"p": array}, lr=0.1, **attrs)
    theirs = getattr(optim, name)([param], lr=0.1, **attrs)
    grads = sparse_gradients() if sparse else gradients()
    for grad in grads:
        mine.step({"p": grad})
    found = stepped(theirs, param, [coo(g) if sparse else torch.from_numpy(g) for g in grads])
    np.testing.assert_array_equal(found, array)
    assert theirs.state[param]["iteration"] == 3
    assert all(isinstance(s, torch.Tensor) for n, s in theirs.state[param].items() if n != "iteration")


SAME = {
    "SGD": ("SGD", {}, {}),
    "SGD, decay": ("SGD", {"weight_decay": 0.1}, {"weight_decay": 0.1}),
    "Momentum": ("SGD", {"momentum": 0.9}, {"momentum": 0.9}),
    "Momentum, Nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "nesterov": True}),
    "Adagrad": ("Adagrad", {}, {}),
    "Adam": ("Adam", {}, {}),
    "Adam, amsgrad": ("Adam", {"amsgrad": True}, {"amsgrad": True}),
    "AdamW": ("AdamW", {}, {}),
    "Adamax": ("Adamax", {}, {}),
    "RMSprop": ("RMSprop", {"decay": 0.99, "epsilon": 1e-8, "epsilon_in_root": False, "rate_in_velocity": False}, {}),
    "Adadelta": ("Adadelta", {"decay": 0.9}, {}),
    "NAdam": ("NAdam", {}, {}),
    "RAdam": ("RAdam", {}, {}),
}


@pytest.mark.parametrize("what", SAME)
def test_the_numbers_are_pytorchs(what):
    peer, mine, theirs = SAME[what]
    params = [torch.nn.Parameter(torch.from_numpy(start())) for _ in range(2)]
    grads = [torch.from_numpy(g) for g in gradients(steps=8)]
    found = stepped(getattr(optim, what.split(",")[0])([params[0]], lr=0.05, **mine), params[0], grads)
    expected = stepped(getattr(torch.optim, peer)([params[1]], lr=0.05, **theirs), params[1], grads)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")  # by PyTorch's Adagrad
@pytest.mark.parametrize(
    ("name", "attrs", "peer"),
    [
        ("SGD", {}, "SGD"),
        ("Adagrad", {}, "Adagrad"),
        ("Adam", {"lazy": True, "corrected_epsilon": False}, "SparseAdam"),
    ],
)
def test_the_numbers_of_sparse_gradients_are_pytorchs(name, attrs, peer):
    params = [torch.nn.Parameter(torch.from_numpy(start())) for _ in range(2)]
    grads = [coo(g) for g in sparse_gradients()]
    found = stepped(getattr(optim, name)([params[0]], lr=0.05, **attrs), params[0], grads)
    expected = stepped(getattr(torch.optim, peer)([params[1]], lr=0.05), params[1], grads)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.EmbeddingBag(9, 4, mode="mean", sparse=True), torch.nn.Linear(4, 2))


def train(net, optimizer, steps, seed=0, scheduler=None):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        ids = torch.randint(0, 9, (5, 3), generator=generator)
        optimizer.zero_grad()
        net(ids).square().sum().backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
    return [p.detach().clone() for p in net.parameters()]


@pytest.mark.parametrize("name", RULES)
def test_training_goes_on_from_a_file(name):
    attrs = ATTRS.get(name, {})
    whole, half = model(), model()
    expected = train(whole, getattr(optim, name)(whole.parameters(), lr=0.1, **attrs), 2)
    first = getattr(optim, name)(whole.parameters(), lr=0.1, **attrs)
    half.load_state_dict(whole.state_dict())
    train(whole, first, 3, seed=1)
    other = getattr(optim, name)(half.parameters(), lr=0.1, **attrs)
    train(half, other, 3, seed=1)
    file = io.BytesIO()
    torch.save({"net": half.state_dict(), "optimizer": other.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed = model()
    resumed.load_state_dict(saved["net"])
    loaded = getattr(optim, name)(resumed.parameters(), lr=0.7, **attrs)
    loaded.load_state_dict(saved["optimizer"])
    assert loaded.param_groups[0]["lr"] == 0.1
    for found, wanted in zip(train(resumed, loaded, 3, seed=2), train(whole, first, 3, seed=2), strict=True):
        assert torch.equal(found, wanted)
    assert len(expected) == 3
    copied = copy.deepcopy(loaded)
    assert copied.state_dict()["param_groups"] == loaded.state_dict()["param_groups"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_states_keep_their_type(dtype):
    param = torch.nn.Parameter(torch.ones(4, 2, dtype=dtype))
    optimizer = optim.Adam([param], lr=0.1)
    param.grad = torch.ones_like(param)
    optimizer.step()
    kind = torch.float64 if dtype is torch.float64 else torch.float32
    assert optimizer.state[param]["moment1"].dtype == kind
    again = optim.Adam([param], lr=0.1)
    again.load_state_dict(optimizer.state_dict())
    assert again.state[param]["moment1"].dtype == kind
    assert again.state[param]["moment1"].data_ptr() != optimizer.state[param]["moment1"].data_ptr()
    assert param[0, 0].item() == pytest.approx(0.9, abs=5e-3)
    param.grad = torch.sparse_coo_tensor([[1, 1]], torch.ones(2, 2, dtype=dtype), (4, 2), check_invariants=False)
    again.step()
    assert param.grad.dtype == dtype
    assert param[1, 0].item() < 0.85


def test_states_that_do_not_fit_are_refused_before_anything_changes():
    param = torch.nn.Parameter(torch.ones(4, 2))
    optimizer = optim.Adam([param], lr=0.1)
    param.grad = torch.ones_like(param)
    optimizer.step()
    before = copy.deepcopy(optimizer.state_dict())
    for damage in (
        lambda s: s["state"][0].pop("moment1"),
        lambda s: s["state"][0].update(moment2=torch.ones(3)),
        lambda s: s["state"][0].update(moment2=torch.ones(4, 2).double()),
        lambda s: s["state"][0].update(iteration=-1),
        lambda s: s["param_groups"][0].update(betas=(0.9, 0.99)),
        lambda s: s["param_groups"][0]["params"].append(1),
    ):
        bad = copy.deepcopy(before)
        damage(bad)
        with pytest.raises((lodkit.LodkitError, TypeError, ValueError)):
            optimizer.load_state_dict(bad)
        assert torch.equal(optimizer.state[param]["moment1"], before["state"][0]["moment1"])
        assert optimizer.state_dict()["param_groups"] == before["param_groups"]


def test_groups_schedulers_closures_and_hooks():
    net = model()
    table, linear = net[0], net[1]
    groups = [{"params": table.parameters(), "lr": 0.5, "lazy": True}, {"params": linear.parameters()}]
    optimizer = optim.Momentum(groups, lr=0.1, momentum=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 0.1]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    train(net, optimizer, 2, scheduler=scheduler)
    assert [g["lr"] for g in optimizer.param_groups] == [0.125, 0.025]
    extra = torch.nn.Parameter(torch.ones(()))
    optimizer.add_param_group({"params": [extra], "lr": 1.0, "momentum": 0.0})
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = (extra - 3) ** 2
        loss.backward()
        calls.append(torch.is_grad_enabled())
        return loss

    assert optimizer.step(closure).item() == 4.0
    assert calls == [True]
    assert extra.item() == 5.0
    seen = []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    assert seen == [1]
    cyclic = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=5)
    optimizer.step()
    cyclic.step()
    assert optimizer.param_groups[0]["momentum"] != 0.5


def test_named_parameters_are_named_and_a_bad_step_changes_nothing():
    net = model()
    optimizer = optim.SGD(net.named_parameters(), lr=0.1)
    before = [p.detach().clone() for p in net.parameters()]
    net[0].weight.grad = torch.ones(9, 4)
    net[1].weight.grad = torch.ones(2, 4).to_sparse()
    with pytest.raises(lodkit.LodkitError, match="sparse dimensions"):
        optimizer.step()
    net[1].weight.grad = torch.ones(2, 4)
    net[1].bias.grad = net[1].bias.detach()
    with pytest.raises(lodkit.OutputError, match=r"1\.bias: the gradient overlaps"):
        optimizer.step()
    assert all(map(torch.equal, before, net.parameters()))


def test_what_is_refused():
    param = torch.nn.Parameter(torch.ones(2, 2))
    for bad in ("betas", "eps", "foreach", "capturable", "fused", "differentiable", "other"):
        with pytest.raises(TypeError, match=f"no attribute '{bad}'"):
            optim.Adam([param], lr=0.1, **{bad: 1})
    with pytest.raises(TypeError, match="pass beta1 and beta2"):
        optim.Adam([param], lr=0.1, betas=(0.9, 0.99))
    with pytest.raises(TypeError, match="lr"):
        optim.SGD([param])
    with pytest.raises(ValueError, match="lr must be finite"):
        optim.SGD([param], lr=float("nan"))
    with pytest.raises(TypeError, match="lr_scheduler"):
        optim.SGD([param], lr=lambda step: 0.1)
    with pytest.raises(ValueError, match="beta1"):
        optim.Adam([param], lr=0.1, beta1=1.0)
    with pytest.raises(lodkit.DTypeError, match="int64"):
        optim.SGD([torch.ones(2, dtype=torch.int64)], lr=0.1)
    optimizer = optim.Adam([param], lr=0.1)
    with pytest.raises(TypeError, match="no attribute 'betas'"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))], "betas": (0.9, 0.99)})
    assert len(optimizer.param_groups) == 1
    param.grad = torch.ones_like(param)
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(ValueError, match="make another optimizer"):
        optimizer.step()
    bad = torch.sparse_coo_tensor([[5]], torch.ones(1, 2), (2, 2), check_invariants=False)
    table = torch.nn.Parameter(torch.ones(2, 2))
    table.grad = bad
    with pytest.raises(lodkit.RowIndexError, match="5 is outside"):
        optim.SGD([table], lr=0.1).step()


def test_autograd_notices_a_step():
    param = torch.nn.Parameter(torch.ones(2, 2))
    out = (param * param).sum()
    param.grad = torch.ones_like(param)
    optim.SGD([param], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_parameters_that_are_not_contiguous():
    param = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
    param.grad = torch.ones_like(param)
    optim.Adagrad([param], lr=1.0).step()
    assert param.detach().numpy() == pytest.approx(np.arange(6.0).reshape(2, 3).T - 1)
    assert not param.is_contiguous()
