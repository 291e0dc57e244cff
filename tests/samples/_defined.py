"""What the definition of an operator gives."""

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
