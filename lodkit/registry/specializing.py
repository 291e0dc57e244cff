"""Kernels specialized to the types and item shapes of a call's arrays: what plans call first.

A kernel offers it: ``specialize(on, *inputs, **attrs)`` names the inputs that such calls have, and the attributes that
are settled with it. It gives a function or None. The function gets the inputs of a call, of a LoDTensor its values and
the offsets of its one level, the other attributes, and ``out`` where there is one. Where it returns ``NotImplemented``,
the kernel itself runs.
"""

from __future__ import annotations

import inspect

from ..lod import LoDTensor
from .contract import names_in_tests, write_ids_tests

MAX_SPECIALIZED = 256  # of a plan: one that sees ever other item shapes makes them anew


def write_specialized_call(op, inputs, plain, arrays, call, out=""):
    """Return the lines of a plan that call a specialized kernel, and their names; none where there is no such kernel.

    A kernel is specialized after a call of it: it raises first.

    Of ``embedding_bag(ndarray, LoDTensor)``::

        result, key = NotImplemented, None
        if x0.ndim and len(lod1) == 1 and v1.ndim == 1 and (i1 := v1 if ... else integers(v1, "ids")) is not None:
            key = x0.dtype, x0.shape[1:], a0, a4, a3,
            run = specialized.get(key)
            if run is not None:
                result, key = run(x0, i1, lod1[0], None, a1, a2, ), None
        if result is NotImplemented:
            result = launch(x0, x1, None, ...)
            if key is not None:
                keep_specialized(key, (x0, x1, None, ), (a0, a4, a3, ))

    ``plain`` and ``arrays`` are those of ``write_call``, whose ``call`` runs the kernel itself; ``out`` is the name of
    an array to fill, if there is one.
    """
    kernel = op._find("cpu", op._kinds_of(inputs))
    specialize, ids = getattr(kernel.function, "specialize", None), getattr(kernel.launch, "ids", ())
    if specialize is None:
        return [], {}
    _, *parameters = inspect.signature(specialize).parameters.values()
    settled = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    count, attrs = len(parameters) - len(settled), [*op._checks]
    tests, key, given = [], [], []
    kinds = [*op.inputs.values()]
    for i, x in enumerate(inputs):
        # A LoDTensor where an array may be too, the kernel itself takes.
        either = isinstance(x, LoDTensor) and kinds[i] != {LoDTensor}
        if x is not None and (i >= count or i not in arrays or either):
            return [], {}
    for i in range(count):
        if i not in arrays:
            given.append("None")
            continue
        array, lod = arrays[i]
        tests += [f"len({lod}) == 1"] * bool(lod)
        if i in ids:  # converted here where they are others, and once more by the first call
            *of_bags, plain_ids = write_ids_tests(op, i, array, lod)
            converted = f"{array} if {plain_ids} else device.integers({array}, {[*op.inputs][i]!r})"
            tests += [*of_bags, f"(i{i} := {converted}) is not None"]
        else:
            tests.append(f"{array}.ndim")
            key += [f"{array}.dtype", f"{array}.shape[1:]"]
        given += [f"i{i}" if i in ids else array, *[f"{lod}[0]"] * bool(lod)]
    chosen = "".join(f"a{attrs.index(name)}, " for name in settled)
    others = "".join(f"a{j}, " for j, name in enumerate(attrs) if name not in settled)
    every = "".join(f"{name}, " for name in [*plain, *["None"] * count][:count])
    lines = [
        "    result, key = NotImplemented, None",
        f"    if {' and '.join(tests)}:",
        f"        key = {', '.join(key)}, {chosen}",
        "        run = specialized.get(key)",
        "        if run is not None:",
        f"            result, key = run({', '.join(given)}, {others}{out}), None",
        "    if result is NotImplemented:",
        f"        result = {call}",
        "        if key is not None:",
        f"            keep_specialized(key, ({every}), ({chosen}))",
    ]
    specialized: dict[tuple, object] = {}

    def keep_specialized(key, inputs, values):
        """Specialize the kernel for calls like one."""
        run = specialize(kernel.device_module, *inputs, **dict(zip(settled, values, strict=True))) or decline
        if len(specialized) >= MAX_SPECIALIZED:
            specialized.clear()
        specialized[key] = run

    names = {"specialized": specialized, "keep_specialized": keep_specialized, "device": kernel.device_module}
    return lines, names | names_in_tests(op)


def decline(*call):
    """Leave a call to the kernel for all calls."""
    return NotImplemented
