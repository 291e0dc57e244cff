"""What operators declare of their results: their structure to ``infer``, and that a gradient rule reads them."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES
from test_every_op import numbers_type

import lodkit
from lodkit import LoDTensor, VarDesc, VarType
from lodkit.registry import Call, pooled_desc
from lodkit.registry.open_tapes import differentiate
from lodkit.tape import backward

NESTED = LoDTensor(np.zeros((5, 2), np.float32), [[1, 2], [2, 0, 3]])


def results_of(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_infer_knows_the_sequences_where_it_knows_the_rows(name):
    """A rule that keeps the rows says where their structure comes from; that it is right test_every_op holds."""
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        descs = [VarDesc.of(x) for x in op._accept(tuple(inputs))]
        for desc in results_of(op.full.infer(*descs, **attrs)):
            if desc.lod_level and desc.type is VarType.LOD_TENSOR and desc.dims[0] != -1:
                assert len(desc.sequences) == desc.lod_level, desc


def test_sequences_are_described_where_they_are_known():
    desc = VarDesc.of(NESTED, "x")
    assert desc.sequences == (2, 3) and VarDesc.of(NESTED.values).sequences == ()
    assert desc.but(dims=(5, 7)).sequences == (2, 3)
    for other in (desc.unknown_batch(), desc.but(lod_level=1), VarDesc.from_bytes(desc.to_bytes())):
        assert other.sequences == ()
    assert desc == VarDesc.from_bytes(desc.to_bytes()) and "sequences" not in repr(desc)
    assert desc.but(sequences=(2, -1)).sequences == desc.but(sequences=(2,)).sequences == ()


def test_descriptions_of_other_sequences_are_not_covered():
    desc = VarDesc.of(NESTED)
    other = VarDesc.of(LoDTensor(NESTED.values, [[1, 1], [2, 3]]))
    assert desc.covers(desc) and not desc.covers(other)
    assert desc.but(sequences=()).covers(other) and desc.covers(other.but(sequences=()))


def test_a_row_for_each_sequence_is_described():
    desc = VarDesc.of(NESTED)
    outer, inner = pooled_desc(desc, 0, (4,), np.float64), pooled_desc(desc, -1, ())
    assert (outer.dims, outer.lod_level, outer.sequences, outer.dtype) == ((2, 4), 0, (), np.float64)
    assert (inner.dims, inner.lod_level, inner.sequences, inner.dtype) == ((3,), 1, (2,), np.float32)
    assert pooled_desc(desc.unknown_batch(), 1, (2,)).dims == (-1, 2)
    with pytest.raises(lodkit.LoDLevelError, match="level 2 does not exist"):
        pooled_desc(desc, 2, ())


def in_double(cases):
    """Samples in double precision, whose kernels tests of gradients have compiled; all, if there is none."""
    return [case for case in cases if numbers_type(case[0]) == np.float64] or cases


@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.gradient_rule])
def test_gradient_rules_declare_that_they_read_results(name, monkeypatch):
    op, ran, read = lodkit.OPS[name], set(), set()

    class NotingCall(Call):
        @property
        def outputs(self):
            read.add(self.op.name)
            return self.kept

        @outputs.setter
        def outputs(self, outputs):
            ran.add(self.op.name)
            self.kept = outputs

    monkeypatch.setattr(backward, "Call", NotingCall)
    cases = in_double(SAMPLES[name])
    for inputs, attrs in cases[:: max(1, len(cases) // 8)]:
        differentiate(functools.partial(op, *map(copy, inputs), **attrs))
    assert name in ran
    assert (name in read) == op.reads_outputs
