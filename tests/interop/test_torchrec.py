"""TorchRec's JaggedTensor and KeyedJaggedTensor, its own where it is installed, and what has its arguments.

``pip install --no-deps torchrec==1.8.0 fbgemm-gpu-cpu==1.8.0 tensordict pyre-extensions torchmetrics tqdm iopath orjson
importlib_metadata pyvers lightning-utilities`` goes with PyTorch 2.13 on the CPU.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
bridge = pytest.importorskip("lodkit.interop.torch")


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
