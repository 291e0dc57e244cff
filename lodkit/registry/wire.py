"""Proto2 wire format of the messages of the SelectedRows design, without protobuf."""

from __future__ import annotations

from typing import Any

from ..base.errors import LodkitError
from ..base.loading import public

VARINT, FIXED64, BYTES, START, END, FIXED32 = range(6)


@public
class DescError(LodkitError, ValueError):
    """Malformed bytes, or a contradictory description."""


def put_varint(number):
    """Encode int32, int64, an enum or a bool: negatives in ten bytes."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def put(field, wire_type, payload):
    """Encode a field: tag, length of bytes, payload."""
    tag = put_varint(field << 3 | wire_type)
    return tag + (put_varint(len(payload)) + payload if wire_type == BYTES else put_varint(payload))


def get_varint(data, at):
    """Decode the number at ``at``. Returns it, and the position behind it."""
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


def to_signed(number, bits=64):
    """Reinterpret a varint as int64 or int32."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def fields(data):
    """Yield (field, wire type, payload) of a message; payload is a number or bytes. Groups are skipped."""
    at, groups = 0, []
    while at < len(data):
        tag, at = get_varint(data, at)
        field, wire_type = tag >> 3, tag & 7
        if not 0 < field < 1 << 29:
            raise DescError(f"field number {field} before byte {at} is outside 1 .. 2^29 - 1")
        if wire_type == START:
            groups.append(field)
        elif wire_type == END:
            if not groups or groups.pop() != field:
                raise DescError(f"group {field} ends before byte {at}, where it is not open")
        else:
            payload, at = _payload(data, at, field, wire_type)
            if not groups:
                yield field, wire_type, payload
    if groups:
        raise DescError(f"truncated: group {groups[-1]} does not end")


def _payload(data, at, field, wire_type):
    if wire_type == VARINT:
        return get_varint(data, at)
    size = {FIXED64: 8, FIXED32: 4}.get(wire_type)
    if wire_type == BYTES:
        size, at = get_varint(data, at)
    if size is None:
        raise DescError(f"field {field} has wire type {wire_type}, which does not exist")
    if at + size > len(data):
        raise DescError(f"truncated: field {field} has {size} bytes, {len(data) - at} are left")
    return data[at : at + size], at + size


# Readers of fields: (earlier value or None, payload) -> value.


def number(before, payload):
    return payload


def text(before, payload):
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise DescError(f"text is no UTF-8: {error}") from None


def message(before, payload):
    """Read a message; several are concatenated, which merges them."""
    before = bytearray() if before is None else before
    before += payload
    return before


def numbers(before, payload):
    """Read a repeated number, packed or not."""
    before = [] if before is None else before
    if isinstance(payload, int):
        before.append(payload)
        return before
    at = 0
    while at < len(payload):
        item, at = get_varint(payload, at)
        before.append(item)
    return before


_WIRE_TYPES = {number: (VARINT,), text: (BYTES,), message: (BYTES,), numbers: (VARINT, BYTES)}


def read(data, layout, what, *required):
    """Fields of a message by name; ``layout`` maps field numbers to (name, reader), others are skipped."""
    found: dict[str, Any] = {}
    for field, wire_type, payload in fields(bytes(memoryview(data))):
        if field not in layout:
            continue
        name, reader = layout[field]
        allowed = _WIRE_TYPES[reader]
        if wire_type not in allowed:
            raise DescError(f"{name} of {what} has wire type {wire_type}, not {' or '.join(map(str, allowed))}")
        found[name] = reader(found.get(name), payload)
    for name in required:
        if name not in found:
            raise DescError(f"{what} lacks {name}, which is required")
    return found
