"""The law of numbers far from zero, for tests of both devices: x plus a large constant is as exact as x.

Which results do not depend on a constant, and which grow by it, is found by the definition, with small constants.
"""

from __future__ import annotations

import numpy as np
from calls import calling
from conftest import copy, flat
from samples import ALL_TYPES, SAMPLES, defined
from test_every_op import is_floating, with_numbers

import lodkit
from lodkit.registry.kinds import numbers_of

#: By the bytes of a number: the constant, and the steps of numbers near 0 that it keeps exactly.
FAR = {2: (64.0, 1 / 8), 4: (2.0**20, 1 / 4), 8: (2.0**26, 1 / 4)}
SMALL = 0.5, -2.25, 3.5


def floating(result):
    """The arrays of floating numbers of a result."""
    return [x for x in flat(result) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def moved(inputs, i, numbers):
    """Copy inputs, with other numbers in the i-th."""
    return [with_numbers(x, numbers) if k == i else copy(x) for k, x in enumerate(inputs)]


def growth(results):
    """Of each array of results for 0 and each of SMALL: 0 if it stays, 1 if it grows by the constant, else None."""
    return [next((by for by in (0, 1) if grows(by, *arrays)), None) for arrays in zip(*results, strict=True)]


def grows(by, first, *others):
    """Whether arrays of results for SMALL are the first one plus that constant times ``by``."""
    if not first.size or not all(x.shape == first.shape and np.isfinite(x).all() for x in (first, *others)):
        return False
    atol = 1e-9 * np.abs(first).max(initial=1)
    return all(np.allclose(x, first + by * c, rtol=1e-9, atol=atol) for x, c in zip(others, SMALL, strict=True))


def exact_results(op, inputs, i, near, attrs):
    """What the definition gives in double precision for numbers near 0, and the growth of each array."""
    wide = [with_numbers(x, numbers_of(x).astype(np.float64)) if is_floating(x) else x for x in inputs]
    try:
        with np.errstate(all="ignore"):
            results = [floating(defined(op, moved(wide, i, near + c), attrs)) for c in (0.0, *SMALL)]
    except (lodkit.LodkitError, ValueError):  # these numbers, or their type, are not what this input is
        return [], []
    return results[0], growth(results)


def worst_error(got, exact):
    """The largest error of a result, in units of its largest number."""
    return np.nan_to_num(np.abs(got - exact).max() / max(np.abs(exact).max(), 1e-30), nan=np.inf)


def measured(op, inputs, attrs):
    """The inputs, by position, of which a result depends, but not on a constant: what has most to lose."""
    for i, x in enumerate(inputs):
        if is_floating(x):
            near = numbers_of(x).astype(np.float64)
            exact, grows = exact_results(op, inputs, i, near, attrs)
            doubled, _ = exact_results(op, inputs, i, 2 * near, attrs) if 0 in grows else ([], [])
            if any(g == 0 and not np.allclose(a, b) for g, a, b in zip(grows, exact, doubled, strict=False)):
                yield i


def check_input(op, inputs, i, attrs, to=lambda x: x, home=lambda x: x):
    """Hold one input to the law. Returns whether a result does not depend on a constant, or grows by it."""
    dtype = numbers_of(inputs[i]).dtype
    smallest = min([dtype.itemsize, *(x.dtype.itemsize for x in floating(defined(op, map(copy, inputs), attrs)))])
    far, step = FAR[smallest]
    near = np.round(np.clip(numbers_of(inputs[i]).astype(np.float64), -4, 4) / step) * step
    exact, grows = exact_results(op, inputs, i, near, attrs)
    if not any(g is not None for g in grows):
        return False

    def run(constant):
        arguments = moved(inputs, i, (near + constant).astype(dtype))
        with np.errstate(all="ignore"):
            return floating(home(op.full(*map(to, arguments), **attrs)))

    for x, from_0, e, g in zip(run(far), run(0.0), exact, grows, strict=True):
        if g is not None:
            eps = np.finfo(x.dtype).eps
            # A sum of float64 is rounded in float64: its mean is known to the rounding of the constant, not of x.
            allowed = 8 * max(worst_error(from_0.astype(np.float64), e), eps * (far if x.dtype.itemsize == 8 else 1))
            error = worst_error(x.astype(np.float64), e + g * far)
            assert error <= allowed, f"error {error:.2g} of x + {far:g} beside {allowed:.2g} that x allows"
    return True


def representatives(name):
    """The largest sample for each set of attributes; with LODKIT_TEST_TYPES=all also for each type, else of float32.

    Each type of the first floating input takes kernels of its own. Samples without float32 are taken in another type.
    """
    best = {}
    for inputs, attrs in SAMPLES[name]:
        accepted = lodkit.OPS[name]._accept(tuple(inputs))
        numbers = [numbers_of(x) for x in accepted if is_floating(x)]
        size = sum(x.size for x in numbers)
        if size and all(np.isfinite(x).all() for x in numbers):
            key, order = (ALL_TYPES and numbers[0].dtype, repr(attrs)), (numbers[0].dtype == np.float32, size)
            if key not in best or order > best[key][0]:
                best[key] = order, accepted, attrs
    return [(accepted, attrs) for _, accepted, attrs in best.values()]


def is_held(label, exceptions):
    """Whether an input is held to the law: gradients are not, as they multiply what was rounded before."""
    return not label.startswith("grad") and label not in exceptions


def check_far_from_zero(name, inputs, attrs, exceptions=()):
    """Hold all inputs of a call to the law, but for gradients and exceptions."""
    op = lodkit.OPS[name]
    with calling(name, inputs, attrs):
        for i, label in enumerate(op._names(inputs)):
            if is_floating(inputs[i]) and is_held(label, exceptions):
                check_input(op, inputs, i, attrs)
