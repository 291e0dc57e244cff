"""NumPy archives (.npz) whose arrays are aligned in the file, so that it can be mapped; no member is unpickled."""

from __future__ import annotations

import io
import math
import struct
import threading
import zipfile
import zlib

import numpy as np

from ...base.errors import DTypeError
from ...base.float8 import float8_of
from .checks import check_room, encode_name, name_size_errors, shorten_name
from .packing import BFloat16
from .reading import StorageError, bytes_of, check_dimensions, check_text, read_array, write_array

ALIGNMENT = 64
EXPANSION = 1032  # no deflated byte gives more
MOST_EXPANSION, UNASKED = 100, 1 << 28  # of all arrays, where they are larger than this
ENCRYPTED = 1  # of a member's flags
MAX_NAME_BYTES = (1 << 16) - 1
LOCAL_HEADER, ZIP64 = 30, 20  # bytes of a member's header, and of the field that gives sizes in 64 bits
FILLER = 0xDA7A  # id of the field of zeros that aligns a member


def check(arrays):
    """Refuse names that a zip archive does not hold, and what no memory holds in order."""
    for name, array in arrays.items():
        size = len(encode_name(name) + b".npy")
        if size > MAX_NAME_BYTES:
            raise ValueError(
                f"{shorten_name(name)} is a name of {size} bytes with .npy, more than the {MAX_NAME_BYTES} of an .npz; "
                "give shorter keys, or save a .safetensors"
            )
        if not isinstance(array, BFloat16) and (kind := float8_of(array.dtype)):
            raise DTypeError(
                f"{name}: an .npz has no {kind}; save a .safetensors, or x.astype(np.float32), or of a table "
                "lodkit.PackedRows(x)"
            )
        check_room(name, *_to_stored(array))


def write(file, arrays, meta_name, meta, advance):
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in {meta_name: np.array(meta), **arrays}.items():
            array = _contiguous_array(name, array)
            member = zipfile.ZipInfo(f"{name}.npy")
            before = file.tell() + LOCAL_HEADER + len(member.filename.encode()) + ZIP64 + 4
            member.extra = struct.pack("<HH", FILLER, -before % ALIGNMENT) + bytes(-before % ALIGNMENT)
            with archive.open(member, "w", force_zip64=True) as out:
                out.write(header(array.dtype, array.shape))
                write_array(out, array, advance)


def _to_stored(array):
    """The array that is read, and the type that is written."""
    return (array.bits, np.dtype(np.float32)) if isinstance(array, BFloat16) else (array, array.dtype)


def _contiguous_array(name, array):
    def copy_in_order():
        return np.asarray(array.float32() if isinstance(array, BFloat16) else array, order="C")

    return name_size_errors(name, copy_in_order, *_to_stored(array))


def read(source, meta_name):
    """Arrays by name, and the text that ``write`` put beside them, or None."""
    arrays = {}
    with zipfile.ZipFile(source.file) as archive:
        _check_sizes(source, archive.infolist())
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name in arrays or name == member.filename:
                raise StorageError(f"{name} is there twice" if name in arrays else f"{name} is no .npy array")
            arrays[name] = _array(source, archive, member, name)
    meta = arrays.pop(meta_name, None)
    return arrays, None if meta is None else str(meta)


def _check_sizes(source, members):
    """Refuse what cannot be in the file, and what fills the memory from a small one."""
    for member in members:
        name, stored = member.filename.removesuffix(".npy"), member.compress_type == zipfile.ZIP_STORED
        if not stored and member.compress_type != zipfile.ZIP_DEFLATED:
            raise StorageError(f"{name} is compressed by method {member.compress_type}; write it by np.savez")
        if member.flag_bits & ENCRYPTED:
            raise StorageError(f"{name} is encrypted; write it by np.savez")
        most = member.compress_size * (1 if stored else EXPANSION)
        if member.compress_size > source.size or member.file_size > most:
            raise StorageError(f"{name} declares {member.file_size} bytes, more than the file has")
    if sum(member.compress_size for member in members) > source.size:
        raise StorageError("its arrays lie over each other")
    total = sum(member.file_size for member in members)
    if total > max(UNASKED, MOST_EXPANSION * source.size):
        raise StorageError(
            f"its {source.size} bytes would fill {total} of memory, as a bomb's do; "
            "read it with np.load if you trust it"
        )


def _array(source, archive, member, name):
    stored = member.compress_type == zipfile.ZIP_STORED
    with archive.open(member) as stream:
        try:
            shape, fortran, dtype = read_header(stream)
        except ValueError as error:
            raise StorageError(f"{name}: {error}") from None
        if dtype.hasobject:
            raise StorageError(f"{name} holds Python objects, pickled; load never unpickles")
        check_dimensions(name, shape)
        start = stream.tell()
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != member.file_size - start:
            raise StorageError(f"{name} declares shape {shape} of {dtype}, but has {member.file_size - start} bytes")
        order = shape[::-1] if fortran else shape
        if stored:
            begin = _data_of(source, member)
            array = source.array(name, dtype, order, begin + start)
            before = zlib.crc32(source.bytes(begin, start))
            if not source.is_mapped and zlib.crc32(bytes_of(array), before) != member.CRC:
                raise StorageError(f"{name} has another checksum than was written")
        else:
            array = read_array(name, dtype, order, stream, source.advance)
            # At the end the checksum is compared.
            stream.read(1)
            array.flags.writeable = not source.is_mapped
    check_text(name, array)
    return array.T if fortran else array


def _data_of(source, member):
    """Where the bytes of a member begin."""
    lengths = source.bytes(member.header_offset, LOCAL_HEADER)[26:]
    return member.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", lengths))


# NumPy reads headers of .npy files with Python's own parser, which counts its depth for all threads together in some
# versions (3.11.7) and raises SystemError where two of them parse: https://github.com/python/cpython/issues/106905
PARSER = threading.Lock()
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def header(dtype, shape):
    """The bytes in front of an array in row-major order."""
    written = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, described)
    return written.getvalue()


def read_header(file):
    """Shape, whether it is in column-major order, and dtype of the array that follows in ``file``."""
    version = np.lib.format.read_magic(file)
    if version not in READERS:
        raise ValueError(f"it has version {version} of NumPy's format, not 1.0 or 2.0")
    try:
        with PARSER:
            return READERS[version](file)
    except MemoryError:
        # The parser raises it for an expression that is nested too deep.
        raise ValueError("it has a header that is no array's") from None
