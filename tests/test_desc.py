"""VarDesc and its wire form, held against protobuf with descriptors built at run time."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc, VarType
from lodkit.registry.desc import DescError


def test_descriptions_of_values():
    f = np.float32
    lod = VarDesc.of(LoDTensor(np.zeros((6, 4), f), [[1, 1], [4, 2]]), "words")
    assert lod == VarDesc("words", VarType.LOD_TENSOR, f, (6, 4), 2)
    rows = VarDesc.of(SelectedRows([73, 84], np.zeros((2, 3), f), 100))
    assert rows == VarDesc("", VarType.SELECTED_ROWS, f, (100, 3))
    assert VarDesc.of([[1, 2]]) == VarDesc("", VarType.LOD_TENSOR, np.int64, (1, 2))
    assert VarDesc.of(2.5) == VarDesc.of(np.float64(2)) == VarDesc("", VarType.LOD_TENSOR, "f8", ())
    assert VarDesc.of(np.zeros(3, ">f4")) == VarDesc.of(np.zeros(3, f))
    assert VarDesc.of(None) is None
    with pytest.raises(DescError, match="without values"):
        VarDesc.of(LoDTensor(None, [[1, 2]]))


class CudaArray:
    """What a PyTorch tensor on a GPU shows: a dtype that NumPy does not know, and the CUDA interface."""

    shape, dtype, device = (2, 3), "torch.float16", object()

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<f2", "data": (0, False), "version": 3}


def test_descriptions_of_other_libraries_arrays():
    assert VarDesc.of(CudaArray()) == VarDesc("", VarType.LOD_TENSOR, np.float16, (2, 3))
    on_cpu = type("Tensor", (), {"shape": (2, 3), "dtype": "torch.float16"})()
    with pytest.raises(TypeError, match="got Tensor; pass a NumPy array"):
        VarDesc.of(on_cpu)


def test_unknown_batch():
    x = VarDesc("x", VarType.LOD_TENSOR, "f4", (6, 4), 1)
    assert x.unknown_batch() == x.but(dims=(-1, 4))
    for same in (x.but(persistable=True), x.but(dims=()), x.but(type=VarType.SELECTED_ROWS, lod_level=0)):
        assert same.unknown_batch() is same


def test_covers():
    x = VarDesc("x", VarType.LOD_TENSOR, "f4", (-1, 4), 1)
    assert x.covers(x)
    assert x.covers(VarDesc("y", 0, "f4", (7, 4), 1, persistable=True))
    assert not x.but(dims=(7, 4)).covers(x)
    others = [{"dims": (7, 5)}, {"dims": (7,)}, {"dims": (7, 4, 1)}, {"dtype": "f8"}, {"lod_level": 0}]
    for changes in (*others, {"type": VarType.SELECTED_ROWS, "lod_level": 0}):
        assert not x.covers(x.but(**changes))


def test_descriptions_are_values():
    a, b = (VarDesc("x", 0, np.dtype(t), [np.int64(2), 3]) for t in ("<f4", ">f4"))
    assert a == b
    assert hash(a) == hash(b)
    assert a.type is VarType.LOD_TENSOR
    assert a.dims == (2, 3)
    with pytest.raises(AttributeError):
        a.name = "y"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dims": (-2,)}, r"dims \(-2,\)"),
        ({"dims": (1 << 63,)}, "outside"),
        ({"lod_level": -1}, "lod_level -1"),
        ({"lod_level": 1 << 31}, "lod_level 2147483648"),
        ({"type": VarType.SELECTED_ROWS, "lod_level": 1}, "no levels"),
        ({"type": 7}, "7"),
    ],
)
def test_contradictions_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        VarDesc("x", VarType.LOD_TENSOR, "f4", (1,)).but(**changes)


def test_an_operator_gets_its_description_back():
    from lodkit import lookup_table_grad

    table, ids, grad = np.zeros((100, 2)), np.array([73, 84]), np.ones((2, 2))
    promise = lookup_table_grad.infer(*(VarDesc.of(x).unknown_batch() for x in (table, ids, grad)))
    assert promise.type is VarType.SELECTED_ROWS
    assert promise.covers(VarDesc.of(lookup_table_grad(table, ids, grad)))


def test_infer_refuses_what_is_missing():
    """None stands for optional inputs only; no result is left out because of one."""
    x, ids = VarDesc.of(np.ones((3, 2))), VarDesc.of(LoDTensor([0, 1], [[2]]))
    assert lodkit.embedding_bag.infer(x, ids, None).dims == (1, 2)
    assert lodkit.embedding_bag.infer(x, ids.unknown_batch(), None).dims == (-1, 2)
    for name, descs in (("adagrad", (None, x, x)), ("gather_ranges_grad", (None, x, x)), ("sum", (x, None))):
        attrs = {"lr": 1.0} if name == "adagrad" else {}
        with pytest.raises(TypeError, match=f"{name}.infer: .* must be a VarDesc, got NoneType"):
            lodkit.OPS[name].infer(*descs, **attrs)
    with pytest.raises(lodkit.LoDLevelError, match="level -1 does not exist"):
        lodkit.sequence_pad_grad.infer(x, x)


def test_arrays_of_tensors_and_rank_tables_are_described():
    rows, more = np.zeros((3, 2), "f4"), np.zeros((1, 2), "f4")
    array = VarDesc("", VarType.LOD_TENSOR_ARRAY, "f4", (-1, 2))
    assert VarDesc.of([rows, more]) == VarDesc.of((rows, more)) == array
    assert VarDesc.of([rows]) == array.but(dims=(3, 2))
    sequences = [LoDTensor(x, [[len(x)]]) for x in (rows, more)]
    assert VarDesc.of(sequences, "a") == array.but(lod_level=1, name="a")
    table = lodkit.lod_rank_table(LoDTensor(rows, [[2], [1, 2]]), level=1)
    assert VarDesc.of(table) == VarDesc("", VarType.LOD_RANK_TABLE, np.int64, (2, 2), 1)
    for other in (more.astype("f8"), more[:, 0], sequences[0]):
        with pytest.raises(DescError, match=r"element 1 of an array has .*; all of an array are alike"):
            VarDesc.of([rows, other])
