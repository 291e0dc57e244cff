"""Calls whose kernel is known are looked at as closely as the first. Tensors only say that they are on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from emulated_torch import numbers, on_gpu  # noqa: E402

import lodkit  # noqa: E402
from lodkit import LoDTensor, SelectedRows  # noqa: E402


def bag(ids=(3, 0, 3), lengths=(2, 1)):
    return LoDTensor(torch.tensor(ids), [list(lengths)])


@pytest.fixture
def known():
    """A table whose bags, rows and updates have been asked for before."""
    table = torch.arange(8.0).reshape(4, 2)
    with on_gpu():
        for _ in range(2):
            lodkit.embedding_bag(table, bag())
            lodkit.lookup_table(table, torch.tensor([1]))
            lodkit.sgd(table.clone(), SelectedRows(torch.tensor([1]), torch.ones(1, 2), 4), lr=1.0)
        yield table


def test_kernels_are_known(known):
    for op in (lodkit.embedding_bag, lodkit.lookup_table, lodkit.sgd):
        assert any(key[-1] == "cuda" for key in op._plans)


def test_calls_on_the_cpu_do_not_hide_them(known, monkeypatch):
    x = LoDTensor(np.ones((3, 2), np.float32), [[2, 1]])
    lodkit.sequence_pool(x)
    there = LoDTensor(torch.ones(3, 2), [[2, 1]])
    lodkit.sequence_pool(there)
    monkeypatch.setattr(type(lodkit.sequence_pool), "_launcher", None)
    assert numbers(lodkit.sequence_pool(there)).tolist() == [[2, 2], [1, 1]]


@pytest.mark.filterwarnings("ignore")  # of the beta state of these
def test_what_is_no_plain_tensor_is_refused(known):
    for odd in (torch.eye(4).to_sparse(), torch.eye(4).to_sparse_csr(), torch.nested.nested_tensor([torch.ones(2, 2)])):
        with pytest.raises(TypeError):
            lodkit.lookup_table(odd, torch.tensor([1]))


def test_what_requires_grad_is_refused(known):
    with pytest.raises(TypeError, match=r"requires grad: pass x\.detach\(\)"):
        lodkit.lookup_table(known.clone().requires_grad_(), torch.tensor([1]))
    with pytest.raises(TypeError, match="requires grad"):
        lodkit.embedding_bag(torch.nn.Parameter(known.clone()), bag())


def test_devices_are_not_mixed(known):
    ids = LoDTensor(np.array([3, 0, 3]), [[2, 1]])
    with pytest.raises(lodkit.DeviceError, match="different devices"):
        lodkit.embedding_bag(known, ids)
    with pytest.raises(lodkit.DeviceError, match="different devices"):
        lodkit.sgd(known, SelectedRows([1], np.ones((1, 2), np.float32), 4), lr=1.0)


def test_resized_values_are_seen(known):
    ids = bag()
    ids.values.resize_(2)
    with pytest.raises(lodkit.LoDError, match="cut into 3 rows, its values have 2"):
        lodkit.embedding_bag(known, ids)
    grad = SelectedRows(torch.tensor([1, 2]), torch.ones(2, 2), 4)
    grad.value.resize_(1, 2)
    with pytest.raises(lodkit.LoDError, match="lists 2 rows"):
        lodkit.sgd(known.clone(), grad, lr=1.0)


def test_no_levels_and_no_values(known):
    with pytest.raises(lodkit.LoDError):
        lodkit.embedding_bag(known, LoDTensor(torch.tensor([1])))
    with pytest.raises(lodkit.LoDError, match="no values"):
        lodkit.embedding_bag(known, LoDTensor(None, [[1]]))


def test_attributes_and_other_types(known):
    with pytest.raises(ValueError, match="pool"):
        lodkit.embedding_bag(known, bag(), pool="median")
    with pytest.raises(lodkit.DTypeError, match="must be integers"):
        lodkit.lookup_table(known, torch.tensor([0.5]))
    doubles = lodkit.embedding_bag(known.double(), bag())
    assert doubles.dtype == torch.float64


def test_a_tape_records_them(known):
    with lodkit.Tape() as tape:
        loss = lodkit.mean(lodkit.embedding_bag(known, bag()))
    assert numbers(tape.gradient(loss, [known])[0].rows).tolist() == [3, 0, 3]


def test_kernels_of_the_cpu_are_chosen_there():
    table = torch.arange(8.0).reshape(4, 2)
    with on_gpu():
        there = numbers(lodkit.embedding_bag(table, bag(), pool="sum")).tolist()
    assert lodkit.embedding_bag(table, bag(), pool="sum").tolist() == there == [[6, 8], [6, 7]]
