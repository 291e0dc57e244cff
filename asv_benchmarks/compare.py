"""Compare lodkit with its peers on the same data in one process, in turns; results must agree.

    python asv_benchmarks/compare.py [--threads 1,2] [--only REGEX] [--quick] [--json FILE] [--device cuda]

Rows give the minimum and median of each implementation in milliseconds, the ratio to a memcpy where memory-bound, the
share of what the memory allows (``limits.py``), and lodkit's speedup over the best peer (of minima). Batches rotate, so
that no implementation finds another's rows cached.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

if __name__ == "__main__" and "LODKIT_COMPARE_THREADS" not in os.environ:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", default="1,2", help="numbers of CPU threads")
    options.add_argument("--only", default="")
    options.add_argument("--quick", action="store_true", help="tiny data, one round: a smoke test")
    options.add_argument("--json", default="", help="file of records to add the rows to; docs/benchmarks.json")
    options.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    chosen = options.parse_args()
    if chosen.device == "cuda":
        import compare_cuda

        sys.exit(compare_cuda.run(chosen.only, chosen.quick, chosen.json))
    status = 0
    for threads in chosen.threads.split(","):
        settings = dict.fromkeys(("LODKIT_COMPARE_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        settings |= {"OMP_WAIT_POLICY": "passive", "LODKIT_COMPARE_ONLY": chosen.only}
        settings |= {"LODKIT_COMPARE_QUICK": "1" if chosen.quick else "", "LODKIT_COMPARE_JSON": chosen.json}
        status |= subprocess.run([sys.executable, __file__], env={**os.environ, **settings}, check=False).returncode
    sys.exit(status)

import compare_arrow
import compare_attention
import compare_bags
import compare_bridge
import compare_crf
import compare_decoding
import compare_layers
import compare_many_tables
import compare_optimizers
import compare_recurrent
import compare_sequences
import compare_sequences_in
import compare_sparse
import compare_tables
import compare_torch_training
import compare_types
import numpy as np
from measuring import (
    BATCHES,
    HEIGHT,
    INNER,
    QUICK,
    THREADS,
    drawn_ids,
    fresh,
    measure,
    ratios,
    rng,
    save,
    training_steps,
)
from peers import scipy, torch

import lodkit

TRUSTED = {"check_invariants": False}


def table(width, height=HEIGHT):
    values = lodkit.empty((height, width))
    values[...] = rng.standard_normal(values.shape, dtype=np.float32)
    return values


def batches(kind, width=0, height=HEIGHT):
    """Yield bags of 20 ids on average, with flat ids, offsets, and one gradient row per id."""
    for _ in range(BATCHES):
        lengths = rng.integers(0, 41, 64 if QUICK else 4096)
        count = int(lengths.sum())
        flat = drawn_ids(kind, count, height)
        rows = rng.standard_normal((count, width), dtype=np.float32) if width else None
        yield lodkit.LoDTensor(flat, [lengths]), flat, np.concatenate([[0], np.cumsum(lengths)]), rows


def power_law(segments, rows):
    return rng.multinomial(rows, rng.dirichlet(np.full(segments, 0.5)))


#: Columns of the tables of bags; a row of 48, 96 or 100 is no power of two.
WIDTHS = (8, 64) if QUICK else (8, 16, 32, 48, 64, 96, 100, 128, 256)


def embedding_bag():
    """Compare bags over aligned tables, and NumPy's, which start 16 bytes past a cache line."""
    for width in WIDTHS:
        aligned = table(width, HEIGHT // 2)
        for what, w in (("", aligned), (", NumPy's table", np.array(aligned))):
            for kind in ("uniform", "zipf"):
                data = list(batches(kind, height=len(w)))
                _bags(w, data, f"{width} wide, {kind}{what}")
                if width == 64 and not what:
                    _bags(w, [_narrow(*batch) for batch in data], f"64 wide, {kind}, int32 ids")
    for width in (16, 64, 128):
        _bags(table(width, 3600), list(batches("uniform", height=3600)), f"of 3,600 rows of {width}")


def _narrow(bags, flat, offsets, rows):
    flat = flat.astype(np.int32)
    return bags.with_values(flat), flat, offsets.astype(np.int32), rows


def _bags(w, data, what):
    other = torch and torch.from_numpy(w)
    peers = [(torch.from_numpy(flat), torch.from_numpy(o[:-1].copy())) for _, flat, o, _ in data] if torch else []
    for pool in ("sum", "mean") if "64 wide" in what else ("sum",):
        calls = {"lodkit": lambda r, p=pool: lodkit.embedding_bag(w, data[r % BATCHES][0], pool=p)}
        if torch:
            calls["torch"] = lambda r, p=pool: torch.nn.functional.embedding_bag(
                peers[r % BATCHES][0], other, peers[r % BATCHES][1], mode=p
            )
        measure(f"embedding_bag {pool} {what}", calls)


def sequence_pool():
    rows, segments = (2000, 100) if QUICK else (2_000_000, 100_000)
    x = table(64)[:rows] if rows <= HEIGHT else np.resize(table(64), (rows, 64))
    t = lodkit.LoDTensor(x, [power_law(segments, rows)])
    offsets, out = t.row_offsets(), np.empty((segments, 64), np.float32)
    calls = {"lodkit": lambda r: lodkit.sequence_pool(t, out=out)}
    if torch:
        tx, every, starts = torch.from_numpy(x), torch.arange(rows), torch.from_numpy(offsets[:-1].copy())
        lengths = torch.from_numpy(t.lengths().copy())
        calls["torch embedding_bag"] = lambda r: torch.nn.functional.embedding_bag(every, tx, starts, mode="sum")
        calls["torch segment_reduce"] = lambda r: torch.segment_reduce(tx, "sum", lengths=lengths)
    if scipy:
        matrix = scipy.csr_array((np.ones(rows, np.float32), np.arange(rows), offsets), shape=(segments, rows))
        calls["scipy csr"] = lambda r: matrix @ x
    measure("sequence_pool sum 2M x 64", calls, x.nbytes)
    for pool in ("mean", "max", "logsumexp"):
        measure(
            f"sequence_pool {pool} 2M x 64",
            {"lodkit": lambda r, p=pool: lodkit.sequence_pool(t, pool=p, out=out)},
            x.nbytes,
        )


def one_dimension():
    """Compare sums and extremes of numbers: segments of power-law lengths, of 100 on average, and of 5 and 1,000."""
    rows = 5000 if QUICK else 5_000_000
    x = rng.standard_normal(rows, dtype=np.float32)
    cases = {"": power_law(rows // 100, rows) + 0}
    cases |= {f", segments of {length}": np.full(rows // length, length) for length in (5, 1000)}
    for kind, lengths in cases.items():
        t, segments = lodkit.LoDTensor(x, [lengths]), len(lengths)
        full = np.flatnonzero(t.lengths())
        starts = t.row_offsets()[full]
        for pool, ufunc in (("sum", np.add), ("max", np.maximum), ("min", np.minimum)):

            def reduceat(r, ufunc=ufunc, starts=starts, full=full, segments=segments):
                out = np.zeros(segments, np.float32)
                out[full] = ufunc.reduceat(x, starts)
                return out

            calls = {"lodkit": lambda r, t=t, p=pool: lodkit.sequence_pool(t, pool=p), "numpy reduceat": reduceat}
            measure(f"sequence_pool {pool} 1-D 5M{kind}", calls, x.nbytes)


def selected_rows():
    for kind in ("uniform", "zipf"):
        data = list(batches(kind, 64))
        grads = [lodkit.SelectedRows(flat, rows, HEIGHT) for _, flat, _, rows in data]
        calls = {"lodkit": lambda r: lodkit.merge_selected_rows(fresh(grads[r % BATCHES])).value}
        coo = []
        if torch:
            coo = [
                torch.sparse_coo_tensor(
                    torch.from_numpy(g.rows.copy())[None], torch.from_numpy(g.value), (HEIGHT, 64), **TRUSTED
                )
                for g in grads
            ]
            calls["torch coalesce"] = lambda r: coo[r % BATCHES].coalesce().values()
        measure(f"SelectedRows merge {kind}", calls)
        for name in ("sgd", "adagrad"):
            updates(name, kind, grads, coo)


def updates(name, kind, grads, coo):
    w = table(64)
    moment = np.zeros_like(w)
    states = (moment,) if name == "adagrad" else ()

    steps = training_steps({"lr": 0.01})

    def mine(r):
        lodkit.run(name, w, fresh(grads[r % BATCHES]), *states, **next(steps))

    calls = {"lodkit": mine}
    if torch:
        parameter = torch.nn.Parameter(torch.from_numpy(table(64)))
        optimizer = (torch.optim.SGD if name == "sgd" else torch.optim.Adagrad)([parameter], lr=0.01)

        def theirs(r):
            parameter.grad = coo[r % BATCHES]
            optimizer.step()

        calls["torch.optim"] = theirs
    measure(f"{name} SelectedRows {kind}", calls)


def small_calls():
    lengths = np.full(10, 5)
    starts = np.arange(10) * 5
    for width in (1, 16):
        x = np.ones((50, width), np.float32)[:, 0].copy() if width == 1 else np.ones((50, width), np.float32)
        t, ids, w = lodkit.LoDTensor(x, [lengths]), np.arange(50) % 7, np.ones((100, width), np.float32)
        bags = lodkit.LoDTensor(ids, [lengths])

        def reduceat(r, x=x):
            out = np.add.reduceat(x, starts)
            out[lengths == 0] = 0
            return out

        pool = {"lodkit": lambda r, t=t: lodkit.sequence_pool(t), "numpy reduceat": reduceat}
        bag = {"lodkit": lambda r, w=w, b=bags: lodkit.embedding_bag(w, b)}
        look = {"lodkit": lambda r, w=w, i=ids: lodkit.lookup_table(w, i), "numpy index": lambda r, w=w, i=ids: w[i]}
        if torch:
            tx, tw, ti, to, tl = map(torch.from_numpy, (x, w, ids, starts, lengths))
            pool["torch segment_reduce"] = lambda r, x=tx, n=tl: torch.segment_reduce(x, "sum", lengths=n)
            bag["torch"] = lambda r, w=tw, i=ti, o=to: torch.nn.functional.embedding_bag(i, w, o, mode="sum")
            look["torch"] = lambda r, w=tw, i=ti: torch.nn.functional.embedding(i, w)
        for name, calls in (("sequence_pool", pool), ("embedding_bag", bag), ("lookup_table", look)):
            measure(f"{name} 10 sequences of 5, width {width}", calls, inner=INNER)
    for name, count, attrs in (("sgd", 0, {}), ("adagrad", 1, {}), ("adam", 2, {"iteration": 9, "lazy": True})):
        small_updates(name, count, attrs)


def small_tensors():
    """Compare LoDTensors of 10 sequences with PyTorch's nested tensors, and with NumPy sequence by sequence."""
    x, y = (rng.standard_normal((50, 16), dtype=np.float32) for _ in range(2))
    t, u = (lodkit.LoDTensor(rows, [np.full(10, 5)]) for rows in (x, y))
    add, pad = {"lodkit": lambda r: (t + u).values}, {"lodkit": lambda r: t.to_padded()}
    join = {"lodkit": lambda r: lodkit.sequence_concat(t, u).values}
    cuts = [slice(start, start + 5) for start in range(0, 50, 5)]
    join["numpy concatenate"] = lambda r: np.concatenate([rows[cut] for cut in cuts for rows in (x, y)])
    take = {"lodkit": lambda r: t[[7, 1]].values}
    take["numpy concatenate"] = lambda r: np.concatenate([x[cuts[i]] for i in (7, 1)])
    if torch:
        offsets = torch.arange(0, 51, 5)
        bounds = {"min_seqlen": 5, "max_seqlen": 5}  # else it pads to the number of all rows
        a = torch.nested.nested_tensor_from_jagged(torch.from_numpy(x), offsets, **bounds)
        b = torch.nested.nested_tensor_from_jagged(torch.from_numpy(y), a.offsets(), **bounds)
        add["torch nested"] = lambda r: (a + b).values()
        pad["torch nested"] = lambda r: torch.nested.to_padded_tensor(a, 0.0)
    for name, calls in (("t + u", add), ("to_padded", pad), ("sequence_concat", join), ("t[[7, 1]]", take)):
        measure(f"{name} 10 sequences of 5, width 16", calls, inner=INNER)


def small_updates(name, count, attrs):
    p, value, rows = np.ones((100, 16), np.float32), np.ones((10, 16), np.float32), np.arange(10) * 7
    states = [np.ones_like(p) for _ in range(count)]
    grad = lodkit.SelectedRows(rows, value, 100)
    steps = training_steps({"lr": 1e-6, **attrs})

    def mine(r):
        lodkit.run(name, p, grad, *states, **next(steps))

    calls = {"lodkit": mine}
    if torch:
        parameter = torch.nn.Parameter(torch.ones(100, 16))
        parameter.grad = torch.sparse_coo_tensor(
            torch.from_numpy(rows)[None], torch.from_numpy(value), (100, 16), **TRUSTED
        )
        theirs = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.SparseAdam}
        optimizer = theirs[name]([parameter], lr=1e-6)
        calls["torch.optim"] = lambda r: optimizer.step()
    measure(f"{name} 10 rows", calls, inner=INNER)


def imports():
    def seconds(code):
        return lambda r: subprocess.run([sys.executable, "-c", code], check=True) and None

    calls = {"numpy, lodkit": seconds("import numpy, lodkit"), "numpy": seconds("import numpy")}
    measure("import", calls)


GROUPS = (
    embedding_bag,
    sequence_pool,
    one_dimension,
    selected_rows,
    *compare_sparse.GROUPS,
    *compare_sequences.GROUPS,
    *compare_tables.GROUPS,
    *compare_optimizers.GROUPS,
    *compare_arrow.GROUPS,
    *compare_bags.GROUPS,
    *compare_many_tables.GROUPS,
    *compare_sequences_in.GROUPS,
    *compare_attention.GROUPS,
    *compare_crf.GROUPS,
    *compare_decoding.GROUPS,
    *compare_layers.GROUPS,
    *compare_recurrent.GROUPS,
    *compare_bridge.GROUPS,
    *compare_torch_training.GROUPS,
    *compare_types.GROUPS,
    small_calls,
    small_tensors,
    imports,
)


def run():
    if torch:
        torch.set_num_threads(THREADS)
    versions = f"numpy {np.__version__}, lodkit {lodkit.__version__}" + (
        f", torch {torch.__version__}" if torch else ""
    )
    print(f"{THREADS} thread(s); {versions}")
    for group in GROUPS:
        if re.search(os.environ.get("LODKIT_COMPARE_ONLY", ""), group.__name__):
            group()
    if os.environ.get("LODKIT_COMPARE_JSON"):
        save(os.environ["LODKIT_COMPARE_JSON"])
    bags = [r for name, r in ratios.items() if name.startswith("embedding_bag sum") and "wide" in name]
    if bags:
        print(f"  embedding_bag, geometric mean over the best peer: {np.exp(np.mean(np.log(bags))):.2f}")


if __name__ == "__main__":
    run()
