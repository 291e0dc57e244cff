"""LoDTensors from and to nested tensors, JaggedTensors and RaggedTensors; batches for a DataLoader."""

from __future__ import annotations

import collections
import gc
import subprocess
import sys

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
from test_torchrec import Jagged  # noqa: E402

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
