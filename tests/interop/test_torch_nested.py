"""LoDTensors from and to nested tensors, JaggedTensors and RaggedTensors; batches for a DataLoader."""

from __future__ import annotations

import collections
import gc
import inspect
import subprocess
import sys

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
bridge = pytest.importorskip("lodkit.interop.torch")

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")


def nested(*lengths, width=2):
    return torch.nested.nested_tensor([torch.randn(n, width) for n in lengths], layout=torch.jagged)


def test_nested_tensors_without_a_copy():
    nt = nested(3, 0, 1)
    t = LoDTensor.from_torch(nt)
    assert t.values.data_ptr() == nt.values().data_ptr()
    assert t.lod() == [[0, 3, 3, 4]]
    back = t.to_torch()
    assert back.values().data_ptr() == t.values.data_ptr()
    assert back.offsets().tolist() == [0, 3, 3, 4]
    back.offsets()[1] = 0  # its own copy
    assert t.lod() == [[0, 3, 3, 4]]


def test_arrays_become_nested_tensors():
    t = LoDTensor(np.arange(3.0), [[1, 2]])
    nt = t.to_torch()
    assert [x.tolist() for x in nt.unbind()] == [[0.0], [1.0, 2.0]]
    t.values[0] = 5
    assert nt.values()[0] == 5
    assert isinstance(LoDTensor(np.arange(3.0)).to_torch(), torch.Tensor)


def test_gradients_flow_through_nested_tensors():
    leaf = nested(2, 1).requires_grad_()
    bridge.sequence_pool(leaf).sum().backward()
    np.testing.assert_array_equal(leaf.grad.values().numpy(), np.ones((3, 2)))
    x = bridge.ragged(torch.ones(3, 2, requires_grad=True), [2, 1])
    (x.to_torch() * 2).values().sum().backward()
    np.testing.assert_array_equal(x.values.grad.numpy(), np.full((3, 2), 2.0))


def test_what_from_torch_refuses():
    with pytest.raises(TypeError, match=r"got list; pass LoDTensor\.from_nested\(x\)$"):
        LoDTensor.from_torch([torch.ones(2)])
    with pytest.raises(TypeError, match=r"got ndarray; pass LoDTensor\(np\.asarray\(x\), \[lengths\]\)$"):
        LoDTensor.from_torch(np.ones(2))
    holes = torch.nested.nested_tensor_from_jagged(
        torch.ones(5, 2), torch.tensor([0, 3, 5]), lengths=torch.tensor([1, 2])
    )
    with pytest.raises(lodkit.LoDError, match="holes"):
        LoDTensor.from_torch(holes)
    with pytest.raises(lodkit.LoDError, match="dimension 2"):
        LoDTensor.from_torch(nested(2, 1).transpose(1, 2))
    with pytest.raises(TypeError, match=r"layout torch.jagged, got torch.strided; give lengths"):
        LoDTensor.from_torch(torch.ones(3))
    with pytest.raises(TypeError, match="got list"):
        LoDTensor.from_torch([[1]])
    with pytest.raises(lodkit.LoDLevelError, match="2; give its innermost"):
        LoDTensor(torch.ones(3).numpy(), [[1, 1], [1, 2]]).to_torch()


class Jagged:
    """As TorchRec's JaggedTensor, with its arguments in its order."""

    def __init__(self, values, weights=None, lengths=None, offsets=None):
        self._values, self._weights = values, weights
        self._lengths = offsets.diff() if lengths is None else lengths

    def values(self):
        return self._values

    def lengths(self):
        return self._lengths

    def weights_or_none(self):
        return self._weights


class Keyed(Jagged):
    """As TorchRec's KeyedJaggedTensor, with its arguments in its order."""

    def __init__(
        self, keys, values, weights=None, lengths=None, offsets=None, stride=None, stride_per_key_per_rank=None
    ):
        super().__init__(values, weights, lengths, offsets)
        self._keys, self._stride, self._strides = keys, stride, stride_per_key_per_rank

    @staticmethod
    def empty():
        return Keyed([], torch.empty(0), lengths=torch.empty(0, dtype=torch.int32))

    def keys(self):
        return self._keys

    def stride_per_key(self):
        if self._strides is not None:
            return [sum(sizes) for sizes in self._strides]
        return [len(self._lengths) // max(len(self._keys), 1)] * len(self._keys)


@pytest.fixture(params=["of the same signature", "torchrec"])
def kinds(request):
    """JaggedTensor and KeyedJaggedTensor: TorchRec's where it is installed, and what is like them."""
    if request.param != "torchrec":
        return Jagged, Keyed
    torchrec = pytest.importorskip("torchrec")
    return torchrec.JaggedTensor, torchrec.KeyedJaggedTensor


def test_the_likes_of_torchrec_have_its_arguments():
    torchrec = pytest.importorskip("torchrec")
    for like, kind in ((Jagged, torchrec.JaggedTensor), (Keyed, torchrec.KeyedJaggedTensor)):
        names = [*inspect.signature(like).parameters]
        assert [*inspect.signature(kind.__init__).parameters][1 : len(names) + 1] == names


def test_values_that_no_length_counts_are_not_lost():
    with pytest.raises(lodkit.LoDError, match="add up to 4, and there are 6 values"):
        LoDTensor.from_torch(Keyed(["a", "b"], torch.arange(6), lengths=torch.tensor([1, 1, 1, 1])))


def test_a_batch_of_its_own_per_key(kinds):
    lengths = torch.tensor([2, 0, 1, 1, 1, 3])
    given = kinds[1](["a", "b"], torch.arange(8), lengths=lengths, stride_per_key_per_rank=[[2], [4]])
    found = LoDTensor.from_torch(given)
    assert {key: t.to_list() for key, t in found.items()} == {"a": [[0, 1], []], "b": [[2], [3], [4], [5, 6, 7]]}
    back = kinds[1](*bridge.keyed(found))
    assert list(back.stride_per_key()) == [2, 4]
    assert {key: t.lod() for key, t in LoDTensor.from_torch(back).items()} == {k: t.lod() for k, t in found.items()}
    with pytest.raises(lodkit.LoDError, match=r"6 lengths for 2 keys, whose batches are \[2, 3\]"):
        LoDTensor.from_torch(Keyed(["a", "b"], torch.arange(8), lengths=lengths, stride_per_key_per_rank=[[2], [3]]))


@pytest.mark.parametrize("strides", [None, [[1], [3]]])
def test_weights_go_both_ways(kinds, strides):
    values, weights, lengths = torch.arange(6), torch.rand(6), torch.tensor([2, 0, 1, 3])
    given = kinds[1](["a", "b"], values, weights, lengths, stride_per_key_per_rank=strides)
    with pytest.raises(lodkit.LoDError, match="has weights: take them too"):
        LoDTensor.from_torch(given)
    assert LoDTensor.from_torch(given, weights=False)["b"].values.tolist() == values[2:].tolist()
    ids, factors = LoDTensor.from_torch(given, weights=True)
    assert all(factors[key].same_lod(ids[key]) for key in "ab")
    assert torch.equal(torch.cat([factors[key].values for key in "ab"]), weights)
    back = kinds[1](*bridge.keyed(ids, factors))
    for method in ("values", "weights_or_none", "lengths"):
        assert torch.equal(getattr(back, method)(), getattr(given, method)())
    bag = bridge.EmbeddingBag(6, 2, mode="sum")
    expected = torch.nn.EmbeddingBag(6, 2, mode="sum", _weight=bag.weight)
    offsets = torch.tensor(ids["b"].lod()[0][:-1])
    torch.testing.assert_close(
        bag(ids["b"], None, factors["b"]), expected(ids["b"].values, offsets, factors["b"].values)
    )
    jagged = kinds[0](values, weights, lengths)
    t, factor = LoDTensor.from_torch(jagged, weights=True)
    assert factor.values is weights and factor.same_lod(t)
    assert LoDTensor.from_torch(kinds[0](values, lengths=lengths), weights=True)[1] is None
    with pytest.raises(lodkit.LoDMismatchError, match=r"weights\['a'\]"):
        bridge.keyed(ids, {"b": factors["b"]})


def test_keys_that_repeat(kinds):
    given = kinds[1](["a", "b", "a"], torch.arange(6), lengths=torch.tensor([2, 1, 3]))
    with pytest.raises(lodkit.LoDError, match=r"'a' stands at \[0, 2\]"):
        LoDTensor.from_torch(given)
    again = [[n] for n in given.stride_per_key()]
    apart = kinds[1](
        ["a", "b", "c"], given.values(), given.weights_or_none(), given.lengths(), stride_per_key_per_rank=again
    )
    assert LoDTensor.from_torch(apart)["c"].values.tolist() == [3, 4, 5]


def test_no_keys(kinds):
    assert LoDTensor.from_torch(kinds[1].empty()) == {}
    assert list(kinds[1](*bridge.keyed({})).keys()) == []
    none = LoDTensor.from_torch(kinds[1](["a"], torch.arange(0), lengths=torch.arange(0)))
    assert none["a"].lod() == [[0]]


def test_bags_of_one_key(kinds):
    given, bag = kinds[1](["a"], torch.arange(3), lengths=torch.tensor([1, 2])), bridge.EmbeddingBag(3, 2)
    with pytest.raises(TypeError, match=r"a table reads one key; pass ids\[key\]"):
        bag(given)
    with pytest.raises(TypeError, match="pass ids of ids, weights"):
        bag(kinds[0](torch.arange(3), lengths=torch.tensor([1, 2])))
    ids, weights = LoDTensor.from_torch(given, weights=True)
    assert weights is None
    torch.testing.assert_close(bag(ids["a"]), bag(torch.arange(3), torch.tensor([0, 1])))


def test_torchrec():
    values = torch.arange(6)
    t = LoDTensor.from_torch(Jagged(values, lengths=torch.tensor([2, 0, 4], dtype=torch.int32)))
    assert t.lod() == [[0, 2, 2, 6]]
    assert t.values is values
    found = LoDTensor.from_torch(Keyed(["a", "b"], values, lengths=torch.tensor([2, 0, 1, 3])))
    assert {key: t.lod() for key, t in found.items()} == {"a": [[0, 2, 2]], "b": [[0, 1, 4]]}
    assert found["b"].values.tolist() == [2, 3, 4, 5]
    assert found["b"].values.data_ptr() == values[2:].data_ptr()
    keys, again, weights, lengths, *others = bridge.keyed(found)
    assert (keys, again.tolist(), lengths.tolist()) == (["a", "b"], values.tolist(), [2, 0, 1, 3])
    assert [weights, *others] == [None] * 4
    with pytest.raises(lodkit.LoDError, match="3 lengths for 2 keys"):
        LoDTensor.from_torch(Keyed(["a", "b"], values, lengths=torch.tensor([2, 0, 4])))
    with pytest.raises(lodkit.LoDLevelError, match="a: 1 levels, b: 2 levels"):
        bridge.keyed({"a": found["a"], "b": LoDTensor(np.ones(1), [[1], [1]])})
    with pytest.raises(lodkit.LoDError):
        LoDTensor.from_torch(Jagged(values, lengths=torch.tensor([2, 5])))


def test_ragged_tensors_of_tensorflow():
    Ragged = collections.namedtuple("Ragged", "flat_values nested_row_splits")
    t = LoDTensor.from_torch(Ragged(np.arange(3.0), [np.array([0, 1, 2]), np.array([0, 2, 3])]))
    assert t.lod() == [[0, 1, 2], [0, 2, 3]]


def test_tensorflow_needs_no_pytorch():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYTORCH], capture_output=True, text=True, check=False)
    assert done.stdout == "[[0, 2, 3]]\n", done.stderr


WITHOUT_PYTORCH = """
import sys, types
import numpy as np
sys.modules["torch"] = None
from lodkit import LoDTensor
x = types.SimpleNamespace(flat_values=np.arange(3.0), nested_row_splits=[np.array([0, 2, 3])])
print(LoDTensor.from_torch(x).lod())
"""


def test_ragged_checks():
    values = torch.ones(3)
    assert bridge.ragged(values, [1, 1], torch.tensor([1, 2])).lod() == [[0, 1, 2], [0, 1, 3]]
    assert bridge.ragged(values, offsets=[torch.tensor([0, 1, 3])]).lod() == [[0, 1, 3]]
    for wrong, message in (
        (lambda: bridge.ragged(values, [1, 1]), "3"),
        (lambda: bridge.ragged(values), "lengths"),
        (lambda: bridge.ragged(np.ones(3), [3]), "tensor"),
        (lambda: bridge.ragged(torch.tensor(1.0), [1]), "dimension"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            wrong()


def test_offsets_are_copied():
    offsets = torch.tensor([0, 1, 3])
    t = bridge.ragged(torch.ones(3), offsets=[offsets])
    offsets[1] = 99
    assert t.lod() == [[0, 1, 3]]
    with pytest.raises(ValueError, match="read-only"):
        t.offsets()[0] = 1


def test_collate():
    words, labels, name = bridge.collate([([4, 7], 1, "x"), ([], 0, "y"), ([5], 0, "z")])
    assert (words.values.tolist(), words.recursive_sequence_lengths()) == ([4, 7, 5], [[2, 0, 1]])
    assert words.values.dtype == torch.int64
    assert labels.tolist() == [1, 0, 0]
    assert name == ["x", "y", "z"]
    found = bridge.collate([{"x": torch.ones(2, 3), "y": 0.5}, {"x": torch.zeros(1, 3), "y": 1.0}])
    assert found["x"].values.shape == (3, 3)
    assert found["x"].recursive_sequence_lengths() == [[2, 1]]
    assert found["y"].tolist() == [0.5, 1.0]
    deep = bridge.collate([[[1, 2], [3]], [[]], [[4]]])
    assert deep.recursive_sequence_lengths() == [[2, 1, 1], [2, 1, 0, 1]]
    assert deep.values.tolist() == [1, 2, 3, 4]
    arrays = bridge.collate([[np.ones((2, 3)), np.ones((1, 3))], [np.ones((0, 3))]])
    assert arrays.recursive_sequence_lengths() == [[2, 1], [2, 1, 0]]
    assert arrays.values.shape == (3, 3)
    assert bridge.collate([torch.tensor(3), torch.tensor(4)]).tolist() == [3, 4]
    Example = collections.namedtuple("Example", "words label")
    made = bridge.collate([Example([1], 2.0), Example([3, 4], 5.0)])
    assert isinstance(made, Example)
    assert made.words.lod() == [[0, 1, 3]]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([], "at least one"),
        ([([1], 2), ([1],)], "example 1 has the fields 1, example 0 2"),
        ([{"a": 1}, {"b": 1}], "example 1"),
        ([1, [2]], "has 1 at depth 0"),
        ([[1, 2], 3], "has 3 at depth 0"),
        ([torch.ones(1, 2), torch.ones(1, 3)], "items of shape"),
    ],
    ids=str,
)
def test_collate_refuses(batch, message):
    with pytest.raises(ValueError, match=message):
        bridge.collate(batch)


def test_a_data_loader():
    data = [(list(range(n)), n % 2) for n in range(1, 7)]
    loader = torch.utils.data.DataLoader(data, batch_size=4, collate_fn=bridge.collate)
    assert [(words.recursive_sequence_lengths(), labels.tolist()) for words, labels in loader] == [
        ([[1, 2, 3, 4]], [1, 0, 1, 0]),
        ([[5, 6]], [1, 0]),
    ]


def test_nothing_dangles_and_nothing_leaks():
    """Values outlive what they came from, and 10,000 round trips leave no reference behind."""
    nt = nested(400, 100)
    expected = nt.values().clone()
    t = LoDTensor.from_torch(nt)
    del nt
    gc.collect()
    assert torch.equal(t.values, expected)
    values = t.values
    before = sys.getrefcount(values)
    for _ in range(10_000):
        t.to_torch()
    for _ in range(10_000):
        LoDTensor.from_torch(Jagged(values, lengths=torch.tensor([400, 100])))
    gc.collect()
    now = sys.getrefcount(values)  # an assert would hold one itself
    assert now == before
