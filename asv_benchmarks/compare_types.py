"""Comparisons of types of two bytes and fewer: float16 and bfloat16 beside float32, small integers and bool."""

from __future__ import annotations

import numpy as np
from measuring import BATCHES, HEIGHT, QUICK, drawn_ids, fresh, measure, rng, training_steps
from peers import awkward, torch

import lodkit

BAGS = 64 if QUICK else 4096


def _types():
    """float32, and the two halves. Asked for here: other rows also run with an older lodkit, which has no bfloat16."""
    from lodkit.arrays import bfloat16_dtype

    return np.dtype(np.float32), np.dtype(np.float16), bfloat16_dtype()


def _rounded(x, dtype):
    """An array in a type, in pages as lodkit's."""
    made = lodkit.empty(x.shape, dtype)
    made[...] = lodkit.cast(x, dtype=dtype.name)
    return made


def _tensor(x):
    """The memory of an array as a tensor."""
    if x.dtype.name != "bfloat16":
        return torch.from_numpy(x)
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)


def _bags():
    """Bags of 20 ids on average, for each round others, and where they begin."""
    for _ in range(BATCHES):
        lengths = rng.integers(0, 41, BAGS)
        flat = drawn_ids("uniform", int(lengths.sum()))
        yield lodkit.LoDTensor(flat, [lengths]), flat, np.concatenate([[0], np.cumsum(lengths)[:-1]])


def halves():
    """Compare bags of fresh ids, and updates by SelectedRows, of a table of a million rows of 64 in each type."""
    numbers, batches = rng.standard_normal((HEIGHT, 64), dtype=np.float32), list(_bags())
    for dtype in _types():
        table = _rounded(numbers, dtype)
        calls = {"lodkit": lambda r, w=table: lodkit.embedding_bag(w, batches[r % BATCHES][0]) is None or None}
        if torch:
            other = _tensor(table)
            peers = [(torch.from_numpy(flat), torch.from_numpy(starts)) for _, flat, starts in batches]
            calls["torch"] = lambda r, w=other, p=peers: (
                torch.nn.functional.embedding_bag(p[r % BATCHES][0], w, p[r % BATCHES][1], mode="sum") is None or None
            )
        measure(f"embedding_bag sum of {dtype.name}, fresh ids", calls)
        _updates(dtype, table, batches)


def _updates(dtype, table, batches):
    """Compare updates of a table by rows of its type."""
    values = [_rounded(rng.standard_normal((len(flat), 64), dtype=np.float32), dtype) for _, flat, _ in batches]
    grads = [lodkit.SelectedRows(flat, value, HEIGHT) for (_, flat, _), value in zip(batches, values, strict=True)]
    for name, states in (("sgd", ()), ("rowwise_adagrad", (np.zeros(HEIGHT, np.float32),))):
        steps = training_steps({"lr": 1e-3})
        calls = {
            "lodkit": lambda r, name=name, states=states, steps=steps: (
                lodkit.run(name, table, fresh(grads[r % BATCHES]), *states, **next(steps)) is None or None
            )
        }
        if torch and name == "sgd":
            parameter = torch.nn.Parameter(_tensor(table.copy()))
            optimizer, shape = torch.optim.SGD([parameter], lr=1e-3), (HEIGHT, 64)
            coo = [
                torch.sparse_coo_tensor(torch.from_numpy(flat)[None], _tensor(value), shape, check_invariants=False)
                for (_, flat, _), value in zip(batches, values, strict=True)
            ]

            def theirs(r, parameter=parameter, optimizer=optimizer, coo=coo):
                parameter.grad = coo[r % BATCHES]
                optimizer.step()

            calls["torch.optim"] = theirs
        measure(f"{name} SelectedRows of {dtype.name}", calls)
    if dtype != np.float32:
        optimizer = lodkit.optim.SGD({"w": table}, lr=1e-3, master_weights=True)
        call = {"lodkit": lambda r: optimizer.step([fresh(grads[r % BATCHES])])}
        measure(f"sgd SelectedRows of {dtype.name}, master weights", call)


def small_integers():
    """Compare sums of uint8 and reversals of bool, in sequences of 20 on average."""
    count = 2_000 if QUICK else 2_000_000
    lengths = rng.multinomial(count, rng.dirichlet(np.full(count // 20, 0.5)))
    for dtype in (np.uint8, np.int16, np.bool_):
        values = rng.integers(0, 2 if dtype is np.bool_ else 100, count).astype(dtype)
        t = lodkit.LoDTensor(values, [lengths])
        name, full = np.dtype(dtype).name, np.flatnonzero(lengths)
        starts, wide = t.row_offsets()[full], np.uint64 if dtype is np.uint8 else np.int64

        def reduceat(r, values=values, starts=starts, full=full, wide=wide):
            out = np.zeros(len(lengths), wide)
            out[full] = np.add.reduceat(values, starts, dtype=wide)
            return out

        total = {"lodkit": lambda r, t=t: lodkit.sequence_pool(t), "numpy reduceat": reduceat}
        turned = {"lodkit": lambda r, t=t: lodkit.sequence_reverse(t).values}
        if awkward:
            ragged = awkward.unflatten(values, lengths)
            total["awkward"] = lambda r, a=ragged: np.asarray(awkward.sum(a, axis=1))
            turned["awkward"] = lambda r, a=ragged: np.asarray(awkward.flatten(a[:, ::-1]))
        measure(f"sequence_pool sum of {name}", total)
        measure(f"sequence_reverse of {name}", turned)


GROUPS = (halves, small_integers)
