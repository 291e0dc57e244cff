"""Comparisons of optimizers: dense gradients, sparse ones, tall tables, and updates fused with a bag's gradient."""

from __future__ import annotations

import numpy as np
from measuring import HEIGHT, QUICK, drawn_ids, fresh, measure, rng, training_steps
from peers import fbgemm, torch

import lodkit

#: Optimizer -> number of states, attributes, PyTorch's class and its arguments.
RULES = {
    "momentum": (1, {}, "SGD", {"momentum": 0.9}),
    "decayed_adagrad": (1, {}, "RMSprop", {}),
    "adadelta": (2, {}, "Adadelta", {}),
    "rmsprop": (2, {"momentum": 0.5}, "RMSprop", {"momentum": 0.5}),
    "adam": (2, {"iteration": 9}, "Adam", {}),
    "adamw": (2, {"iteration": 9}, "AdamW", {}),
    "adamax": (2, {"iteration": 9}, "Adamax", {}),
    "nadam": (2, {"iteration": 9}, "NAdam", {}),
    "radam": (2, {"iteration": 9}, "RAdam", {}),
    "lion": (1, {}, None, {}),
    "lars": (1, {}, None, {}),
    "lamb": (2, {"iteration": 9}, None, {}),
}
#: Optimizers of SelectedRows -> number of states, whether a row has one number, attributes.
SPARSE = {
    "sgd": (0, False, {}),
    "adagrad": (1, False, {}),
    "rowwise_adagrad": (1, True, {}),
    "ftrl": (2, False, {}),
    "momentum": (1, False, {"lazy": True}),
    "adam": (2, False, {"lazy": True, "iteration": 9}),
    "adamw": (2, False, {"lazy": True, "iteration": 9}),
}


def _step(update, *inputs, **attrs):
    """Return the call of an update, without its result: each implementation has states of its own."""
    steps = training_steps(attrs)

    def step(r):
        update(*(fresh(x) if isinstance(x, lodkit.SelectedRows) else x for x in inputs), **next(steps))

    return step


def _states(count, param, by_row=False):
    """Return states of their own pages: np.zeros shares one page until it is written."""
    return [np.full(len(param) if by_row else param.shape, 1e-3, np.float32) for _ in range(count)]


def _gradient(kind, width):
    rows = drawn_ids(kind, 50 if QUICK else 82_000)
    return lodkit.SelectedRows(rows, rng.standard_normal((len(rows), width), dtype=np.float32), HEIGHT)


def optimizers():
    """Compare a step by a dense gradient, and by SelectedRows as if it were that one.

    PyTorch's optimizers of these rules refuse sparse gradients: theirs take the dense one.
    """
    param, grad = rng.standard_normal((HEIGHT, 64), dtype=np.float32), _gradient("uniform", 64)
    dense = grad.to_dense()
    for name, (count, attrs, theirs, kwargs) in RULES.items():
        update, states = getattr(lodkit, name), _states(count, param)
        calls, sparse = ({"lodkit": _step(update, param, g, *states, lr=1e-3, **attrs)} for g in (dense, grad))
        if torch and theirs:
            parameter = torch.nn.Parameter(torch.from_numpy(param.copy()))
            parameter.grad = torch.from_numpy(dense)
            optimizer = getattr(torch.optim, theirs)([parameter], lr=1e-3, **kwargs)
            calls["torch.optim"] = sparse["torch.optim, dense"] = lambda r, o=optimizer: o.step()
        measure(f"{name}, dense gradient", calls, traffic=(2 * count + 3) * param.nbytes // 2, rounds=7)
        measure(f"{name}, SelectedRows, as the dense gradient", sparse, rounds=7)


def _torch_steps(name, param, grad):
    """Return PyTorch's step by the sparse gradient, where its rule takes one.

    Its velocity is sparse and gets longer by a gradient at each step, so the minimum is that of the second step.
    """
    made = {
        "sgd": ("SGD", {}),
        "adagrad": ("Adagrad", {}),
        "momentum": ("SGD", {"momentum": 0.9}),
        "adam": ("SparseAdam", {}),
    }
    if not torch or name not in made:
        return {}
    optimizer, kwargs = made[name]
    table = torch.nn.Parameter(torch.from_numpy(param.copy()))
    rows = torch.from_numpy(grad.rows.copy())[None]
    table.grad = torch.sparse_coo_tensor(rows, torch.from_numpy(grad.value), param.shape, check_invariants=False)
    steps = getattr(torch.optim, optimizer)([table], lr=1e-3, **kwargs)

    return {f"torch {optimizer}": lambda r: steps.step()}


def _fbgemm_steps(name, param, grad):
    """Return FBGEMM's fused backward and update of bags of one id."""
    made = {"sgd": "EXACT_SGD", "adagrad": "EXACT_ADAGRAD", "rowwise_adagrad": "EXACT_ROWWISE_ADAGRAD"}
    if not fbgemm or name not in made:
        return {}
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
        ComputeDevice,
        EmbeddingLocation,
        SplitTableBatchedEmbeddingBagsCodegen,
    )

    table = SplitTableBatchedEmbeddingBagsCodegen(
        [(*param.shape, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=EmbOptimType[made[name]],
        learning_rate=1e-3,
    )
    ids = torch.from_numpy(grad.rows.copy())
    bags = table(ids, torch.arange(len(ids) + 1))
    value = torch.from_numpy(grad.value)
    return {"fbgemm, with the bags' gradient": lambda r: bags.backward(value, retain_graph=True)}


def sparse_optimizers():
    """Compare a step by 82,000 rows with duplicates, of a million; only these rows change."""
    for width in (64, 128):
        param = lodkit.empty((HEIGHT, width))
        param[...] = 1
        for kind in ("uniform", "zipf"):
            grad = _gradient(kind, width)
            for name, (count, by_row, attrs) in SPARSE.items():
                states = _states(count, param, by_row)
                calls = {"lodkit": _step(getattr(lodkit, name), param, grad, *states, lr=1e-3, **attrs)}
                calls |= _torch_steps(name, param, grad) | _fbgemm_steps(name, param, grad)
                if name == "ftrl":
                    calls["lodkit adagrad"] = _step(lodkit.adagrad, param, grad, *_states(1, param), lr=1e-3)
                measure(f"{name}, {kind} rows, {width} wide", calls, rounds=9)


def fused_updates():
    """Compare updates by SelectedRows with gather, dense update, scatter."""
    rows = np.unique(rng.integers(0, HEIGHT, 500 if QUICK else 100_000))
    value = rng.standard_normal((len(rows), 64), dtype=np.float32)
    grad = lodkit.SelectedRows(rows, value, HEIGHT)
    table = rng.standard_normal((HEIGHT, 64), dtype=np.float32)
    for name, states in (("adagrad", 1), ("ftrl", 2)):
        state = [np.ones_like(table) for _ in range(states)]

        fused = _step(getattr(lodkit, name), table, grad, *state, lr=0.01)
        steps = training_steps({"lr": 0.01})

        def unfused(r, name=name, state=state, steps=steps):
            taken = [lodkit.gather(x, rows) for x in (table, *state)]
            lodkit.run(name, taken[0], value, *taken[1:], **next(steps))
            for x, part in zip((table, *state), taken, strict=True):
                lodkit.scatter_assign(x, rows, part)

        measure(f"{name} of 100k rows, fused", {"lodkit": fused, "lodkit gather, update, scatter": unfused})


def bag_updates():
    """Compare updates fused with the gradient of 4,096 bags of 20 ids with the two steps."""
    param = lodkit.empty((HEIGHT, 64))
    param[...] = 1
    lengths = rng.integers(0, 41, 64 if QUICK else 4096)
    grad = rng.standard_normal((len(lengths), 64), dtype=np.float32)
    for kind in ("uniform", "zipf"):
        bags = lodkit.LoDTensor(drawn_ids(kind, int(lengths.sum())), [lengths])
        for name, (count, by_row, attrs) in SPARSE.items():
            states, rest = _states(count, param, by_row), {k: v for k, v in attrs.items() if k != "lazy"}
            one, two = getattr(lodkit, f"embedding_bag_{name}"), getattr(lodkit, name)

            fused = _step(one, param, bags, grad, *states, lr=1e-3, **rest)
            steps = training_steps({"lr": 1e-3, **attrs})

            def unfused(r, two=two, states=states, bags=bags, steps=steps):
                two(param, lodkit.embedding_bag_grad(param, bags, grad), *states, **next(steps))

            measure(f"embedding_bag_{name}, {kind}", {"lodkit": fused, "lodkit gradient, update": unfused}, rounds=9)


def tall_tables():
    """Compare updates of 1,000 rows of tables of two heights: their time must not depend on it."""
    made = {name: {} for name in SPARSE}
    for height in (1000, 2000) if QUICK else (100_000, 10_000_000):
        rows = np.unique(rng.integers(0, height, 1000))
        grad = lodkit.SelectedRows(rows, np.ones((len(rows), 8), np.float32), height)
        table = np.ones((height, 8), np.float32)
        for name, (count, by_row, attrs) in SPARSE.items():
            states = _states(count, table, by_row)
            update = _step(getattr(lodkit, name), table, grad, *states, lr=1e-3, **attrs)
            made[name][f"lodkit, {height:,} rows"] = update
    for name, calls in made.items():
        measure(f"{name} of 1,000 rows of a table", calls, inner=1 if QUICK else 20)


GROUPS = (fused_updates, optimizers, sparse_optimizers, bag_updates, tall_tables)
