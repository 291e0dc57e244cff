"""What a call of an operator lacks, or has too many: in one line, with the call that was meant."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.suggesting import find_nearest
from ..base.tracebacks import depth_of_caller
from .catalogue import OPS

#: Attributes by other libraries' names.
_ELSEWHERE = {
    "mode pool_type pooltype pooling combiner reduction aggr agg op reduce": ("pool", "reduce", "op"),
    "learning_rate rate step_size alpha": ("lr",),
    "eps": ("epsilon",),
    "step t global_step": ("iteration",),
    "betas": ("beta1", "beta2"),
    "p prob drop_prob dropout_prob": ("rate",),
    "num_classes depth n_classes": ("size", "num_chunk_types"),
    "n_heads heads nhead n_head": ("num_heads",),
    "is_causal causal_mask": ("causal",),
    "kernel_size context_size window_size window filter_size": ("context_length", "win_size"),
    "n ngram": ("win_size",),
    "padding_index pad_id": ("padding_idx",),
    "fill_value padding_value default_value pad": ("pad_value",),
    "maxlen max_len total_length padded_length target_length": ("max_length",),
    "sparse": ("is_sparse",),
    "weight_decay_rate wd l2": ("weight_decay",),
    "n_columns num_cols n_cols width": ("num_columns",),
    "rho": ("decay",),
    "activation": ("gate_activation", "candidate_activation"),
    "descend": ("descending",),
    "ascending": ("descending",),
    "go_backwards is_reverse backward": ("reverse",),
    "type": ("dtype",),
    "topk": ("k",),
}
_OTHER_NAMES = {name: meant for names, meant in _ELSEWHERE.items() for name in names.split()}
#: Inputs by other libraries' names.
_OTHER_INPUTS = {"per_sample_weights": "weights", "input": "", "weight": "table", "gradient": "grad", "h_0": "h0"}
#: Attributes that other libraries have, and what stands for them.
_WITHOUT = {
    "dim axis": "axis 0 of the values are the rows of all sequences, and the operator says which axis it reads",
    "keepdims keepdim": "the result has one row per sequence",
    "inplace": "results are new arrays; out=array fills one",
    "bidirectional": "lodkit.bidirectional runs a layer in both directions",
    "num_layers": "lodkit.stacked runs layers on top of each other",
    "batch_first": "rows lie end to end, and a LoDTensor has no batch axis",
    "ignore_index": "leave rows out that do not count: logits[labels != ignored], labels[labels != ignored]",
    "input_lengths target_lengths label_lengths logit_lengths": "a LoDTensor has the lengths; leave it out",
    "device": "operators run where their inputs are",
}
_WITHOUT = {name: words for names, words in _WITHOUT.items() for name in names.split()}
#: Old names of attributes and their new ones, by operator: an old name warns for at least one minor version.
RENAMED = {
    "sequence_pad": {"padded_length": "max_length"},
    "sequence_pad_grad": {"padded_length": "max_length"},
    "sequence_pad_value_grad": {"padded_length": "max_length"},
    "lengths_pad": {"target_length": "max_length"},
}


def rename_attributes(op, attrs):
    """Return the attributes of a call by their new names; an old name warns, and raises beside the new one."""
    renamed = {old: new for old, new in RENAMED.get(op.name, {}).items() if old in attrs}
    for old, new in renamed.items():
        if new in attrs:
            raise TypeError(f"{op.name} got {old}= and {new}=; {old} is the old name of {new}: pass {new}= alone")
        message = f"{op.name}: {old} is renamed to {new}; pass {new}={attrs[old]!r:.80}"
        warnings.warn(message, DeprecationWarning, stacklevel=depth_of_caller())
    return {renamed.get(name, name): value for name, value in attrs.items()} if renamed else attrs


def write_call(op, inputs=None, attrs=""):
    """Return a call of an operator as source, by the names of its inputs where no other are given."""
    names = [*op.inputs][: max(op.required, op.variadic)] if inputs is None else inputs
    star = "*" if op.variadic and inputs is None and len(names) == len(op.inputs) else ""
    shown = [*names[:-1], star + names[-1]] if names else []
    return f"{op.name}({', '.join([*shown, *filter(None, [attrs])])})"


def count_error(op, given, attrs=None, named=()):
    """Return the error for a call that lacks inputs, or has too many; None if it has as many as the operator takes.

    ``given`` is the number of inputs. Where the attributes are known, those that lack are named with the inputs.
    """
    names = [*op.inputs]
    if missing := names[given : max(op.required, op.variadic)]:
        needed = [] if attrs is None else [name for name in op._needed if name not in attrs]
        lacks = ", ".join([*missing, *(f"{name}=" for name in needed)])
        states = [_write_state(op, name) for name in missing]
        inputs = [*names[:given], *(state or name for state, name in zip(states, missing, strict=True))]
        call = write_call(op, None if op.variadic else inputs, _write_needed(op, needed, attrs))
        made = "; make the states once and keep them, each step updates them" if any(states) else ""
        absent = [name for name in names[: op.required] if type(None) in op.inputs[name]]
        may_be_none = f"; {' and '.join(absent)} may be None" if absent else ""
        by_name = f"; {', '.join(f'{name}=' for name in named)} is no input" if named else ""
        return TypeError(f"{op.name} lacks {lacks}; call {call}{made}{may_be_none}{by_name}")
    if not op.variadic and given > len(names):
        takes = f"{len(names)} input{'s' * (len(names) != 1)}"
        return TypeError(f"{op.name} takes {takes}, {write_call(op, names)}, got {given} inputs{_list_attributes(op)}")
    return None


def need_error(op, attrs, given=None):
    """Return the error for an attribute that a call needs and lacks; None if it has all."""
    needed = [name for name in op._needed if name not in attrs]
    if not needed:
        return None
    words = f"the attribute{'s' * (len(needed) > 1)} {', '.join(needed)}"
    inputs = None if given is None or op.variadic else [*op.inputs][: max(given, op.required)]
    return TypeError(f"{op.name} needs {words}: {write_call(op, inputs, _write_needed(op, needed, attrs))}")


def unknown_error(op, name, value):
    """Return the error for an attribute that an operator does not have."""
    text = f"{op.name} has no attribute {name!r:.80}"
    meant = [known for known in _OTHER_NAMES.get(name, ()) if known in op._checks][: 2 if name == "betas" else 1]
    if name in _OTHER_INPUTS and _OTHER_INPUTS[name] in op.inputs:
        known = _OTHER_INPUTS[name]
        return TypeError(f"{text}; pass it without a name, as the input {known}: {write_call(op, [*op.inputs])}")
    if name == "betas" and meant:
        return TypeError(f"{text}; did you mean beta1={_item(value, 0)}, beta2={_item(value, 1)}?")
    if not meant and name in _WITHOUT:
        level = "; level= says of which level" if name in ("dim", "axis") and "level" in op._checks else ""
        return TypeError(f"{text}; {_WITHOUT[name]}{level}{_list_attributes(op)}")
    meant = meant or find_nearest(name, op._checks, most=1)
    if meant:
        return TypeError(f"{text}; did you mean {meant[0]}={_write_value(op, meant[0], value)}?")
    return TypeError(f"{text}{_list_attributes(op)}")


def find_attribute(name, known):
    """Return the attribute among known ones that is meant by a name: by another library's, or the nearest; or None."""
    meant = [other for other in _OTHER_NAMES.get(name, ()) if other in known]
    return next(iter(meant or find_nearest(name, known, most=1)), None)


def match_attributes(op, values, attrs):
    """Return the attributes that take some values given by position, in order, beside others, as source.

    None where one fits nowhere.
    """
    free = [name for name in [*op._needed, *op.defaults] if name not in attrs]
    found: list[str] = []
    for value in values:
        if value is None and not found:
            return None
        name = next((name for name in free if fits_attribute(op, name, value)), None)
        if name is None:
            return None
        free.remove(name)
        found.append(f"{name}={_write_value(op, name, value)}")
    return ", ".join(filter(None, [*found, _write_needed(op, [name for name in op._needed if name in free], attrs)]))


def fits_attribute(op, name, value):
    """Whether an attribute takes a value, or one of its names is meant by it."""
    check = op._checks[name]
    try:
        check.settled(value) if not check.test(value) else None
    except (TypeError, ValueError):
        return isinstance(value, str) and bool(find_nearest(value, check.choices or ()))
    return True


def _write_value(op, name, value):
    """Return a value of an attribute as source: that which is meant by it, or three dots."""
    choices = op._checks[name].choices or ()
    if isinstance(value, str) and choices and value not in choices:
        near = find_nearest(value, choices, most=1)
        return repr(near[0]) if near else "..."
    if isinstance(value, type):
        return repr(np.dtype(value).name)
    return f"{value!r}" if isinstance(value, int | float | str) and len(repr(value)) < 40 else "..."


def _write_needed(op, needed, attrs=None):
    """Return needed attributes as source, with values of the operator's example where these are short; and others."""
    example: dict[str, Any] = {}
    values = []
    if needed and op.example_function:
        example = next(iter(op.example_function(np.dtype(np.float64))), (None, {}))[1]
    for name in needed:
        shown = repr(example.get(name)) if isinstance(example.get(name), int | float | str | list | tuple) else ""
        values.append(f"{name}={shown if 0 < len(shown) < 24 else '...'}")
    plain = (int, float, str)
    kept = [f"{name}={x!r:.40}" for name, x in (attrs or {}).items() if name in op._checks and isinstance(x, plain)]
    return ", ".join([*kept, *values])


def _write_state(op, name):
    """Return a state of an optimizer at its start as source; None for other inputs."""
    rule = OPS.get(op.name.removeprefix("embedding_bag_"), op)
    record = getattr(rule.definition, "optimizer", None)
    if record is None or name not in record.states:
        return None
    if record.pairs and name == record.states[0]:  # without the second state it has its numbers, too
        return "np.zeros((*param.shape, 2), param.dtype)"
    shape, dtype, start = record.layout(name, (7, 5), np.dtype(np.float64))
    if shape == (7, 5) and not start and dtype == np.float64:
        return "np.zeros_like(param)"
    rows = {(7, 5): "param.shape", (7,): "len(param)", (1,): "1"}[shape]
    kind = "np.int64" if dtype == np.int64 else "param.dtype"
    return f"np.full({rows}, {start}, {kind})" if start else f"np.zeros({rows}, {kind})"


def _list_attributes(op):
    names = [*op._checks]
    if not names:
        return "; it has no attributes"
    return f"; attributes are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def _item(values, i):
    return f"{values[i]!r:.20}" if isinstance(values, list | tuple) and len(values) == 2 else "..."
