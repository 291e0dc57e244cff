"""Descriptions as bytes: those of protobuf, and what malformed ones raise."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodkit import LodkitError, LodTensorDesc, TensorDesc, VarDesc, VarType
from lodkit.arrays import name_of_dtype
from lodkit.registry.desc import DATA_TYPES, DescError

LOD = bytes.fromhex("0a017810001a170a13080510ffffffffffffffffff0110800510e0031001")
ROWS = bytes.fromhex("0a017810012206080510641002")
WIRE = (VarType.LOD_TENSOR, VarType.SELECTED_ROWS)


def proto_file():
    """The seed's messages as a FileDescriptorProto."""
    descriptor = pytest.importorskip("google.protobuf.descriptor_pb2")
    field = descriptor.FieldDescriptorProto
    file = descriptor.FileDescriptorProto(name="framework.proto", package="lodkit", syntax="proto2")
    types = {"int32": 5, "int64": 3, "bool": 8, "string": 9}
    labels = {"optional": 1, "required": 2, "repeated": 3}

    def message(name, *rows):
        made = file.message_type.add(name=name)
        for number, (label, type_name, field_name) in enumerate(rows, 1):
            made.field.append(field(name=field_name, number=number, label=labels[label]))
            if type_name in types:
                made.field[-1].type = types[type_name]
            else:
                made.field[-1].type = 14 if type_name.endswith("Type") else 11
                made.field[-1].type_name = f".lodkit.{type_name}"
        return made

    data_type = file.enum_type.add(name="DataType")
    names = ("BOOL", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "UINT8", "INT8", "BF16")
    for name, number in zip(names, DATA_TYPES.values(), strict=True):
        data_type.value.add(name=name, number=number)
    message("TensorDesc", ("required", "DataType", "data_type"), ("repeated", "int64", "dims"))
    message("LodTensorDesc", ("required", "TensorDesc", "tensor"), ("optional", "int32", "lod_level"))
    var = message(
        "VarDesc",
        ("required", "string", "name"),
        ("required", "VarDesc.VarType", "type"),
        ("optional", "LodTensorDesc", "lod_desc"),
        ("optional", "TensorDesc", "selected_rows_desc"),
        ("optional", "bool", "persistable"),
    )
    var.field[-1].default_value = "false"
    kinds = var.enum_type.add(name="VarType")
    for kind in WIRE:
        kinds.value.add(name=kind.name, number=kind)
    return file


@pytest.fixture(scope="module")
def proto():
    """protobuf's own VarDesc class."""
    file = proto_file()
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lodkit.VarDesc"))


def as_proto(proto, desc):
    """The same description as a protobuf message."""
    made = proto(name=desc.name, type=int(desc.type))
    if desc.type is VarType.LOD_TENSOR:
        tensor = made.lod_desc.tensor
        made.lod_desc.lod_level = desc.lod_level
    else:
        tensor = made.selected_rows_desc
    tensor.data_type = DATA_TYPES[name_of_dtype(desc.dtype)]
    tensor.dims.extend(desc.dims)
    if desc.persistable:
        made.persistable = True
    return made


@st.composite
def descs(draw):
    kind = draw(st.sampled_from(WIRE))
    level = draw(st.integers(0, 2**31 - 1)) if kind is VarType.LOD_TENSOR else 0
    dims = draw(st.lists(st.integers(-1, 2**63 - 1), max_size=5))
    dtype = draw(st.sampled_from(sorted(DATA_TYPES)))
    text = st.text(st.characters(exclude_categories=["Cs"]))
    return VarDesc(draw(text), kind, dtype, dims, level, draw(st.booleans()))


def test_the_seeds_bytes():
    lod = VarDesc("x", VarType.LOD_TENSOR, np.float32, (-1, 640, 480), 1)
    rows = VarDesc("x", VarType.SELECTED_ROWS, np.float32, (100, 2))
    for desc, data in ((lod, LOD), (rows, ROWS)):
        assert desc.to_bytes() == data
        assert VarDesc.from_bytes(data) == desc
    assert VarDesc.from_bytes(bytearray(LOD)) == VarDesc.from_bytes(memoryview(LOD)) == lod


@settings(deadline=None)
@given(desc=descs())
def test_bytes_are_protobufs(proto, desc):
    data = desc.to_bytes()
    assert data == as_proto(proto, desc).SerializeToString(deterministic=True)
    assert VarDesc.from_bytes(data) == desc


def test_the_proto_file_agrees_with_the_descriptors():
    text = (resources.files("lodkit.registry") / "framework.proto").read_text()
    text = re.sub(r"//.*", "", text)
    file = proto_file()
    assert 'syntax = "proto2"' in text
    assert f"package {file.package};" in text

    def fields(message):
        for f in message.field:
            label = {1: "optional", 2: "required", 3: "repeated"}[f.label]
            kind = f.type_name.split(".")[-1] or {5: "int32", 3: "int64", 8: "bool", 9: "string"}[f.type]
            default = f.default_value and f"[default = {f.default_value}]"
            yield " ".join(filter(None, (label, kind, f.name, "=", str(f.number), default)))

    def values(enum):
        return [f"{v.name} = {v.number}" for v in enum.value]

    blocks = {"DataType": values(file.enum_type[0]), "VarType": values(file.message_type[2].enum_type[0])}
    blocks |= {message.name: list(fields(message)) for message in file.message_type}
    enum = re.compile(r"enum (\w+) \{([^}]*)\}")
    found = enum.findall(text) + re.findall(r"message (\w+) \{([^}]*)\}", enum.sub("", text))
    assert {name: [line.strip() for line in body.split(";")[:-1]] for name, body in found} == blocks


def test_only_numbers_have_a_wire_form():
    with pytest.raises(DescError, match=r"no DataType number; there are bool, int16"):
        VarDesc.of(["a"]).to_bytes()
    assert issubclass(DescError, LodkitError)
    assert issubclass(DescError, ValueError)


@pytest.mark.parametrize("unknown", ["3001", "3a03616263", "4101020304050607 08", "4d01020304", "530801 5b6201ff 5c54"])
def test_unknown_fields_are_skipped(unknown):
    """A varint, bytes, 8 and 4 bytes, and a group within a group."""
    unknown = bytes.fromhex(unknown)
    for data in (LOD, ROWS):
        assert VarDesc.from_bytes(unknown + data + unknown) == VarDesc.from_bytes(data)
    tensor = TensorDesc(np.dtype("f4"), (2,))
    assert TensorDesc.from_bytes(tensor.to_bytes() + unknown) == tensor


def test_dims_may_be_packed():
    expected = TensorDesc(np.dtype("f4"), (-1, 640, 480))
    packed = bytes.fromhex("0805 120e ffffffffffffffffff01 8005 e003")
    assert TensorDesc.from_bytes(packed) == expected
    both = bytes.fromhex("0805 120a ffffffffffffffffff01 108005 1202e003")
    assert TensorDesc.from_bytes(both) == expected


def test_fields_may_come_in_any_order_and_again():
    desc = VarDesc.from_bytes(LOD)
    name, kind, lod = LOD[:3], LOD[3:5], LOD[5:]
    assert VarDesc.from_bytes(lod + kind + b"\n\1y" + name) == desc
    # Pieces of one message add up, as protobuf has it: here the dims come in two pieces.
    pieces = bytes.fromhex("1a06 0a0408051002 1a04 0a021003")
    assert VarDesc.from_bytes(name + kind + pieces).dims == (2, 3)


def test_lod_level_may_be_missing():
    assert LodTensorDesc.from_bytes(bytes.fromhex("0a020805")) == LodTensorDesc(TensorDesc(np.dtype("f4"), ()), 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "lacks name"),
        ("0a0178", "lacks type"),
        ("10002204080510 02", "lacks name"),
        ("0a01781000", "needs lod_desc"),
        ("0a01781001", "needs selected_rows_desc"),
        ("0a01781000 2204 08051002", "needs lod_desc"),
        ("0a01781001 2204 08051002 1a060a0408051002", "and no lod_desc"),
        ("0a01781007 2204 08051002", "type 7 is unknown"),
        ("0a01781001 2202 1002", "lacks data_type"),
        ("0a01781001 2204 08631002", "data_type 99 is unknown"),
        ("0a01781000 1a02 1001", "lacks tensor"),
        ("0a01781001 220d 0805 10feffffffffffffffff01", "-2"),
        ("0a01781000 1a0f 0a020805 10ffffffffffffffffff01", "lod_level -1"),
        ("0a02ff781000", "UTF-8"),
        ("0a0578", "truncated: field 1 has 5 bytes, 1 are left"),
        ("0a", "truncated"),
        ("0a017810", "truncated"),
        ("0a017810" + "80" * 10 + "00", "more than ten bytes"),
        ("0801", "name of VarDesc has wire type 0, not 2"),
        ("0a0178 1202 0801", "type of VarDesc has wire type 2"),
        ("0a01781001 2205 15 01000000", "dims of TensorDesc has wire type 5, not 0 or 2"),
        ("0001", "field number 0"),
        ("36", "wire type 6"),
        ("53", "group 10 does not end"),
        ("54", "group 10 ends"),
        ("535c", "group 11 ends"),
    ],
)
def test_malformed_bytes(data, message):
    with pytest.raises(DescError, match=message):
        VarDesc.from_bytes(bytes.fromhex(data))


@pytest.mark.parametrize("data", [LOD, ROWS])
def test_every_truncation_is_refused(data):
    for end in range(len(data)):
        with pytest.raises(DescError):
            VarDesc.from_bytes(data[:end])


@settings(deadline=None)
@given(data=st.binary())
def test_noise_is_refused_or_read(data):
    for kind in (VarDesc, LodTensorDesc, TensorDesc):
        try:
            kind.from_bytes(data)
        except DescError:
            continue


@settings(deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_refused_or_mean_what_protobuf_says(proto, data):
    damaged = bytearray(data.draw(descs()).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 1))] = data.draw(st.binary(max_size=2))
        if not damaged:
            return
    try:
        desc = VarDesc.from_bytes(damaged)
    except DescError:
        return
    parsed = proto.FromString(bytes(damaged))
    parsed.DiscardUnknownFields()
    theirs = parsed.lod_desc.tensor if parsed.type == VarType.LOD_TENSOR else parsed.selected_rows_desc
    assert (desc.name, desc.type, desc.persistable) == (parsed.name, parsed.type, parsed.persistable)
    assert (DATA_TYPES[name_of_dtype(desc.dtype)], list(desc.dims)) == (theirs.data_type, list(theirs.dims))
    assert desc.lod_level == parsed.lod_desc.lod_level


@pytest.mark.parametrize("kind", sorted({*VarType} - {*WIRE}))
def test_kinds_without_a_wire_form(kind):
    desc = VarDesc("x", kind, "f4", (-1, 2))
    with pytest.raises(DescError, match=f"{kind.name} has no wire form"):
        desc.to_bytes()
    data = ROWS.replace(b"\x10\x01", bytes([0x10, kind]))
    with pytest.raises(DescError, match=f"type {kind:d} is unknown"):
        VarDesc.from_bytes(data)
