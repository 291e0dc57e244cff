"""What is made from the record of an optimizer: its documentation, its class, its update of bags."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lodkit
from lodkit.ops.shared.optimizer_docs import complete
from lodkit.registry.docstrings import entries, sections

RECORDS = {name: op.definition.optimizer for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")}


@pytest.mark.parametrize("name", RECORDS)
def test_help_has_every_state_and_attribute_once(name):
    op = lodkit.OPS[name]
    shown = [n for names, *_ in entries(sections(op)[1]["Parameters"]) for n in names.split(", ")]
    assert sorted({*shown} - {"param", "grad"}) == sorted({*op.signature.parameters} - {"param", "grad"})
    assert len(shown) == len({*shown})


@pytest.mark.parametrize("own", ["", "Parameters\n----------\nepsilon : float\n    Small.\n\n"])
def test_examples_come_last_under_a_heading_or_not(own):
    summary, example = f"Step; return changed arrays.\n\n{own}", ">>> 1 + 1\n2"
    text = complete(summary + example, ["moment"], ["epsilon"], ["lazy"])
    assert complete(f"{summary}Examples\n--------\n{example}", ["moment"], ["epsilon"], ["lazy"]) == text
    assert text.endswith(f"for the states as for the parameter.\n\n{example}")


def test_annotations_that_a_rule_leaves_out():
    lion, adam, momentum = (str(lodkit.OPS[name].signature) for name in ("lion", "adam", "momentum"))
    start = "(param: Dense, grad: Dense | SelectedRows, moment: Dense, /, *, lr: Scalar, beta1: float = 0.9, "
    assert lion.startswith(start)
    assert lion.endswith(" -> tuple[Dense, Dense]")
    assert "largest: Dense | None = None, /, *, lr: Scalar, iteration: Scalar," in adam
    assert "rectified: bool = False" in adam
    assert adam.endswith(" -> tuple[Dense, ...]")
    assert momentum.endswith(" -> tuple[Dense, ...]")  # with return_step another one
    assert str(lodkit.proximal_gd.signature).endswith(" -> Dense")


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_a_class_and_where_its_step_is_by_rows_an_update_of_bags(name):
    record, op = RECORDS[name], lodkit.OPS[name]
    made = getattr(lodkit.optim, record.title)
    assert made.op is op
    assert made.__doc__ == record.summary
    assert [*made.states] == record.list_states()
    assert (f"embedding_bag_{name}" in lodkit.OPS) == (record.numbers is not None)


def test_adabelief_is_that_of_the_paper():
    """Three steps of one number, where the gradient changes its sign."""
    param, states = np.zeros(1), (np.zeros(1), np.zeros(1))
    p = m = s = 0.0
    for step, g in enumerate((1.0, -0.5, 0.25)):
        lodkit.adabelief(param, np.array([g]), *states, lr=0.1, iteration=step, beta1=0.8, beta2=0.9, epsilon=1e-3)
        m = 0.8 * m + 0.2 * g
        s = 0.9 * s + 0.1 * (g - m) ** 2 + 1e-3
        p -= 0.1 * m / (1 - 0.8 ** (step + 1)) / (math.sqrt(s / (1 - 0.9 ** (step + 1))) + 1e-3)
        np.testing.assert_allclose([param[0], states[0][0], states[1][0]], [p, m, s], rtol=1e-12)
