"""Gradients: operator calls are recorded and walked backwards, through the gradient rule of each."""

from __future__ import annotations

import copy
import threading
import types

import numpy as np

from ..arrays import is_array, may_share_memory
from ..errors import DTypeError, LodkitError
from ..lod import LoDTensor, SelectedRows
from ..public import public

_local = threading.local()
state = types.SimpleNamespace(open=0)  # tapes open in any thread: all that a call checks
_lock = threading.Lock()


class Call:
    """Recorded call, as gradient rules see it.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple
    attrs : dict
        All attributes, defaults included.
    wanted : tuple of bool
        Per input, True if it needs a gradient.
    """

    __slots__ = ("attrs", "input_keys", "inputs", "op", "output_keys", "outputs", "wanted")

    def __init__(self, op, inputs, attrs, outputs):
        self.op, self.inputs, self.attrs, self.outputs = op, inputs, attrs, outputs
        self.wanted, self.input_keys, self.output_keys = (), (), ()


@public
class Tape:
    """Record the operator calls of this thread and differentiate them.

    After TensorFlow's GradientTape; a table that came from a lookup has a SelectedRows gradient.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> table = np.zeros((100, 2), np.float32)
    >>> with lodkit.Tape() as tape:
    ...     rows = lodkit.lookup_table(table, [73, 84])
    >>> tape.gradient(rows, [table])[0]
    SelectedRows(rows=[73, 84], value=[[1., 1.], [1., 1.]], height=100)
    """

    def __init__(self):
        self._calls, self._alive = [], []
        self._versions = {}  # id of an array -> number of writes: out= and updates make another variable

    def __enter__(self):
        if not hasattr(_local, "tapes"):
            _local.tapes = []
        if self in _local.tapes:
            raise LodkitError("this tape is open already; open another one inside it")
        _local.tapes.append(self)
        with _lock:
            state.open += 1
        return self

    def __exit__(self, *error):
        _local.tapes.remove(self)
        with _lock:
            state.open -= 1

    def gradient(self, target, sources, output_gradients=None):
        """Return the gradients of ``target`` by each of ``sources``.

        Parameters
        ----------
        target : array, LoDTensor, or list of them
            Their gradients add up.
        sources : list of array or LoDTensor
        output_gradients : array or list of arrays, optional
            Gradients of ``target``; ones by default.

        Returns
        -------
        list
            Like ``sources``; None for a source with no path to the target.

        Raises
        ------
        LodkitError
            An operator on the path has no gradient; the message names it.
        """
        targets = list(target) if isinstance(target, list | tuple) else [target]
        if not isinstance(sources, list | tuple):
            raise TypeError(f"sources must be a list of arrays, got {type(sources).__name__}; pass [source]")
        for what, values in (("target", targets), ("sources", sources)):
            for i, x in enumerate(values):
                if not isinstance(x, LoDTensor) and not is_array(x):
                    raise TypeError(f"{what}[{i}] must be an array or a LoDTensor, got {type(x).__name__}")
        if output_gradients is None:
            given = [None] * len(targets)
        else:
            given = list(output_gradients) if isinstance(target, list | tuple) else [output_gradients]
        if len(given) != len(targets):
            raise ValueError(f"{len(given)} output_gradients for {len(targets)} targets")
        found = {}
        for t, g in zip(targets, given, strict=True):
            _add(found, self._key(t), _seed(t, g))
        wanted = {id(_memory(s)) for s in sources}
        reached = self._reached(wanted)
        for call in reversed(self._calls):
            grads = [found.get(key) for key in call.output_keys]
            needed = tuple(key in reached for key in call.input_keys)
            if any(g is not None for g in grads) and any(needed):
                for key, g in zip(call.input_keys, _backward(call, needed, grads), strict=False):
                    if g is not None and key in reached:
                        _add(found, key, g)
        total = {}
        for (where, _), g in found.items():
            if where in wanted:
                _add(total, where, g)
        return _separate([_like(s, total.get(id(_memory(s)))) for s in sources], given)

    def _record(self, call):
        call.input_keys = tuple(map(self._key, call.inputs))
        if call.op.updates:  # earlier results depend on the earlier values
            for out in call.outputs:
                key, version = self._key(out)
                self._versions[key] = version + 1
            return
        if any(out is x for out in call.outputs for x in call.inputs):
            return  # an identity, as merging a merged gradient
        call.output_keys = tuple(map(self._written, call.outputs))
        self._calls.append(call)

    def _key(self, x):
        """Variable of a value: its array and the number of writes so far."""
        memory = _memory(x)
        if id(memory) not in self._versions:
            self._versions[id(memory)] = 0
            self._alive.append(memory)  # its id must not be reused
        return id(memory), self._versions[id(memory)]

    def _written(self, out):
        """Variable of a result: a new one if ``out=`` overwrote another."""
        memory = _memory(out)
        if id(memory) in self._versions:
            self._versions[id(memory)] += 1
        return self._key(out)

    def _reached(self, sources):
        """Keys of the sources and of all that is computed from them."""
        reached = {(where, n) for where in sources for n in range(self._versions.get(where, 0) + 1)}
        for call in self._calls:
            if any(key in reached for key in call.input_keys):
                reached.update(call.output_keys)
        return reached


def differentiate(call):
    """Run ``functools.partial(op, *inputs, **attrs)``, and the gradients of its floating outputs by such inputs."""
    with Tape() as tape:
        result = call()
    outputs = result if isinstance(result, tuple) else (result,)
    tape.gradient([x for x in outputs if _is_floating(x)], [x for x in call.args if _is_floating(x)])


def _is_floating(x):
    return is_array(_memory(x)) and _memory(x).dtype.kind == "f"


def record(op, inputs, attrs, result):
    """Record a call on the open tapes of this thread."""
    outputs = result if isinstance(result, tuple) else (result,)
    for tape in getattr(_local, "tapes", ()):
        tape._record(Call(op, inputs, {**op.defaults, **attrs}, outputs))


class no_grad:
    """Context without recording: gradient rules call operators too."""

    def __enter__(self):
        self.tapes, _local.tapes = getattr(_local, "tapes", []), []

    def __exit__(self, *error):
        _local.tapes = self.tapes


def _backward(call, wanted, grads):
    if call.op.gradient_rule is None:
        raise LodkitError(f"{call.op.name} has no gradient, but it lies between the target and a source")
    view = Call(call.op, call.inputs, call.attrs, call.outputs)
    view.wanted = wanted
    with no_grad():
        result = call.op.gradient_rule(view, *grads)
    return result if isinstance(result, tuple) else (result,)


def _memory(x):
    """Array of a variable: a LoDTensor and its values are one."""
    return x.values if isinstance(x, LoDTensor) else x


def _separate(gradients, given):
    """Copy gradients that share memory with others or with the given ones: users may scale them in place."""
    seen = [_numbers(g) for g in given if g is not None]
    for i, g in enumerate(gradients):
        if g is not None:
            if any(may_share_memory(_numbers(g), other) for other in seen if is_array(other)):
                gradients[i] = g = copy.deepcopy(g)
            seen.append(_numbers(g))
    return gradients


def _numbers(x):
    return x.value if isinstance(x, SelectedRows) else _memory(x)


def _seed(target, given):
    values = target.values if isinstance(target, LoDTensor) else target
    on_cpu = isinstance(values, np.ndarray)
    if given is None:
        return np.ones_like(values) if on_cpu else _ones_on_gpu(values)
    given = given.values if isinstance(given, LoDTensor) else given
    if isinstance(given, SelectedRows):
        return given
    if not on_cpu:
        from ..arrays.cuda import grad_output_like

        return grad_output_like(values, given)
    given = np.asarray(given)
    if given.dtype.kind not in "fiu":
        raise DTypeError(f"an output gradient must hold floating numbers, not {given.dtype}")
    given = given.astype(values.dtype, copy=False)
    if given.shape != values.shape:
        raise ValueError(f"output gradient of shape {given.shape} for a target of shape {values.shape}")
    return given


def _ones_on_gpu(values):
    from ..arrays.cuda import full_like

    return full_like(values, 1)


def _add(found, key, gradient):
    gradient = gradient.values if isinstance(gradient, LoDTensor) else gradient
    if key in found:
        from ..ops.selected_rows import sum as add

        with no_grad():
            gradient = add(found[key], gradient)
    found[key] = gradient


def _like(source, gradient):
    if isinstance(source, LoDTensor) and is_array(gradient):
        return source.with_values(gradient)
    return gradient
