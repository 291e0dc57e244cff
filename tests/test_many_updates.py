"""lodkit.update_embedding_bags: steps of optimizers, shared tables, and nothing written before all is checked."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDLevelError, LoDTensor, RowIndexError, Tape

rng = np.random.default_rng(0)


def shared_case():
    items, users = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    tables = {"clicked": items, "user": users, "bought": items}
    columns = {
        "bought": LoDTensor([2, 0], [[0, 1, 1]]),
        "clicked": LoDTensor([2, 2, 5], [[2, 0, 1]]),
        "user": LoDTensor([1, 1, 4], [[1, 1, 1]]),
    }
    weights = {name: rng.random(len(column.values)) + 0.5 for name, column in columns.items()}
    return tables, columns, weights, rng.standard_normal((3, 9))


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "rowwise_adagrad", "adam"])
@pytest.mark.parametrize(("pool", "weighted"), [("sum", False), ("mean", True)])
def test_a_shared_table_takes_one_step(rule, pool, weighted):
    """By the sum of the gradients of its columns, as the optimizer does by the tape's gradient."""
    tables, columns, weights, grad = shared_case()
    weights, attrs = weights if weighted else None, {"lr": 0.1, **({"iteration": 2} if rule == "adam" else {})}
    items, users = (lodkit.parameter(tables[name].copy()) for name in ("clicked", "user"))
    by_tape = {"clicked": items, "user": users, "bought": items}
    shapes = {"sgd": [], "adagrad": [(3,)], "rowwise_adagrad": [()], "adam": [(3,), (3,)]}[rule]
    states = {name: [np.ones((len(tables[name]), *shape)) for shape in shapes] for name in ("clicked", "user")}
    other = {name: [state.copy() for state in found] for name, found in states.items()}
    with Tape() as tape:
        total = (lodkit.embedding_bags(by_tape, columns, weights, pool=pool) * grad).sum()
    for name, table, by in zip(("clicked", "user"), (items, users), tape.gradient(total, [items, users]), strict=True):
        lodkit.OPS[rule](np.asarray(table), by, *other[name], lazy=True, **attrs)
    assert lodkit.update_embedding_bags(rule, tables, columns, grad, states, weights, pool=pool, **attrs) is None
    np.testing.assert_allclose(tables["clicked"], items, rtol=1e-9)
    np.testing.assert_allclose(tables["user"], users, rtol=1e-9)
    for name, found in states.items():
        for state, expected_state in zip(found, other[name], strict=True):
            np.testing.assert_allclose(state, expected_state, rtol=1e-9)


def test_nothing_is_written_before_all_is_checked():
    tables, columns, weights, grad = shared_case()
    written, before = tables, {name: table.copy() for name, table in tables.items()}
    moments = {"clicked": [np.zeros((6, 3))], "user": [np.zeros((5, 3))]}

    def refused(
        error, match, rule="sgd", tables=tables, columns=columns, grad=grad, states=None, weights=None, **attrs
    ):
        with pytest.raises(error, match=match):
            lodkit.update_embedding_bags(rule, tables, columns, grad, states, weights, **{"lr": 0.1, **attrs})
        assert all((table == before[name]).all() for name, table in written.items())
        assert not any(state.any() for found in moments.values() for state in found)

    refused(
        RowIndexError, r"tables\['user'\]: .*5 is outside", columns={**columns, "user": LoDTensor([5], [[1, 0, 0]])}
    )
    refused(lodkit.ShapeMismatchError, r"grad has shape \(3, 8\)", grad=np.ones((3, 8)))
    refused(DTypeError, "gradient is float32", grad=grad.astype(np.float32))
    refused(ValueError, "no update by bags; there are sgd", rule="lamb")
    refused(ValueError, r"columns lacks \['user'\]", columns={k: columns[k] for k in ("clicked", "bought")})
    refused(ValueError, r"states\['clicked'\] has 0", rule="adagrad")
    refused(ValueError, "states has", states={"x": []})
    refused(ValueError, "one table with other states", rule="adagrad", states={**moments, "bought": [np.zeros((6, 3))]})
    twice = {"clicked": [np.zeros((6, 3))], "user": [np.zeros((5, 3))]}
    twice["user"] = [twice["clicked"][0][:5]]
    refused(lodkit.OutputError, "share memory", rule="adagrad", states=twice)
    view = {**tables, "bought": tables["clicked"][:]}
    refused(lodkit.OutputError, "share memory", tables=view)
    refused(
        lodkit.ShapeMismatchError,
        r"tables\['user'\]: .*moment",
        rule="adagrad",
        states={**moments, "user": [np.ones(2)]},
    )
    refused(LoDLevelError, "must be a LoDTensor of one level", columns={**columns, "user": np.zeros(3, np.int64)})
    refused(TypeError, "a list would not be", rule="adagrad", states={**moments, "user": [[[0.0] * 3] * 5]})
    refused(TypeError, "would not be updated", tables={**tables, "user": [[0.0] * 3] * 5})
    refused(ValueError, "pool", pool="max")
    refused(ValueError, "weights have a meaning", weights=weights, pool="sqrt")
    lodkit.update_embedding_bags("adagrad", tables, columns, grad, moments, lr=0.1)
    assert (tables["user"] != before["user"]).any()


def test_tapes_know_of_an_update_of_many_tables():
    table, ids, grad = lodkit.parameter(np.ones((4, 2))), LoDTensor([1, 2], [[2]]), np.ones((1, 2))
    with Tape() as tape:
        total = (lodkit.embedding_bags([table], [ids]) * table.sum()).sum()
        with pytest.raises(TypeError, match="no gradient flows through it to grad"):
            lodkit.update_embedding_bags("sgd", [table], [ids], grad * total, lr=0.1)
    assert (table == 1).all()
    lodkit.update_embedding_bags("sgd", [table], [ids], grad, lr=0.5)
    assert np.asarray(table).tolist() == [[1, 1], [0.5, 0.5], [0.5, 0.5], [1, 1]]
    with pytest.raises(lodkit.LodkitError, match="overwritten since"):
        tape.gradient(total, [table])
