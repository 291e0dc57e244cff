"""Dates, timestamps and durations of Arrow as datetime64 and timedelta64, and back. Null is NaT."""

from __future__ import annotations

import numpy as np

from ...base.errors import DTypeError, LoDError
from .c_data import NUMBERS

#: The first bytes of a format and the kind of NumPy's times. A time zone may follow the colon.
_PREFIXES = {b"ts": "M8", b"tD": "m8"}
_UNITS = {b"s": "s", b"m": "ms", b"u": "us", b"n": "ns"}
_DATES = {b"tdD": np.dtype("M8[D]"), b"tdm": np.dtype("M8[ms]")}
_DAYS = NUMBERS[b"i"]
_DAY_IN_MILLISECONDS = 86_400_000


def times_of(format):
    """NumPy's type for times of a format; None for other formats, and for times of day, which NumPy has not.

    Arrow holds timestamps with a time zone in UTC, as NumPy holds all.
    """
    if format in _DATES:
        return _DATES[format]
    kind, unit, zone = _PREFIXES.get(format[:2]), _UNITS.get(format[2:3]), format[3:]
    return np.dtype(f"{kind}[{unit}]") if kind and unit and zone[:1] == (b":" if kind == "M8" else b"") else None


def stored_type(dtype):
    """The type of the numbers that Arrow stores: int32 for days, else the times themselves."""
    return _DAYS if dtype == _DATES[b"tdD"] else dtype


def read_times(stored, dtype, null):
    """Stored numbers as times, NaT where they are ``null`` (or None): a copy only of days and beside nulls."""
    times = stored.astype(dtype, copy=False)
    if null is not None:
        times = times.copy()
        times[null] = "NaT"
    return times


def format_of(times, asked=None):
    """Arrow's format for an array of times, that which is asked for if it holds them: with a time zone, or whole days.

    DTypeError with the unit to convert to where there is none.
    """
    dtype = times.dtype
    if asked and times_of(asked) == dtype and (asked != b"tdm" or _are_whole_days(times)):
        return asked
    unit, count = np.datetime_data(dtype)
    for prefix, kind in _PREFIXES.items():
        for letter, name in _UNITS.items():
            if (kind[0], name, 1) == (dtype.kind, unit, count):
                return prefix + letter + (b":" if kind == "M8" else b"")
    if dtype == _DATES[b"tdD"]:
        return b"tdD"
    kind = "datetime64" if dtype.kind == "M" else "timedelta64"
    others = "[s]'), or to [ms], [us] or [ns] where seconds do not hold them"
    if unit in ("ps", "fs", "as"):
        others = "[ns]'), which drops what is finer"
    raise DTypeError(f"Arrow has no times of type {dtype}; convert with .astype('{kind}{others}")


def _are_whole_days(times):
    return not (times.view(np.int64)[~np.isnat(times)] % _DAY_IN_MILLISECONDS).any()


def store_times(times):
    """What Arrow stores of times, contiguous and in native byte order, and the bits of those that are there.

    The bits are None where no time is NaT.
    """
    missing = np.isnat(times).reshape(-1)
    valid = np.packbits(~missing, bitorder="little") if missing.any() else None
    if times.dtype != _DATES[b"tdD"]:
        return times, valid
    days = times.view(np.int64).reshape(-1)
    stored = days.astype(_DAYS)
    lost = (stored != days) & ~missing
    if lost.any():
        at = int(np.argmax(lost))
        raise LoDError(
            f"the date {times.reshape(-1)[at]} at {at} is {days[at]} days from 1970, which Arrow's 32 bits do "
            "not hold; convert with .astype('datetime64[s]')"
        )
    return stored, valid
