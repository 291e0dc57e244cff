"""Tensors whose storage was freed or resized since they were made, as FSDP does: an error wherever one is read."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows

torch = pytest.importorskip("torch")
from lodkit.interop import torch as bridge  # noqa: E402
from lodkit.interop.torch import EmbeddingBag, optim  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")

IDS, OFFSETS = torch.tensor([1, 2]), torch.tensor([0])


def freed(*shape, dtype=torch.float32, left=0):
    """A tensor whose storage has some bytes left."""
    x = torch.ones(shape, dtype=dtype)
    x.untyped_storage().resize_(left)
    return x


def part(of):
    """A part of a tensor whose storage was halved: as many bytes as the part has, but elsewhere."""
    whole = torch.ones(2000)
    x = of(whole)
    whole.untyped_storage().resize_(4000)
    return x


def bag(dtype=torch.float32, **settings):
    made = EmbeddingBag(1000, 8, dtype=dtype, **{"mode": "sum", **settings})
    made.weight.data.untyped_storage().resize_(0)
    return made


def fused_step():
    """A dense gradient beside bags, freed before the step."""
    made, dense = EmbeddingBag(1000, 8, mode="sum", fused=True), torch.ones(1000, 8)
    made(IDS, OFFSETS).sum().backward()
    made.weight.grad.add_(dense)
    dense.untyped_storage().resize_(0)
    optim.SGD(made.parameters(), lr=1.0).step()


def backward_of(dtype):
    """What backward reads of an input, freed since; of a type that NumPy shares it cannot be."""
    x = torch.ones(1000, dtype=dtype, requires_grad=True)
    y = bridge.tanh(bridge.sigmoid(x))
    y.backward(freed(1000, dtype=dtype))


def lod(x, *lengths):
    return LoDTensor(x, [[*lengths]])


def rows(count=3):
    return SelectedRows(np.arange(count), freed(count, 2), count)


READS = {
    "relu": lambda: lodkit.relu(freed(1000)),
    "relu, 8 bytes left": lambda: lodkit.relu(freed(1000, left=8)),
    "relu, of the second half": lambda: lodkit.relu(part(lambda x: x[1000:])),
    "relu, of each second": lambda: lodkit.relu(part(lambda x: x[::2])),
    "out": lambda: lodkit.relu(torch.ones(1000), out=freed(1000)),
    "lookup_table": lambda: lodkit.lookup_table(torch.ones(9, 2), freed(1000, dtype=torch.int64)),
    "autograd": lambda: bridge.relu(freed(1000)),
    "autograd, bfloat16": lambda: bridge.relu(freed(1000, dtype=torch.bfloat16)),
    "autograd, recorded": lambda: bridge.fc(torch.ones(1, 1000, requires_grad=True), freed(1000, 2)),
    "autograd, backward": lambda: backward_of(torch.float32),
    "autograd, backward, bfloat16": lambda: backward_of(torch.bfloat16),
    "EmbeddingBag": lambda: bag()(IDS, OFFSETS),
    "EmbeddingBag, bfloat16": lambda: bag(torch.bfloat16)(IDS, OFFSETS),
    "EmbeddingBag, mean": lambda: bag(mode="mean").requires_grad_(False)(IDS, OFFSETS),
    "EmbeddingBag, max_norm": lambda: bag(max_norm=1.0)(IDS, OFFSETS),
    "EmbeddingBag, ids": lambda: EmbeddingBag(9, 2)(freed(1000, dtype=torch.int64), OFFSETS),
    "EmbeddingBag, offsets": lambda: EmbeddingBag(9, 2)(IDS, freed(1000, dtype=torch.int64)),
    "EmbeddingBag, weights": lambda: EmbeddingBag(9, 2, mode="sum")(IDS, OFFSETS, freed(2)),
    "EmbeddingBag, backward": lambda: EmbeddingBag(9, 2)(IDS, OFFSETS).backward(freed(1, 2)),
    "EmbeddingBag, fused": fused_step,
    "collate": lambda: bridge.collate([torch.ones(3), freed(1000)]),
    "ragged": lambda: bridge.ragged(torch.ones(3), freed(1000, dtype=torch.int64)),
    "from_sequences": lambda: LoDTensor.from_sequences([torch.ones(3), freed(100_000)]),
    "from_nested": lambda: LoDTensor.from_nested([freed(100_000), torch.ones(3)]),
    "concat": lambda: lodkit.concat([lod(freed(100_000), 100_000)] * 2),
    "astype": lambda: lod(freed(100_000), 100_000).astype("float64"),
    "copy": lambda: lod(freed(100_000), 100_000).copy(),
    "index": lambda: lod(freed(1000), 500, 500)[0],
    "slice": lambda: lod(freed(1000), 500, 500)[1:],
    "plus": lambda: lod(freed(1000), 500, 500) + 1,
    "keyed": lambda: bridge.keyed({"a": lod(freed(100_000), 100_000)}),
    "to_torch": lambda: lod(freed(1000), 1000).to_torch(),
    "DLPack": lambda: np.from_dlpack(LoDTensor(freed(1000))),
    "save": lambda: lodkit.save("never-written.npz", {"x": freed(10)}),
    "save, bfloat16": lambda: lodkit.save("never-written.npz", {"x": freed(10, dtype=torch.bfloat16)}),
    "rows, times": lambda: rows(100_000) * 2,
    "rows, minus": lambda: -rows(100_000),
    "rows, merge": lambda: rows().merge(),
    "rows, to_torch": lambda: rows().to_torch(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_freed_storage_is_not_read(read):
    with pytest.raises(lodkit.LodkitError, match=r"needs [0-9]+ bytes, its storage has [0-9]+ now"):
        read()


def test_the_error_names_the_input_and_the_way_back():
    table = freed(9, 2)
    with pytest.raises(lodkit.LodkitError, match=r"^lookup_table: table of shape \(9, 2\) needs 72 bytes") as caught:
        bridge.lookup_table(table, torch.tensor([8]))
    assert "tensor.untyped_storage().resize_(72)" in str(caught.value)
    table.untyped_storage().resize_(72)
    assert bridge.lookup_table(table.fill_(3), torch.tensor([8])).tolist() == [[3, 3]]


@pytest.mark.parametrize("of", ["parameter", "gradient", "indices"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam"])
def test_a_step_reads_and_writes_no_freed_storage(name, dtype, layout, of):
    """No step is lost, and nothing is written to a parameter beside the one that is freed."""
    made = [torch.nn.Parameter(torch.ones(1000, 8, dtype=dtype)) for _ in range(2)]
    for param in made:
        param.grad = torch.ones(1000, 8, dtype=dtype)
        if layout == "sparse":
            ids, values = torch.arange(500)[None], torch.ones(500, 8, dtype=dtype)
            param.grad = torch.sparse_coo_tensor(ids, values, (1000, 8), check_invariants=False)
    grad = made[1].grad
    if layout == "sparse":
        grad = grad._indices() if of == "indices" else grad._values()
    (made[1].data if of == "parameter" else grad).untyped_storage().resize_(0)
    with pytest.raises(lodkit.LodkitError, match=r"needs [0-9]+ bytes"):
        getattr(optim, name)(made, lr=1.0).step()
    assert (made[0] == 1).all()


def resized(x, lengths=(2, 2)):
    """A LoDTensor whose values were cut to one row since."""
    t = LoDTensor(x, [[*lengths]])
    t.values.resize_(1, *x.shape[1:]) if isinstance(x, torch.Tensor) else t.values.resize(1, refcheck=False)
    return t


STRUCTURES = {
    "to_torch": lambda: resized(torch.ones(4)).to_torch(),
    "keyed": lambda: bridge.keyed({"a": resized(torch.ones(4))}),
    "relu": lambda: bridge.relu(resized(torch.ones(4))),
    "SequencePool": lambda: bridge.SequencePool()(resized(torch.ones(4))),
    "EmbeddingBag": lambda: EmbeddingBag(9, 2)(resized(torch.arange(4))),
    "EmbeddingBag of arrays": lambda: EmbeddingBag(9, 2)(resized(np.arange(4))),
    "EmbeddingBag, weights": lambda: EmbeddingBag(9, 2, mode="sum")(
        LoDTensor(torch.arange(4), [[2, 2]]), None, resized(torch.ones(4))
    ),
    "copy": lambda: resized(torch.ones(4)).copy(),
}


@pytest.mark.parametrize("read", STRUCTURES.values(), ids=STRUCTURES)
def test_a_structure_of_more_rows_than_there_are_now_is_not_read(read):
    with pytest.raises(lodkit.LoDError, match="was cut into 4 rows, its values have 1 now"):
        read()


def test_rows_of_a_table_that_are_no_more():
    s = SelectedRows([0, 1, 2], torch.ones(3, 2), 5)
    s.value.resize_(1, 2)
    for read in (s.to_torch, lambda: s * 2, lambda: -s):
        with pytest.raises(lodkit.LoDError, match="lists 3 rows, its value has 1 now"):
            read()


@pytest.mark.parametrize("show", [repr, str, lambda x: x._repr_html_()])
@pytest.mark.parametrize("of", [lambda x: lod(x, 4, 6), lambda x: SelectedRows(range(10), x, 20)])
def test_nothing_is_shown_of_a_freed_storage(show, of):
    x = of(values := torch.ones(10, 2))
    values.untyped_storage().resize_(0)
    with pytest.raises(lodkit.LodkitError, match=r"values? of shape \(10, 2\) needs 80 bytes, its storage has 0 now"):
        show(x)


def test_a_gradient_that_was_resized_is_refused():
    param = torch.nn.Parameter(torch.ones(3, 2))
    param.grad = torch.ones(3, 2)
    param.grad.resize_(2)
    with pytest.raises(lodkit.ShapeMismatchError, match=r"the gradient of .* has shape \(2,\), its parameter \(3, 2\)"):
        optim.SGD([param], lr=1.0).step()
    assert param.detach().eq(1).all()


def test_values_that_have_no_rows_any_more_are_refused_by_planned_calls():
    t, s = LoDTensor(torch.ones(1), [[1]]), SelectedRows([0], torch.ones(1), 3)
    for _ in range(3):
        lodkit.relu(t), s.to_dense()
    t.values.resize_(())
    s.value.resize_(())
    for call in (lambda: lodkit.relu(t), s.to_dense):
        with pytest.raises(lodkit.LoDError, match=r"ha(s|ve) shape \(\) now; make it anew"):
            call()
