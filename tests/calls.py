"""Calls as text, for tests that go over all operators: a failure says what was called, and where its kernel is."""

from __future__ import annotations

import sys

from samples import CAFFE2, PADDLE

import lodkit
from lodkit import LoDTensor, RankTable, SelectedRows
from lodkit.registry.public_call import AdaptedCall
from lodkit.registry.representation import place_of


class calling:
    """Context in which an error gets a note: the operator, what it was given, and its kernel's file and line."""

    def __init__(self, name, inputs, attrs, device="cpu"):
        self.name, self.inputs, self.attrs, self.device = name, inputs, attrs, device

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            error.add_note(call_text(lodkit.OPS[self.name], self.inputs, self.attrs, self.device))


def call_text(op, inputs, attrs, device="cpu"):
    """The call of an operator with values of the CPU, and the kernel that it runs on a device."""
    given = op._accept(tuple(inputs))
    arguments = [f"{name}={value_text(x)}" for name, x in zip(op._names(given), given, strict=True)]
    arguments += [f"{name}={value!r:.200}" for name, value in attrs.items()]
    kernel = op._find(device, op._kinds_of(given))
    return f"in {op.name}({', '.join(arguments)})\n   {device} kernel: {place_of(kernel)}"


def value_text(x):
    """Kind, type, shape and structure of an input; an array of few numbers is shown whole."""
    if isinstance(x, LoDTensor):
        return f"LoDTensor({value_text(x.values)}, {x.recursive_sequence_lengths()})"
    if isinstance(x, SelectedRows):
        return f"SelectedRows({value_text(x.rows)}, {value_text(x.value)}, {x.height})"
    if isinstance(x, RankTable):
        return f"RankTable(lod={x.lod()})"
    if not hasattr(x, "dtype") or not hasattr(x, "tolist"):
        return f"{x.dtype}{list(x.shape)}" if hasattr(x, "dtype") else f"{x!r:.200}"
    return f"{x.dtype}{list(x.shape)}" + (f"={x.tolist()}" if x.size <= 12 else "")


def call_published(name):
    """Call a name of Caffe2 or a type of Paddle with its sample."""
    if name in CAFFE2:
        *inputs, last = CAFFE2[name]
        attrs, inputs = (last, inputs) if isinstance(last, dict) else ({}, [*inputs, last])
        return getattr(lodkit.caffe2, name)(*inputs, **attrs)
    return lodkit.paddle.run_op(name, *PADDLE[name])


def record_calls(setattr, note):
    """Call ``note`` with the name of each operator that is called, however it is; ``setattr`` may be monkeypatch's."""
    for op in lodkit.OPS.values():

        def recording(op, /, *inputs, _call=op._call, **attrs):
            note(op.name)
            return _call(op, *inputs, **attrs)

        setattr(op, "_call", recording)
        if not isinstance(op, AdaptedCall):
            setattr(type(op), "__call__", recording)


def functions_of(call):
    """Python functions of lodkit in a call, as a profiler sees them; tests have ``output`` in place of ``np.empty``."""
    for _ in range(3):
        call()
    names = []

    def note(frame, event, arg):
        if event == "call" and f"{lodkit.__name__}/" in frame.f_code.co_filename.replace("\\", "/"):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in names if name != "output"]
