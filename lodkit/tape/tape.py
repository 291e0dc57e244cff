"""Gradients: calls are recorded and walked backwards, through the gradient rule of each.

Calls are those of operators, and of NumPy's functions on what operators return (``arrays.recorded``).
"""

from __future__ import annotations

import threading
import zlib
from typing import Any, Literal, Self, TypeVar

import numpy as np

from ..arrays import dtype_of, is_array, is_floating, may_share_memory
from ..arrays.numpy_arrays import without_repeats
from ..arrays.recorded import Function, hooks, state
from ..base.errors import LodkitError
from ..base.loading import public
from ..base.tracebacks import surface
from ..lod import LoDTensor, SelectedRows
from ..registry.kinds import numbers_of, owner_of, replaced, unwrapped, wrapped
from ..registry.open_tapes import Call, listeners, no_grad, open_tapes, thread
from ..registry.public_call import side_by_side
from .backward import Readable, add_to, backward, like_source, seed, separate
from .halves import rounded_like
from .recording import parameter, record
from .sources import aligned_arguments, check_sources, check_unconnected, refuse_views, total_or_default

T = TypeVar("T")
_lock = threading.Lock()
#: What a gradient that is computed inside a tape is to that tape: a call without a gradient of its own.
GRADIENT = Function("Tape.gradient", None)


@public
class Tape:
    """Record the operator calls of this thread and differentiate them.

    After TensorFlow's GradientTape; a table that came from a lookup has a SelectedRows gradient.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> table = lodkit.parameter(np.zeros((100, 2), np.float32))
    >>> with lodkit.Tape() as tape:
    ...     rows = lodkit.lookup_table(table, [73, 84])
    >>> tape.gradient(rows, [table])[0]
    SelectedRows(rows=[73, 84], value=[[1., 1.], [1., 1.]], height=100)
    >>> tape  # Jupyter draws it
    Tape(1 call)
      %1: float32[2, 2] = lookup_table(table: float32[100, 2], ids: int64[2])
    """

    def __init__(self) -> None:
        self._calls: list[Any] = []
        self._alive: list[Any] = []
        self._seen: dict[Any, Any] = {}  # arrays by whose memory they are in
        # By the id of an array the number of writes: out= and updates make another variable.
        self._versions: dict[int, int] = {}
        self._constants: set[int] = set()  # ids of arrays that stop_gradient returned
        self._moved: list[Any] = []  # arrays that took the place of variables: a table that grew
        self._watched: list[Any] = []  # arrays, their versions and checksums: NumPy may change them unseen
        # Arrays by id that were read as parameters: what NumPy computed of them was seen.
        self._parameters: dict[int, Any] = {}

    def __enter__(self) -> Self:
        from . import array_gradients, array_methods  # noqa: F401  fill in what recorded arrays can do

        if self in open_tapes():
            raise LodkitError("this tape is open already; open another one inside it")
        thread.tapes = [*open_tapes(), self]
        listeners.add(self)
        with _lock:
            state.open += 1
        return self

    def __exit__(self, *error: object) -> None:
        thread.tapes = [tape for tape in thread.tapes if tape is not self]
        with _lock:
            state.open -= 1

    def __repr__(self) -> str:
        from .calls import text

        return text(self, self in open_tapes())

    def _repr_html_(self) -> str:
        from .graph import html

        return html(self, self in open_tapes())

    def watch(self, x: T) -> T:
        """Return ``x`` as operators return arrays on this tape: what NumPy computes with it is recorded.

        ``lodkit.parameter`` is for arrays that many tapes differentiate by; this is for one tape.

        Parameters
        ----------
        x : numpy.ndarray, LoDTensor or SelectedRows
            Of floating numbers; shares its memory with the result, and is the source to ask for. A gradient is refused
            if it was changed since.

        Examples
        --------
        >>> import numpy as np, lodkit
        >>> weight = np.array([1.0, 2.0])
        >>> with lodkit.Tape() as tape:
        ...     total = (tape.watch(weight) ** 2).sum()
        >>> tape.gradient(total, [weight])
        [array([2., 4.])]
        """
        x = unwrapped(x)
        values = numbers_of(x)
        if type(values) is not np.ndarray or not is_floating(values.dtype):
            if isinstance(values, np.ndarray) and is_floating(values.dtype):
                raise TypeError(f"watch takes no {type(values).__name__}; pass np.asarray(x), which shares its memory")
            shown = f"{values.dtype} numbers" if isinstance(values, np.ndarray) else type(values).__name__
            raise TypeError(f"watch takes NumPy arrays, LoDTensors and SelectedRows of floating numbers, got {shown}")
        if self not in open_tapes():
            raise LodkitError("this tape is not open in this thread; watch inside its with statement")
        self._watched.append((numbers_of(x), self._key(x), _checksum(numbers_of(x))))
        return wrapped(x)

    @surface
    def gradient(
        self,
        target: Any,
        sources: list[Any] | tuple[Any, ...],
        output_gradients: Any = None,
        *,
        unconnected: Literal["raise", "none", "zero"] = "raise",
    ) -> list[Any]:
        """Return the gradients of ``target`` by each of ``sources``.

        Parameters
        ----------
        target : array, LoDTensor, SelectedRows, or list of them
            Their gradients add up.
        sources : list of array, LoDTensor or SelectedRows
            Parameters (``lodkit.parameter``), watched arrays, results on this tape, arrays on a GPU; LoDTensors and
            SelectedRows of any arrays.
        output_gradients : array or list of arrays, optional
            Gradients of ``target``; ones by default.
        unconnected : {"raise", "none", "zero"}
            What a source without a path to the target gives: an error, None, or zeros.

        Returns
        -------
        list
            Like ``sources``, for SelectedRows an array like their value.

        Raises
        ------
        LodkitError
            A source is a plain array, or has no path to the target; an operator on the path has no gradient, or its
            gradient would read numbers that were overwritten since; the target is not of this tape, or depends on a
            view of a source. The message names the source or the operator.
        """
        check_unconnected(unconnected)
        arguments = aligned_arguments(target, sources, output_gradients)
        with no_grad():  # to ask for a gradient is not to read a parameter
            targets, variables, given = (list(map(unwrapped, values)) for values in arguments)
        made = {key for call in self._calls for key in call.output_keys}
        check_sources(self, variables, sources, made)
        totals = self._totals(targets, variables, given, made)
        totals = [
            total_or_default(self, i, *pair, unconnected) for i, pair in enumerate(zip(variables, totals, strict=True))
        ]
        gradients = separate(list(map(like_source, variables, totals)), given)
        if open_tapes():  # a gradient of this gradient is refused
            record(GRADIENT, (*targets, *variables), {}, tuple(g for g in gradients if g is not None))
            gradients = [g if isinstance(g, SelectedRows) else wrapped(g) for g in gradients]
        return gradients

    def _totals(self, targets, sources, given, made):
        """Gradients by the sources, None where there is no path; ``made`` are the variables that calls returned."""
        found: dict[Any, Any] = {}
        for t, g in zip(targets, given, strict=True):
            if id(numbers_of(t)) not in self._versions and all(numbers_of(t) is not numbers_of(s) for s in sources):
                raise LodkitError(
                    "this tape has not seen the target: compute it inside the with statement, by operators and by the "
                    "NumPy functions that docs/gradients.md lists"
                )
            add_to(found, self._key(t), seed(t, g))
        wanted = {(where, n) for where, last in map(self._key, sources) for n in range(last + 1)}
        for array, key, checksum in self._watched:
            if self._key(array) == key and _checksum(array) != checksum:
                raise LodkitError("NumPy changed a watched array in place since; ask for gradients before that")
        reached = self._reachable_variables(wanted)
        refuse_views(self, set(found), [numbers_of(s) for s in sources if self._key(s) not in made], made)
        for call in reversed(self._calls):
            grads = [found.get(key) for key in call.output_keys]
            needed = tuple(key in reached for key in call.input_keys)
            if any(g is not None for g in grads) and any(needed):
                found_by = backward(self._readable_call(call), needed, grads)
                for key, g in zip(call.input_keys, found_by, strict=False):
                    if g is not None and key in reached:
                        add_to(found, key, g)
        return [self._total(s, found, made) for s in sources]

    def _total(self, source, found, made):
        """Gradient by a source: by its numbers before updates, and after."""
        where, last = self._key(source)
        keys = [(where, n) for n in range(last + 1) if (where, n) in found]
        if len(keys) > 1 and not made.isdisjoint(keys):
            raise LodkitError("the target depends on several results that were written to a source by out=")
        total: dict[int, Any] = {}
        for key in keys:
            add_to(total, where, found[key])
        return rounded_like(source, total.get(where))

    def _readable_call(self, call):
        """The call as gradient rules may read it: not what ``out=`` or an update has overwritten since."""
        values, keys = (call.inputs, call.outputs), (call.input_keys, call.output_keys)
        lost = [[version != self._versions[where] for where, version in k] for k in keys]
        if not any(map(any, lost)):
            return call
        inputs, outputs = (Readable(v, bad, call.op.name) for v, bad in zip(values, lost, strict=True))
        return Call(call.op, inputs, call.attrs, outputs)

    def _record(self, call):
        call.input_keys = tuple([self._key(x) for x in call.inputs])
        if call.op.updates:  # earlier results depend on the earlier values
            for out in call.outputs:
                self._overwritten(out)
            return
        call.output_keys = tuple([self._result_variable(x) for x in call.outputs])
        self._calls.append(call)

    def _key(self, x):
        """Variable of a value: its array and the number of writes so far."""
        memory = x._values if type(x) is LoDTensor else x._value if type(x) is SelectedRows else x
        where = id(memory)
        version = self._versions.get(where)
        if version is None:
            version = self._versions[where] = 0
            self._alive.append(memory)  # its id must not be reused
            self._seen.setdefault(id(owner_of(memory)), []).append(memory)
        return where, version

    def _result_variable(self, out):
        """Variable of a result: a new one where an array is given out again."""
        if id(numbers_of(out)) in self._versions:
            self._overwritten(out)
        return self._key(out)

    def _overwritten(self, x):
        """Note a write to an array, and so to all that this tape has seen of its memory."""
        array = numbers_of(x)
        for seen in self._seen.get(id(owner_of(array)), ()):
            if seen is array or may_share_memory(seen, array):
                self._versions[id(seen)] += 1

    def _check_rename(self, array):
        """Refuse a change in place of what this tape could not tell apart from its earlier numbers."""
        key = self._key(array)
        if not any(key in call.output_keys for call in self._calls):
            raise LodkitError("a source is not changed in place while a tape is open; compute a new array")
        if any(may_share_memory(x, array) for x in self._alive if x is not array and is_array(x)):
            raise LodkitError(
                "this array shares memory with others on the tape, whose numbers would change with it; "
                "compute a new array"
            )

    def _rename(self, array, before):
        """Make ``before``, a copy, of what ``array`` was until now: it is about to be written to."""
        key = self._key(array)
        old = {key: (id(before), key[1])}
        for call in self._calls:
            call.input_keys = tuple(old.get(k, k) for k in call.input_keys)
            call.output_keys = tuple(old.get(k, k) for k in call.output_keys)
            call.inputs = tuple(replaced(x, array, before) for x in call.inputs)
            call.outputs = tuple(replaced(x, array, before) for x in call.outputs)
        self._alive.append(before)
        self._versions[id(before)] = key[1]

    def _is_traced(self, x):
        """Whether ``x`` was computed from a variable, other than through a gradient."""
        made = {key: call for call in self._calls for key in call.output_keys}
        todo = [made.get(self._key(x))]
        while todo:
            call = todo.pop()
            if call is None or call.op is GRADIENT:
                continue
            for input_, key in zip(call.inputs, call.input_keys, strict=True):
                if key in made:
                    todo.append(made[key])
                elif has_gradient(input_) and key[0] not in self._constants:
                    return True
        return False

    def _reachable_variables(self, sources):
        """Variables that are sources or computed from them."""
        reached = set(sources)
        for call in self._calls:
            if any(key in reached for key in call.input_keys):
                reached.update(call.output_keys)
        return reached


def _checksum(array):
    return zlib.crc32(np.ascontiguousarray(without_repeats(array)).reshape(-1).view(np.uint8).data)


def differentiate(call):
    """Run ``functools.partial(op, *inputs, **attrs)``, and the gradients of its floating outputs by such inputs."""
    inputs = [parameter(x) if has_gradient(x) else x for x in call.args]
    with Tape() as tape:
        result = call.func(*inputs, **call.keywords)
    outputs = side_by_side(result)
    tape.gradient([x for x in outputs if has_gradient(x)], list(filter(has_gradient, inputs)), unconnected="none")


def has_gradient(x):
    """Whether a value is of floating numbers."""
    return is_array(numbers_of(x)) and is_floating(dtype_of(numbers_of(x)))


hooks.differentiate = differentiate
