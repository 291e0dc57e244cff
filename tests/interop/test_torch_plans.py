"""Calls with tensors: from the second on they pass a plan, which the first one has made for inputs of its types."""

from __future__ import annotations

import numpy as np
import pytest
from calls import functions_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.open_tapes import listeners

torch = pytest.importorskip("torch")

TABLE = torch.arange(12.0).reshape(6, 2)
BAGS = LoDTensor(torch.tensor([0, 2, 5]), [[2, 1]])
ROWS = SelectedRows(torch.tensor([0, 3]), torch.ones(2, 2), 6)
# As many functions as of arrays, one a tensor, and what makes a tensor of the result.
CALLS = {
    "bags": (lambda: lodkit.embedding_bag(TABLE, BAGS), 8),
    "weighted bags": (lambda: lodkit.embedding_bag(TABLE, BAGS, torch.ones(3)), 10),
    "rows": (lambda: lodkit.relu(TABLE), 6),
    "sgd": (lambda: lodkit.sgd(TABLE.clone(), ROWS, lr=0.1), 21),
}


@pytest.mark.jit
@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_tensors_passes_few_functions(call, monkeypatch):
    run, most = CALLS[call]
    # Tapes of other tests, which wait for a collection, hear of updates too.
    monkeypatch.setattr(listeners, "data", set())
    names = functions_of(run)
    assert len(names) <= most, names


@pytest.mark.jit
def test_a_call_with_ids_in_an_array_displaces_no_plan_for_long():
    """Both have inputs of the same Python types: a tensor and a LoDTensor."""
    run, most = CALLS["bags"]
    arrays = LoDTensor(np.array([0, 2, 5]), [[2, 1]])
    for _ in range(2):
        assert torch.equal(lodkit.embedding_bag(TABLE, arrays), run())
    names = functions_of(run)
    assert len(names) <= most, names


def mixtures():
    """A table and gradients of tensors and arrays, in turns: each mixture finds the plan of its own."""
    for _ in range(3):
        for table in (TABLE.clone(), TABLE.numpy().copy(), torch.nn.Parameter(TABLE.clone()), TABLE.double()):
            exact = np.float64 if table.dtype == torch.float64 else np.float32
            for value in (torch.ones(2, 2), np.ones((2, 2))):
                kind = torch.float64 if exact is np.float64 else torch.float32
                yield table, value.to(kind) if isinstance(value, torch.Tensor) else value.astype(exact)


def test_tensors_and_arrays_in_turns():
    for table, value in mixtures():
        before, version = np.array(table.tolist()), getattr(table, "_version", None)
        with torch.no_grad():
            assert lodkit.sgd(table, SelectedRows([0, 3], value, 6), lr=0.5) is table
        after = np.array(table.tolist())
        assert (before[[0, 3]] - 0.5 == after[[0, 3]]).all()
        assert (before[[1, 2, 4, 5]] == after[[1, 2, 4, 5]]).all()
        # Once more for each update, so that autograd notices.
        assert version is None or table._version == version + 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_plan_takes_ordinary_tensors_alone(kind):
    x = TABLE - 5
    lodkit.relu(x), lodkit.relu(x)
    assert torch.equal(lodkit.relu(x.to(kind)), torch.relu(x.to(kind)))
    assert torch.equal(lodkit.relu(x.T), torch.relu(x.T))
    assert torch.equal(lodkit.relu(torch.complex(x, x).conj().imag), torch.relu(-x))
    assert torch.equal(lodkit.relu(x.half()), torch.relu(x.half()))
    with pytest.raises(TypeError, match="relu: x requires grad"):
        lodkit.relu(torch.nn.Parameter(x))
    with pytest.raises(TypeError, match="relu: x is a tensor of layout"):
        lodkit.relu(x.to_sparse())
    freed = x.clone()
    freed.untyped_storage().resize_(8)
    with pytest.raises(lodkit.LodkitError, match="needs 48 bytes, its storage has 8 now"):
        lodkit.relu(freed)
    with torch.autograd.forward_ad.dual_level(), pytest.raises(TypeError, match="no forward-mode derivative"):
        lodkit.relu(torch.autograd.forward_ad.make_dual(x, x))
    cut = LoDTensor(x.clone(), [[2, 4]])
    lodkit.relu(cut), lodkit.relu(cut)
    cut.values.resize_(4, 2)
    with pytest.raises(lodkit.LoDError, match="cut into 6 rows, its values have 4"):
        lodkit.relu(cut)
