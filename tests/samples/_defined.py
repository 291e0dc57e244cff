"""What the definition of an operator gives, and the type of a sample."""

from lodkit import LoDTensor


def defined(op, inputs, attrs):
    """The result by the definition, which of a row-by-row operator takes plain arrays; it may write to the inputs."""
    accepted = op._accept(tuple(inputs))
    if not op.rowwise:
        return op.definition(*accepted, **attrs)
    like = next((x for x in accepted if isinstance(x, LoDTensor)), None)
    expected = op.definition(*(x.values if isinstance(x, LoDTensor) else x for x in accepted), **attrs)
    if like is None:
        return expected
    return tuple(map(like.with_values, expected)) if isinstance(expected, tuple) else like.with_values(expected)


def numbers_type(inputs):
    """The type of the first floating input."""
    dtypes = [getattr(getattr(x, "values", getattr(x, "value", x)), "dtype", None) for x in inputs]
    return next((d for d in dtypes if d is not None and d.kind == "f"), None)
