"""SelectedRows from and to sparse COO of PyTorch and SciPy: to the same numbers, sharing them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import SelectedRows


def some(item=(3,), dtype=np.float32):
    rng = np.random.default_rng(0)
    return SelectedRows([7, 2, 7, 0], rng.normal(size=(4, *item)).astype(dtype), 9)


@pytest.mark.parametrize("item", [(), (3,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
def test_torch(item, dtype):
    torch = pytest.importorskip("torch")
    for x in (some(item, dtype), some(item, dtype).merge(), SelectedRows([], np.zeros((0, *item), dtype), 9)):
        tensor = x.to_torch()
        assert tensor.shape == x.shape
        assert tensor.is_coalesced() == x.is_merged or not len(x)
        if dtype != np.float16:
            np.testing.assert_allclose(tensor.to_dense().numpy(), x.to_dense(), rtol=1e-6)
        back = SelectedRows.from_torch(tensor)
        lodkit.testing.assert_equal(back, x)
        assert back.is_merged == x.is_merged or not len(x)
        assert not x.value.size or np.may_share_memory(back.value, x.value)
        assert not x.value.size or not np.may_share_memory(back.rows, x.rows)
    embedding = torch.nn.Embedding(9, 3, sparse=True)
    embedding(torch.tensor([1, 1, 4])).sum().backward()
    assert SelectedRows.from_torch(embedding.weight.grad).rows.tolist() == [1, 1, 4]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_what_torch_has_no_rows_for():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="to_sparse"):
        SelectedRows.from_torch(torch.eye(3))
    with pytest.raises(TypeError, match=r"got ndarray; make SelectedRows\(rows, value, height\)"):
        SelectedRows.from_torch(np.eye(3))
    compressed = torch.sparse_csr_tensor([0, 1], [0], [2.0], (1, 2), check_invariants=True)
    with pytest.raises(TypeError, match=r"torch\.sparse_csr; call \.to_dense\(\)\.to_sparse\(1\)"):
        SelectedRows.from_torch(compressed)
    assert SelectedRows.from_torch(compressed.to_dense().to_sparse(1)).to_dense().tolist() == [[2.0, 0.0]]
    with pytest.raises(lodkit.ShapeMismatchError, match="2 sparse dimensions"):
        SelectedRows.from_torch(torch.eye(3).to_sparse())
    bad = torch.sparse_coo_tensor(torch.tensor([[5]]), torch.ones(1, 2), (3, 2), check_invariants=False)
    with pytest.raises(lodkit.RowIndexError, match="5 is outside"):
        SelectedRows.from_torch(bad)


def test_scipy():
    pytest.importorskip("scipy")
    for x in (some(), some(dtype=np.float64).merge(), SelectedRows([], np.zeros((0, 3)), 9)):
        matrix = x.to_scipy()
        np.testing.assert_allclose(matrix.toarray(), x.to_dense(), rtol=1e-6)
        back = SelectedRows.from_scipy(matrix)
        lodkit.testing.assert_equal(back, x)
        assert not x.value.size or np.may_share_memory(back.value, x.value)
    with pytest.raises(lodkit.DTypeError, match="float16"):
        some(dtype=np.float16).to_scipy()
    with pytest.raises(TypeError, match="SciPy sparse matrix"):
        SelectedRows.from_scipy(np.eye(3))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(-9, 9)), max_size=12))
def test_any_matrix_of_scipy(entries):
    sparse = pytest.importorskip("scipy.sparse")
    row, column, data = (np.array([e[k] for e in entries], np.int64) for k in range(3))
    coo = sparse.coo_array((data.astype(np.float64), (row, column)), shape=(5, 3))
    for matrix in (coo, coo.tocsr()):
        np.testing.assert_array_equal(SelectedRows.from_scipy(matrix).to_dense(), coo.toarray())
