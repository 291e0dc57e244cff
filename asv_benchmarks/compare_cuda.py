"""Compare lodkit with PyTorch and CuPy on a GPU: ``python asv_benchmarks/compare.py --device cuda``.

Arrays are PyTorch's. Times are minima of several rounds of many calls between two events, interleaved, over rotating
batches: what a call takes where many follow each other, on the host or on the GPU, whichever takes longer. The share is
the minimal traffic relative to the bandwidth of a device-to-device copy: above 1 the L2 cache helps. The grid of
embedding_bag is cuEmbed's.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
    import cupyx.scipy.sparse
except ImportError:
    cupy = None

import one_block
from measuring_cuda import BATCHES, agree, measure, measured, ratio_of, save, settings

import lodkit
from lodkit import LoDTensor

rng = np.random.default_rng(0)


@contextlib.contextmanager
def deferred():
    """A context in which ids are checked without waiting."""
    before = lodkit.bounds_check()
    lodkit.bounds_check("defer")
    try:
        yield
    finally:
        lodkit.bounds_check(before)


def numbers(rows, count, alpha):
    """Draw ``count`` ids below ``rows``: uniform for alpha 0, else from a power law, scattered over the table."""
    if not alpha:
        return torch.randint(0, rows, (count,), device="cuda")
    uniform = torch.rand(count, dtype=torch.float64, device="cuda")
    ranks = ((rows ** (1 - alpha) - 1) * uniform + 1) ** (1 / (1 - alpha))
    return ranks.long() * 2_654_435_761 % rows


def bags(rows, batch, hotness, alpha):
    """Make rotating batches of ids, as LoDTensors and as torch's inputs."""
    offsets = torch.arange(batch, device="cuda") * hotness
    made = []
    for _ in range(BATCHES):
        ids = numbers(rows, batch * hotness, alpha)
        made.append((LoDTensor(ids, [np.full(batch, hotness)]), ids, offsets))
    return made


#: cuEmbed's grid: rows, width, bags, ids per bag, exponent of the ids' power law; and 1M rows with bags of 20.
GRID = (
    *itertools.product((1_000_000, 10_000_000), (32, 128), (1024, 16_384, 131_072), (1, 16, 64), (0, 1.05)),
    *itertools.product((1_000_000,), (64, 128), (4096,), (20,), (0, 1.05)),
)


def cells(grid):
    """Yield the name, the table, the batches and their size of every cell; cells of one table share it."""
    table = None
    for rows, width, batch, hotness, alpha in grid:
        rows, batch = rows // settings.scale, batch // settings.scale
        if table is None or table.shape != (rows, width):
            table = None  # freed before the next is made
            table = torch.randn(rows, width, device="cuda")
        name = f"{rows} x {width} batch {batch} hotness {hotness} alpha {alpha}"
        yield name, table, bags(rows, batch, hotness, alpha), batch, hotness


def embedding_bag():
    """Compare sums of bags."""
    for name, table, data, batch, hotness in cells(GRID):
        width = table.shape[1]

        def later(r, d=data, t=table):
            with deferred():
                return lodkit.embedding_bag(t, d[r][0])

        calls = {
            "lodkit": lambda r, d=data, t=table: lodkit.embedding_bag(t, d[r][0]),
            "lodkit, checks deferred": later,
            "torch": lambda r, d=data, t=table: torch.nn.functional.embedding_bag(d[r][1], t, d[r][2], mode="sum"),
        }
        measure(f"embedding_bag {name}", calls, batch * hotness * (width * 4 + 8) + batch * width * 4)


def backward():
    """Compare the sparse gradient of a table and its update by SGD, on some of the grid."""
    for name, table, data, batch, _ in cells(g for g in GRID if g[2] in (4096, 16_384) and g[3] > 1 and g[4] < 1.1):
        update_by_bags(f"embedding_bag backward and sgd {name}", table, data, batch)


def update_by_bags(name, table, data, batch):
    width, count = table.shape[1], len(data[0][1])
    grad = torch.randn(batch, width, device="cuda")
    parameter = torch.nn.Parameter(table)
    optimizer = torch.optim.SGD([parameter], lr=0.0)

    def gradient(r):
        return lodkit.embedding_bag_grad(table, data[r][0], grad)

    def torchs_gradient(r):
        out = torch.nn.functional.embedding_bag(data[r][1], parameter, data[r][2], mode="sum", sparse=True)
        parameter.grad = None
        out.backward(grad)
        return parameter.grad

    def mine(r):
        with deferred():
            lodkit.sgd(table, gradient(r), lr=0.0)

    def in_one_pass(r):
        with deferred():
            lodkit.embedding_bag_sgd(table, data[r][0], grad, lr=0.0)

    def torchs(r):
        torchs_gradient(r)
        optimizer.step()

    agree([gradient(0).merge().value, torchs_gradient(0).coalesce().values()])
    unique = len(torch.unique(data[0][1]))
    calls = {"lodkit": in_one_pass, "lodkit gradient, update": mine, "torch": torchs}
    measure(name, calls, count * (width * 4 + 8) + 2 * unique * width * 4)


def sequence_pool():
    """Compare on nonempty segments of power-law lengths."""
    rows, segments = 2_000_000 // settings.scale, 100_000 // settings.scale
    lengths = 1 + rng.multinomial(rows - segments, rng.dirichlet(np.full(segments, 0.5)))
    x = torch.randn(rows, 64, device="cuda")
    t, device_lengths = LoDTensor(x, [lengths]), torch.from_numpy(lengths).cuda()
    traffic = (rows + segments) * 64 * 4
    ids = torch.repeat_interleave(torch.arange(segments, device="cuda"), device_lengths)
    calls = {
        "lodkit": lambda r: lodkit.sequence_pool(t),
        "torch segment_reduce": lambda r: torch.segment_reduce(x, "sum", lengths=device_lengths, initial=0),
        "torch index_add": lambda r: torch.zeros(segments, 64, device="cuda").index_add_(0, ids, x),
    }
    if cupy:
        ones, every = cupy.ones(rows, np.float32), cupy.arange(rows, dtype=np.int32)
        starts = cupy.asarray(t.row_offsets(), dtype=np.int32)
        matrix = cupyx.scipy.sparse.csr_matrix((ones, every, starts), shape=(segments, rows))
        calls["cupy csr"] = lambda r: torch.as_tensor(matrix @ cupy.asarray(x), device="cuda")
    measure(f"sequence_pool sum {rows} x 64", calls, traffic)
    for pool in ("mean", "max", "logsumexp"):
        calls = {"lodkit": lambda r, p=pool: lodkit.sequence_pool(t, pool=p)}
        measure(f"sequence_pool {pool} {rows} x 64", calls, traffic)
    offsets = torch.from_numpy(t.row_offsets().copy()).cuda()
    calls = {
        "lodkit": lambda r: lodkit.sequence_pool(t, pool="max", return_index=True)[0],
        "one block a sequence": lambda r: one_block.largest(x, offsets)[0],
    }
    measure(f"sequence_pool max with index {rows} x 64", calls, traffic)


def sequences():
    """Compare softmax, reversal, padding and look-up."""
    rows, segments = 2_000_000 // settings.scale, 100_000 // settings.scale
    lengths = 1 + rng.multinomial(rows - segments, rng.dirichlet(np.full(segments, 0.5)))
    there, x = torch.from_numpy(lengths).cuda(), torch.randn(rows, device="cuda")
    ids = torch.repeat_interleave(torch.arange(segments, device="cuda"), there)
    t = LoDTensor(x, [lengths])

    def torchs_softmax(r):
        shares = (x - torch.segment_reduce(x, "max", lengths=there)[ids]).exp()
        return shares / torch.segment_reduce(shares, "sum", lengths=there)[ids]

    calls = {"lodkit": lambda r: lodkit.sequence_softmax(t).values, "torch segment_reduce, gather": torchs_softmax}
    measure(f"sequence_softmax {rows}", calls, 2 * rows * 4)
    wide, starts = torch.randn(rows, 64, device="cuda"), torch.from_numpy(t.row_offsets().copy()).cuda()
    w, backwards = t.with_values(wide), (starts[1:] + starts[:-1])[ids] - 1 - torch.arange(rows, device="cuda")
    calls = {"lodkit": lambda r: lodkit.sequence_reverse(w).values, "torch index_select": lambda r: wide[backwards]}
    measure(f"sequence_reverse {rows} x 64", calls, 2 * rows * 64 * 4)
    most, padded = int(lengths.max()), torch.ops.aten._jagged_to_padded_dense_forward
    calls = {
        "lodkit": lambda r: lodkit.sequence_pad(t, 0.0)[0],
        "torch jagged_to_padded": lambda r: padded(x[:, None], [starts], [most], 0.0)[:, :, 0],
    }
    measure(f"sequence_pad {rows}", calls, (rows + segments * most) * 4)
    table = torch.randn(1_000_000 // settings.scale, 64, device="cuda")
    some = numbers(len(table), 82_000 // settings.scale, 0)
    calls = {"lodkit": lambda r: lodkit.lookup_table(table, some), "torch": lambda r: table[some]}
    measure(f"lookup_table {len(some)} x 64", calls, len(some) * (2 * 64 * 4 + 8))


def selected_rows():
    """Compare merging and applying a gradient of 82k rows, whose order is found in the call."""
    height, count = 1_000_000 // settings.scale, 82_000 // settings.scale
    for alpha in (0, 1.05):
        ids = numbers(height, count, alpha)
        value = torch.randn(count, 64, device="cuda")
        grad = lodkit.SelectedRows(ids, value, height)
        coo = torch.sparse_coo_tensor(ids[None], value, (height, 64), check_invariants=False)
        traffic = 2 * value.numel() * 4
        calls = {
            "lodkit": lambda r, g=grad: lodkit.merge_selected_rows(fresh(g)).value,
            "torch coalesce": lambda r, c=coo: c.clone().coalesce().values(),
        }
        measure(f"SelectedRows merge alpha {alpha}", calls, traffic)
        for name in ("sgd", "adagrad"):
            update(name, alpha, grad, coo, traffic)


def fresh(grad):
    """The gradient as a batch's is, the order of whose rows nobody knows yet."""
    return lodkit.SelectedRows._wrap(grad.rows, grad.value, grad.height)


def update(name, alpha, grad, coo, traffic):
    table = torch.ones(coo.shape, device="cuda")
    states = (torch.zeros_like(table),) if name == "adagrad" else ()
    parameter = torch.nn.Parameter(table.clone())
    parameter.grad = coo
    optimizer = (torch.optim.SGD if name == "sgd" else torch.optim.Adagrad)([parameter], lr=0.01)
    settings = {"epsilon": 1e-10} if name == "adagrad" else {}

    def mine(r):
        lodkit.run(name, table, fresh(grad), *states, lr=0.01, **settings)

    mine(0), optimizer.step()
    agree([table, parameter.detach()])
    calls = {"lodkit": mine, "torch.optim": lambda r: optimizer.step()}
    measure(f"{name} SelectedRows alpha {alpha}", calls, traffic)


def run(only="", quick=False, records=""):
    if torch is None or not torch.cuda.is_available():
        print("compare.py --device cuda needs PyTorch and a GPU", file=sys.stderr)
        return 2
    if quick:
        settings.rounds, settings.long, settings.scale = 1, 0.0, 512
    name, other = torch.cuda.get_device_name(), f", cupy {cupy.__version__}" if cupy else ""
    print(f"{name}; numpy {np.__version__}, lodkit {lodkit.__version__}, torch {torch.__version__}{other}")
    for group in (sequence_pool, sequences, selected_rows, embedding_bag, backward):
        if re.search(only, group.__name__):
            group()
            if records and measured:
                save(records)
    cells = [row for row in measured if re.match(r"embedding_bag \d", row["name"])]
    for mine in ("lodkit", "lodkit, checks deferred") if cells else ():
        mean = np.exp(np.mean(np.log([ratio_of(row, mine) for row in cells])))
        print(f"embedding_bag, {mine}, geometric mean over the best peer: {mean:.2f}")
    return 0
