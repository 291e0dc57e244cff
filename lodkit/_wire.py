"""The proto2 wire format of the SelectedRows design's messages, by hand: protobuf itself is not needed."""

from __future__ import annotations

from .errors import LodkitError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class DescError(LodkitError, ValueError):
    """Bytes that are no message, or a description that contradicts itself."""


def put_varint(number):
    """A number as protobuf writes int32, int64, enums and bools: negatives in ten bytes."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def put(field, wire_type, payload):
    """One field: its tag, the length where it has one, the payload."""
    tag = put_varint(field << 3 | wire_type)
    return tag + (put_varint(len(payload)) + payload if wire_type == BYTES else put_varint(payload))


def get_varint(data, at):
    """The number at ``at``, and where the next thing starts."""
    number = shift = 0
    while True:
        if at >= len(data):
            raise DescError(f"truncated: a number ends after byte {len(data)}")
        if shift > 63:
            raise DescError(f"the number at byte {at - 10} has more than ten bytes")
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number & (1 << 64) - 1, at


def signed(number, bits=64):
    """A varint as int64 or int32."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def fields(data):
    """Yield (field, wire type, payload) of a message; payload is a number or bytes."""
    at = 0
    while at < len(data):
        tag, at = get_varint(data, at)
        field, wire_type = tag >> 3, tag & 7
        if not 0 < field < 1 << 29:
            raise DescError(f"field number {field} before byte {at} is outside 1 .. 2^29 - 1")
        if wire_type == VARINT:
            payload, at = get_varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire_type)
            if wire_type == BYTES:
                size, at = get_varint(data, at)
            if size is None:
                raise DescError(f"wire type {wire_type} of field {field} is not supported")
            if at + size > len(data):
                raise DescError(f"truncated: field {field} has {size} bytes, {len(data) - at} are left")
            payload, at = data[at : at + size], at + size
        yield field, wire_type, payload


def numbers(wire_type, payload):
    """The varints of a repeated field, packed or not."""
    if wire_type == VARINT:
        yield payload
        return
    at = 0
    while at < len(payload):
        number, at = get_varint(payload, at)
        yield number
