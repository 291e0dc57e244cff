"""The call of an operator: a function with the signature of its definition, made from source.

Python binds inputs and attributes. What calls with inputs of some types have in common is settled at the first of them
and kept as a *plan* by these types: the kernel, that for few sequences and its contract, and which inputs are converted
or compared with their structure. A later call tests its attributes, finds its plan, and runs the kernel. Whatever does
not fit goes the slow way, ``run_slowly``, which makes a plan or explains what is wrong.

To read: ``make_call`` makes the call, ``make_plan`` the plan, and both show what they make; ``run_slowly`` is the first
call with inputs of some types, ``run_unmatched`` a call whose arrays are not as its plan takes them.
"""

from __future__ import annotations

import numpy as np

from ..arrays import device_of, refuse_overlap
from ..arrays.devices import know_type, known_on_gpu
from ..arrays.recorded import RecordedArray, plain_view, state
from ..base.errors import DTypeError, OutputError
from ..base.tracebacks import compile_function, full, restate, shorten
from ..lod import LoDTensor, SelectedRows
from .contract import misfits_of, names_in_tests, write_call
from .explaining import explain
from .inputs import fits_plan, holds_recorded, is_ndarray, labels_of
from .kinds import given_back, numbers_of, unwrapped, views_kept
from .open_tapes import call_recorded, listeners, note_update, note_written, open_tapes
from .out import call_with_out, copy_result, fills_out
from .specializing import write_specialized_call
from .tensors import call_on_copies, holds_bfloat16, holds_tensors
from .usage import rename_attributes


class Missing:
    """Type of what a call lacks."""

    def __repr__(self):
        return "<missing>"


MISSING = Missing()
MAX_PLANS = 256  # of an operator: one that takes any number of inputs has one for each number
#: Last part of the key of a plan whose arrays are on a GPU, and of one that fills an array.
ON_GPU, OUT = "cuda", "out"


def make_call(op):
    """Make the function that calls an operator.

    Of ``def relu(x: Dense, /)`` it is::

        def relu(__self, x=__missing, /, *__more, out=None, **__unknown):
            try:
                if not __state.open and not __unknown and not __more:
                    __plan = __plans.get((type(x), ) if out is None else (type(x), "out"))
                    if __plan is not None:
                        __result = __plan(x, ) if out is None else __plan(x, out)
                        return __result
                return __slow(__op, (x, ) + __more, (), __unknown, out)
            except Exception as __error:
                ...  # names inputs in NumPy's errors, and leaves lodkit's own lines out of the traceback

    An attribute that differs from its default is tested before the plan is looked up, by a line of its own.
    """
    names, attrs = [f"{name}_" if name == "out" else name for name in op.inputs], [*op._checks]
    every = "".join(f"{name}, " for name in names)
    given, types = every, "".join(f"type({name}), " for name in names)
    signature = [*(f"{name}=__missing" if i < op.required else f"{name}=None" for i, name in enumerate(names)), "/"]
    signature, more, fits = [*signature, "*__more"], " + __more", ["not __state.open", "not __unknown"]
    if op.variadic:
        given = every = "".join(f"{name}, " for name in names[:-1]) + f"*{names[-1]}, "
        types, more = f"*map(type, ({every})), ", ""
        signature = [*(f"{name}=__missing" for name in names[:-1]), *["/"] * (len(names) > 1), f"*{names[-1]}"]
    else:
        fits.append("not __more")
    space, tests = {}, []
    for i, name in enumerate(attrs):
        space[f"__test{i}"], space[f"__default{i}"] = op._checks[name].test, op.defaults.get(name, MISSING)
        if name not in op.defaults:
            fits.append(f"{name} is not __missing")
        misfits = [*[f"{name} is not __default{i}"] * (name in op.defaults), *misfits_of(name, op._checks[name])]
        misfits.append(f"not __test{i}({name})")
        tests.append(f"            if {' and '.join(misfits)}: {name} = __settle({name!r}, {name})")
    values, note = "".join(f"{name}, " for name in attrs), f"__note(__op, ({every}))"
    lines = [
        f"def {op.name}(__self, {', '.join([*signature, *(f'{n}=__default{i}' for i, n in enumerate(attrs))])}, "
        "out=None, **__unknown):",
        "    try:",
        f"        if {' and '.join(fits)}:",
        *tests,
        f"            __plan = __plans.get(({types}) if out is None else ({types}{OUT!r}))",
        "            if __plan is not None:",
        f"                __result = __plan({given}{values}) if out is None else __plan({given}{values}out)",
        *[f"                if __listeners.data: {note}"] * bool(op.updates),
        "                return __result",
        f"        return __slow(__op, ({every}){more}, ({values}), __unknown, out)",
        "    except Exception as __error:",
        "        if isinstance(__error, __DTypeError):",
        f"            __result = __in_float32(__op, ({every}){more}, ({values}), __unknown, out)",
        "            if __result is not NotImplemented:",
        "                return __result",
        f"        __clear = __explain(__op, ({every}){more}, ({values}), __unknown, __error)",
        "        if __clear is not None and not __restate(__error, __clear):",
        "            raise __clear from (__error if __full() else None)",
        "        __shorten(__error)",
        "        raise",
    ]
    if op.updates:  # Ctrl-C may come between the update and the note of it
        lines += ["    except BaseException:", f"        {note}", "        raise"]
    space |= {"__op": op, "__plans": op._plans, "__state": state, "__missing": MISSING, "__settle": op._settled}
    space |= {"__slow": run_slowly, "__explain": explain_call, "__full": full, "__shorten": shorten}
    space |= {"__listeners": listeners, "__note": note_update, "__restate": restate}
    space |= {"__DTypeError": DTypeError, "__in_float32": run_in_float32}
    return compile_function(op.name, op.name, lines, space)


def read_arguments(op, inputs, values, unknown=()):
    """Return the inputs and attributes of a call that differ from their defaults."""
    count = len(inputs)
    for i, x in enumerate(inputs):
        if x is MISSING:
            count = i
            break
    while op.required < count <= len(op.inputs) and inputs[count - 1] is None:
        count -= 1
    attrs = {name: x for (name, default), x in zip(op._attributes, values, strict=True) if x is not default}
    if unknown:
        attrs = rename_attributes(op, attrs | unknown)
    return inputs[:count], attrs


def explain_call(op, inputs, values, unknown, error):
    """Return an error that names inputs and attributes, in place of one of NumPy's; None for others."""
    inputs, attrs = read_arguments(op, inputs, values, unknown)
    return explain(op, inputs, attrs, error)


def run_in_float32(op, inputs, values, unknown, out):
    """Run a call that refused arrays of bfloat16, on copies in float32; NotImplemented where there are none.

    Results are rounded once. An operator refuses a type before it writes.
    """
    inputs, attrs = read_arguments(op, inputs, values, unknown)
    if not holds_bfloat16((*inputs, out)):
        return NotImplemented
    try:
        result = call_on_copies(op, inputs, attrs, out)
    except Exception as error:
        if isinstance(error, DTypeError | OutputError) and "float32" in str(error):
            error.args = (f"{error} (numbers of bfloat16 were read as float32)",)
        shorten(error)
        raise error from None
    if listeners.data and op._updated:
        note_update(op, inputs)
    return result


def run_slowly(op, inputs, values, unknown, out):
    """Run a call that has no plan: record it, take and return tensors, fill ``out``, or make a plan."""
    inputs, attrs = read_arguments(op, inputs, values, unknown)
    if state.open and open_tapes():
        return call_recorded(op, inputs, out, attrs)
    if out is not None:
        result = call_with_out(op, inputs, attrs, out)
        keep_plan_with_out(op, inputs, out)
        return result
    plan, accepted = op._plans.get(types_of(op, inputs)), inputs
    if plan is None:
        if holds_tensors(inputs):
            return call_with_tensors(op, inputs, attrs)
        if any(isinstance(x, LoDTensor | SelectedRows) and holds_recorded(x) for x in inputs):
            return run_unwrapped(op, inputs, attrs)
        accepted = op._accept(inputs)
        if not any(map(holds_recorded, inputs)):  # lists and others that were converted go by the plan of arrays
            plan = op._plans.get(types_of(op, accepted))
        launch = None if plan else op._launcher(accepted)
    op._check_attrs(attrs)
    op._check_needed(attrs)
    if plan is not None:
        result = run_plan(op, plan, accepted, attrs)
    else:
        result = keep_plan(op, inputs, accepted, launch, attrs)(*accepted, **attrs)
    if listeners.data and op._updated:
        note_update(op, inputs)
    return result


def run_plan(op, plan, inputs, attrs):
    """Run a plan for attributes that were checked, of which those that differ from their defaults are given."""
    settled = {**op.defaults, **attrs}
    return plan(*fill_absent(op, inputs), *[settled[name] for name in op._checks])


def fill_absent(op, inputs):
    """Return the inputs, with None for optional ones that were not given."""
    return inputs if op.variadic else (*inputs, *[None] * (len(op.inputs) - len(inputs)))


def types_of(op, inputs):
    """The key of a plan: the types of all inputs."""
    return tuple(map(type, fill_absent(op, inputs)))


def keep_plan(op, given, accepted, launch, attrs):
    """Keep the plan of calls like one, if compiled code can take what was given; return a launcher for this call."""
    if len(op._plans) > MAX_PLANS:
        op._plans.clear()
    key, numbers = types_of(op, given), int | float | np.number
    converts = [g is not a and not isinstance(g, numbers | RecordedArray) for g, a in zip(given, accepted, strict=True)]
    if all(x is None or device_of(x) != "cuda" for x in accepted):
        op._plans[types_of(op, accepted)] = make_plan(op, accepted, launch)
        if not any(converts):
            op._plans[key] = make_plan(op, given, launch)
    elif all(g is a for g, a in zip(given, accepted, strict=True)):
        for x in given:
            for array in (x._rows, x._value) if type(x) is SelectedRows else (numbers_of(x),):
                know_type(array)
        op._plans[*key, ON_GPU] = plan = make_plan(op, given, launch, on_gpu=True)
        op._plans.setdefault(key, plan)
    recorded = [x for x in given if isinstance(x, RecordedArray)]
    launch = op._choose(accepted, attrs)[0] if op._few else launch
    if not recorded:
        return launch
    return lambda *inputs, **attrs: views_kept(given_back(launch(*inputs, **attrs), accepted, given), recorded)


def keep_plan_with_out(op, inputs, out):
    """Keep the plan of calls with ``out=`` like one that has run, if all arrays are plain ones of NumPy."""
    key = *types_of(op, inputs), OUT
    if key in op._plans or type(out) is not np.ndarray or not all(fits_plan(x, is_ndarray) for x in inputs):
        return
    accepted = op._accept(inputs)
    if all(g is a for g, a in zip(inputs, accepted, strict=True)):
        if len(op._plans) > MAX_PLANS:
            op._plans.clear()
        op._plans[key] = make_plan(op, inputs, op._launcher(inputs), with_out=True)


def run_unmatched_with_out(op, inputs, values, out):
    """Run a call with ``out=`` whose arrays are not as its plan takes them."""
    inputs, attrs = read_arguments(op, inputs, values)
    return call_with_out(op, inputs, attrs, out)


def make_plan(op, inputs, launch, on_gpu=False, with_out=False):
    """Make the function that runs a kernel for inputs of the types of these, and attributes that were tested.

    Of ``sequence_slice(LoDTensor, ndarray)`` it is, with the contract of the kernel for few sequences cut short::

        def plan(x0, x1, x2, a0, a1, a2, a3, ):
            v0, lod0 = x0._values, x0._lod
            if not (type(v0) is ndarray and (not lod0 or lod0[-1].item(-1) == len(v0))):
                return run_unmatched(op, (x0, x1, x2, ), (a0, a1, a2, a3, ))
            if len(lod0) == 1 and 0 < v0.size < 4 * settings.parallel_from and ... and a3 in (-1, 0):
                result = launch_few((v0, lod0[0]), x1, by=a0, wrap=a1, clip=a2, level=a3, )
                if result is not NotImplemented:
                    return result
            result = launch(x0, x1, by=a0, wrap=a1, clip=a2, level=a3, )
            return result

    A plan ``with_out`` takes an array after the attributes, which the kernel fills, or the result is copied into. What
    it calls first where a kernel may be specialized, ``write_specialized_call`` shows.
    """
    arrays: dict[int, tuple[str, str | None]] = {}
    tests, reads, plain, recorded = [], [], [f"x{i}" for i in range(len(inputs))], []
    for i, x in enumerate(inputs):
        if isinstance(x, LoDTensor):
            arrays[i] = f"v{i}", f"lod{i}"
            reads.append(f"    v{i}, lod{i} = x{i}._values, x{i}._lod")
            tests.append(f"known(v{i})" if on_gpu else f"type(v{i}) is ndarray")
            rows = f"v{i}.shape[0]" if on_gpu else f"len(v{i})"
            tests.append(f"(not lod{i} or lod{i}[-1].item(-1) == {rows})")
        elif isinstance(x, SelectedRows):
            reads.append(f"    v{i} = x{i}._value")
            tests += [f"known(v{i}) and known(x{i}._rows)" if on_gpu else f"type(v{i}) is ndarray"]
            tests.append(f"x{i}._rows.shape[0] == v{i}.shape[0]")
        elif isinstance(x, RecordedArray):
            plain[i] = f"p{i}"
            reads.append(f"    p{i} = plain_view(x{i})")
            recorded.append(f"x{i}, ")
        elif isinstance(x, int | float | np.number):
            plain[i] = f"asarray(x{i})"
        elif on_gpu and x is not None:
            tests.append(f"known(x{i})")
        elif type(x) is np.ndarray:
            arrays[i] = f"x{i}", None
    every = "".join(f"x{i}, " for i in range(max(len(inputs), len(op.inputs) - op.variadic)))
    values = "".join(f"a{i}, " for i in range(len(op._checks)))
    keywords = "".join(f"{name}=a{i}, " for i, name in enumerate(op._checks))
    out, unmatched = ("out", "run_unmatched_with_out") if with_out else ("", "run_unmatched")
    tests += ["type(out) is ndarray"] * with_out
    lines = [f"def plan({every}{values}{out}):", *reads]
    if tests:
        lines += [
            f"    if not ({' and '.join(tests)}):",
            f"        return {unmatched}(op, ({every}), ({values}), {out})",
        ]
    names = {"op": op, "launch": launch, "restore_given": restore_given, "listeners": listeners}
    names |= {x.__name__: x for x in (run_unmatched, run_unmatched_with_out, refuse_overlap, copy_result, note_written)}
    few = op._few.get(op._kinds_of(inputs)) if op._few and not (on_gpu or recorded or with_out) else None
    if few is not None:
        lines += write_few_call(op, few, inputs, keywords)
        names |= {"launch_few": few.launch, **names_in_tests(op)}
    if with_out:
        read = ", ".join(arrays.get(i, (f"x{i}", None))[0] for i in range(len(inputs)))
        lines.append(f"    refuse_overlap('out', out, [{read}], {labels_of(op, inputs)})")
        keywords += "out=out, " * fills_out(launch)
    call, more = write_call(op, inputs, plain, {} if on_gpu else arrays, keywords)
    if with_out:
        call = call if fills_out(launch) else f"copy_result(op, {call}, out)"
    lines_of_call = [f"    result = {call}"]
    if not (on_gpu or recorded) and (not with_out or fills_out(launch)):
        specialized, of_kernel = write_specialized_call(op, inputs, plain, arrays, call, out)
        lines_of_call, names = specialized or lines_of_call, names | of_kernel
    lines += lines_of_call
    lines += ["    if listeners.data: note_written(out)"] * with_out
    if recorded:
        swapped = "".join(f"{p if p[0] == 'p' else f'x{i}'}, " for i, p in enumerate(plain))
        lines.append(f"    result = restore_given(result, ({swapped}), ({every}), ({''.join(recorded)}))")
    names |= more | {"ndarray": np.ndarray, "asarray": np.asarray, "known": known_on_gpu, "plain_view": plain_view}
    title = f"{op.name}: {', '.join(type(x).__name__ for x in inputs)}"
    return compile_function("plan", title, [*lines, "    return result"], names)


def write_few_call(op, few, inputs, keywords):
    """Write the lines of a plan that run the kernel for few sequences where a call keeps its contract."""
    tests = [test for test, _ in few.contract.write_tests(op, inputs)]
    if "False" in tests:
        return []
    return [
        f"    if {' and '.join(tests)}:",
        f"        result = launch_few({', '.join([*few.contract.write_arguments(inputs), keywords])})",
        "        if result is not NotImplemented:",
        "            return result",
    ]


def restore_given(result, plain, given, recorded):
    """Return the result of plain arrays in place of recorded ones: what it updates comes back as it was given."""
    for i, x in enumerate(plain):
        if result is x:
            return given[i]
    if type(result) is np.ndarray and result.base is None:  # memory of its own
        return result
    return views_kept(given_back(result, plain, given), recorded)


def run_unmatched(op, inputs, values, tried=None):
    """Run a call whose arrays are not as its plan takes them: on a GPU, tensors, recorded, or resized."""
    inputs, attrs = read_arguments(op, inputs, values)
    plan = op._plans.get((*types_of(op, inputs), ON_GPU))
    if plan is not None and all(fits_plan(x, known_on_gpu) for x in inputs):
        return plan(*fill_absent(op, inputs), *values)
    if holds_tensors(inputs):
        return call_with_tensors(op, inputs, attrs, values, tried)
    if any(map(holds_recorded, inputs)):
        return run_unwrapped(op, inputs, attrs)
    accepted = op._accept(inputs)  # numbers: on the device of the others
    launch = op._launcher(accepted)
    return keep_plan(op, inputs, accepted, launch, attrs)(*accepted, **attrs)


def call_with_tensors(*call):
    """Call an operator with tensors of PyTorch."""
    from .tensor_plans import call_with_tensors

    return call_with_tensors(*call)


def run_unwrapped(op, inputs, attrs):
    """Run a call on the plain arrays behind recorded ones, also in LoDTensors and SelectedRows."""
    plain = tuple(map(unwrapped, inputs))
    result = op.full(*plain, **attrs)
    return views_kept(given_back(result, plain, inputs), [*map(numbers_of, inputs)])
