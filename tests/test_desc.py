"""VarDesc's wire form is protobuf's, byte for byte, and refuses what is no message."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc, VarType
from lodkit._wire import BYTES, VARINT, DescError, put
from lodkit.desc import DATA_TYPES

FACTS = {
    "0a017810001a170a13080510ffffffffffffffffff0110800510e0031001": VarDesc(
        "x", VarType.LOD_TENSOR, np.float32, (-1, 640, 480), 1
    ),
    "0a017810012206080510641002": VarDesc("x", VarType.SELECTED_ROWS, np.float32, (100, 2)),
}
descs = st.builds(
    lambda name, sparse, dtype, dims, level, persistable: VarDesc(
        name, int(sparse), dtype, tuple(dims), 0 if sparse else level, persistable
    ),
    st.text(max_size=8),
    st.booleans(),
    st.sampled_from(sorted(DATA_TYPES)),
    st.lists(st.integers(-1, 1 << 62), max_size=4),
    st.integers(0, 9),
    st.booleans(),
)


@pytest.fixture(scope="module")
def message():
    """The message class that protobuf's own runtime builds of the shipped file."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    text = (pathlib.Path(lodkit.__file__).parent / "framework.proto").read_text()
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="framework.proto", package="lodkit", syntax="proto2")
    enum = file.enum_type.add(name="DataType")
    for name, number in re.findall(r"^  ([A-Z0-9]+) = (\d+);", text.split("\nmessage")[0], re.MULTILINE):
        enum.value.add(name=name, number=int(number))
    labels = {"required": field.LABEL_REQUIRED, "optional": field.LABEL_OPTIONAL, "repeated": field.LABEL_REPEATED}
    plain = {"int64": field.TYPE_INT64, "int32": field.TYPE_INT32, "string": field.TYPE_STRING, "bool": field.TYPE_BOOL}
    for name, body in re.findall(r"^message (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        made = file.message_type.add(name=name)
        if name == "VarDesc":
            inner = made.enum_type.add(name="VarType")
            for value, number in re.findall(r"^    ([A-Z_]+) = (\d+);", body, re.MULTILINE):
                inner.value.add(name=value, number=int(number))
        for label, kind, key, number in re.findall(r"^  (\w+) (\w+) (\w+) = (\d+)", body, re.MULTILINE):
            entry = made.field.add(name=key, number=int(number), label=labels[label])
            if kind in plain:
                entry.type = plain[kind]
            else:
                entry.type = field.TYPE_ENUM if kind in ("DataType", "VarType") else field.TYPE_MESSAGE
                entry.type_name = ".lodkit.VarDesc.VarType" if kind == "VarType" else f".lodkit.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lodkit.VarDesc"))


def by_protobuf(message, desc):
    out = message(name=desc.name, type=int(desc.type))
    if desc.type is VarType.LOD_TENSOR:
        out.lod_desc.lod_level = desc.lod_level
        tensor = out.lod_desc.tensor
    else:
        tensor = out.selected_rows_desc
    tensor.data_type = DATA_TYPES[desc.dtype.name]
    tensor.dims.extend(desc.dims)
    if desc.persistable:
        out.persistable = True
    return out


@pytest.mark.parametrize("hexadecimal", FACTS)
def test_bytes_of_the_design(hexadecimal):
    assert FACTS[hexadecimal].to_bytes().hex() == hexadecimal
    assert VarDesc.from_bytes(bytes.fromhex(hexadecimal)) == FACTS[hexadecimal]


@given(descs)
@settings(deadline=None, max_examples=100)
def test_bytes_are_those_of_protobuf(message, desc):
    expected = by_protobuf(message, desc).SerializeToString(deterministic=True)
    assert desc.to_bytes() == expected
    assert VarDesc.from_bytes(expected) == desc


@given(st.binary(max_size=60), descs)
@settings(deadline=None, max_examples=200)
def test_no_bytes_raise_anything_else(noise, desc):
    for data in (noise, desc.to_bytes()[:-1], desc.to_bytes() + noise, noise + desc.to_bytes()):
        try:
            VarDesc.from_bytes(data)
        except DescError:
            continue


def test_unknown_fields_packed_dims_and_order():
    dims = b"".join(bytes([d]) for d in (3, 4))
    tensor = put(2, BYTES, dims) + put(1, VARINT, 5) + put(9, BYTES, b"?") + put(8, VARINT, 1)
    data = put(3, BYTES, put(1, BYTES, tensor)) + put(77, 5, 0)[:2] + b"abcd" + put(2, VARINT, 0) + put(1, BYTES, b"x")
    assert VarDesc.from_bytes(data) == VarDesc("x", VarType.LOD_TENSOR, np.float32, (3, 4))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "lacks name"),
        (put(1, BYTES, b"x"), "lacks type"),
        (put(1, BYTES, b"x") + put(2, VARINT, 0), "needs lod_desc"),
        (put(1, BYTES, b"x") + put(2, VARINT, 7), "type 7 is unknown"),
        (put(1, BYTES, b"\xff") + put(2, VARINT, 0), "no UTF-8"),
        (put(1, BYTES, b"x") + put(2, VARINT, 1) + put(4, BYTES, b""), "lacks data_type"),
        (put(1, BYTES, b"x") + put(2, VARINT, 1) + put(4, BYTES, put(1, VARINT, 99)), "data_type 99"),
        (b"\x0a\x05ab", "truncated"),
        (b"\xff" * 11, "more than ten bytes"),
    ],
)
def test_what_is_no_message_is_refused(data, text):
    with pytest.raises(DescError, match=text):
        VarDesc.from_bytes(data)


def test_both_descriptions_contradict():
    tensor = put(1, VARINT, 5)
    data = put(1, BYTES, b"x") + put(2, VARINT, 1) + put(3, BYTES, put(1, BYTES, tensor)) + put(4, BYTES, tensor)
    with pytest.raises(DescError, match="needs selected_rows_desc, and no lod_desc"):
        VarDesc.from_bytes(data)


def test_of_and_unknown_batch():
    x = LoDTensor(np.zeros((3, 4), np.float16), [[1, 2]])
    assert VarDesc.of(x, "x") == VarDesc("x", VarType.LOD_TENSOR, "float16", (3, 4), 1)
    assert VarDesc.of(x).unknown_batch().dims == (-1, 4)
    grad = SelectedRows([1, 1], np.zeros((2, 4)), 9)
    assert VarDesc.of(grad).unknown_batch() == VarDesc("", VarType.SELECTED_ROWS, "float64", (9, 4))
    assert VarDesc.of(np.zeros((2, 3))).but(persistable=True).unknown_batch().dims == (2, 3)
    assert VarDesc.of(None) is None
    assert VarDesc.of([1, 2]).dtype == np.int64
    assert VarDesc.of(x).unknown_batch().covers(VarDesc.of(x))
    assert not VarDesc.of(x).covers(VarDesc.of(x).unknown_batch())
    assert not VarDesc.of(x).covers(VarDesc.of(x.values))


@pytest.mark.parametrize("bad", [{"dims": (-2,)}, {"lod_level": -1}, {"type": 1, "lod_level": 1}])
def test_contradictions_are_refused(bad):
    with pytest.raises(DescError):
        VarDesc.of(np.zeros(3)).but(**bad)
    with pytest.raises(DescError, match="no DataType number"):
        VarDesc.of(np.zeros(3, complex)).to_bytes()
