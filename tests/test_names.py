"""Names as docs/CONTRIBUTING.md wants them: a function is a verb and its object, a predicate or a noun."""

from __future__ import annotations

import ast
import functools
import pathlib

import pytest

import lodkit

PACKAGE = pathlib.Path(lodkit.__file__).parent

PREPOSITIONS = """about above across after against ahead along among around at before behind below beneath beside
between beyond by down for in inside into near of off on onto out outside over past per than through toward
towards under until up upto upon versus via within"""
CONNECTIVES = "and but else if or otherwise that then unless what when where whether which while who whose"
DETERMINERS = "all another any both each either every few least less many more most neither other others some such"
ADVERBS = """again apart aside away back directly else ever first here instead last later never not now often once
only soon then there together too twice up yet"""
ADJECTIVES = """aligned alone bare best big contiguous dense distinct double empty equal even exact extra far fewer
finite fresh full high infinite large larger late long longer longest low missing near odd own plain private public
ragged rare readable same short single small sparse uneven unusual whole wide writable"""
PARTICIPLES = """begun bought brought built chosen computing done drawn driven dealt felt following found frozen given
gone grown held hidden kept known lent lost made meant misaligned met paid returning running said seen sent shown
sold stepping sunk taken thrown told torn undealt understood unread won worn wrapping written"""
#: Nouns and verbs of the field that end as participles do.
NO_PARTICIPLES = {"bed", "embed", "feed", "need", "seed", "shed", "speed", "exceed", "fixed", "succeed"}
#: Conversions, as Python and NumPy call them: ``from_dlpack``, ``to_bytes``, ``as_strided``, ``with_name``.
CONVERSIONS = {"from", "to", "as", "with", "without"}

FUNCTION_WORDS = set(f"{PREPOSITIONS} {CONNECTIVES} {DETERMINERS}".split())
NO_NAMES = FUNCTION_WORDS | set(f"{ADVERBS} {ADJECTIVES} {PARTICIPLES}".split())

#: Constants that say how much, and not of what.
VAGUE = {"ALL", "BIG", "ENOUGH", "FAR", "FEW", "HUGE", "LARGE", "LEAST", "LESS", "LONG", "LONGEST", "LOW", "HIGH"}
VAGUE |= {"LOOKS", "MANY", "MORE", "MOST", "NEAR", "RARE", "SHORT", "SMALL", "SOME", "SPARE", "TINY", "WIDE"}


def is_participle(word):
    return word.endswith("ed") and word not in NO_PARTICIPLES


def is_refused(name):
    """Whether all words of a name are participles, prepositions, adverbs or adjectives, or the first is no verb's."""
    words = name.strip("_").split("_")
    if all(word in NO_NAMES or is_participle(word) for word in words):
        return True
    return words[0] in FUNCTION_WORDS - CONVERSIONS


#: Names that users, pickles or other libraries know: they stay.
PUBLIC = {
    "__init__.py _public",
    "batch.py at_once",
    "checkpoint.py extra",
    "desc.py but",
    "desc.py of",
    "engine.py received",
    "intrinsics.py full",
    "libraries.py empty",
    "libraries.py on",
    "loading.py public",
    "nested.py keyed",
    "nested.py ragged",
    "numpy_arrays.py empty",
    "progress.py at",
    "public_call.py full",
    "rank_table.py running",
    "recurrent_layers.py stacked",
    "sequence_arithmetic.py per_sequence",
    "sequence_arithmetic.py per_sequence_values_grad",
    "simd.py full",
    "simulate.py received",
    "simulate.py sent",
    "vector.py where",
    "vector_math.py where",
    "vocabulary.py _restored",
}
#: Names from before this rule. Rename one where you pass, and take it out here; none is added.
ALLOWED = {
    "_types.py last",
    "adam_optimizers.py corrected",
    "bag_gradient.py joined",
    "bag_gradient.py of",
    "bag_gradient.py of_rows",
    "bag_updates.py _fused",
    "bag_updates.py fused",
    "checkpoint_exchange.py at_root",
    "checkpoint_exchange.py in_place",
    "checks.py counted",
    "checks.py made",
    "checks.py named",
    "checks.py settled",
    "explaining.py by_position",
    "garbage.py uncollected",
    "gradient_kernels.py plain",
    "kinds.py _nested",
    "kinds.py aligned",
    "kinds.py given_back",
    "kinds.py on_gpu",
    "kinds.py replaced",
    "kinds.py unwrapped",
    "kinds.py wrapped",
    "launcher.py into",
    "levels.py resized",
    "markup.py folded",
    "members.py _whole",
    "norm_optimizers.py _clipped",
    "numpy_arrays.py writable",
    "operators.py _inferred",
    "operators.py _settled",
    "optim.py _loaded",
    "optim.py _made",
    "optim.py _named",
    "optim.py _planned",
    "optimizer.py _loaded",
    "optimizer.py _made",
    "optimizer.py jittered",
    "private_numba.py untrusted",
    "public_call.py shown",
    "public_call.py taken",
    "recorded.py recorded",
    "reducers.py larger",
    "representation.py unquoted",
    "rule.py by_row",
    "rule.py settled",
    "selected_rows.py _whole",
    "selected_rows.py added",
    "simd.py high",
    "simd.py larger",
    "simd.py low",
    "simd.py paired",
    "structure.py _whole",
    "torch_arguments.py _given",
    "torch_arguments.py _of_values",
    "torch_arguments.py _plain",
    "torch_arguments.py _restored",
    "tensors.py changed",
    "tensors.py plain",
    "tensors.py restored",
    "tensors.py unusual",
    "tracebacks.py full",
    "updates.py adjusted",
    "updates.py masked",
    "updates.py merged",
    "updates.py per_row",
    "updates.py settled",
    "vector_math.py reduced",
    "views.py writable",
}


def names_of(file):
    """Names of the functions and of the constants that a file defines."""
    tree = ast.parse(file.read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    targets += [part for target in targets if isinstance(target, ast.Tuple) for part in target.elts]
    return functions, {target.id for target in targets if isinstance(target, ast.Name)}


@functools.cache
def refused_names():
    """Functions and constants that the rule refuses, each behind the name of its file: folders may change."""
    functions, constants = set(), set()
    for file in PACKAGE.rglob("*.py"):
        defined, assigned = names_of(file)
        functions |= {f"{file.name} {name}" for name in defined if not name.startswith("__") and is_refused(name)}
        constants |= {f"{file.name} {name}" for name in assigned if name.strip("_") in VAGUE}
    return functions, constants


def test_functions_are_verbs_predicates_or_nouns():
    found, _ = refused_names()
    assert sorted(found - PUBLIC - ALLOWED) == [], "name it by a verb and its object, a predicate (is_, has_) or a noun"
    assert sorted((PUBLIC | ALLOWED) - found) == [], "no longer there: take it out of the list"


def test_constants_name_a_quantity():
    _, found = refused_names()
    assert sorted(found) == [], "name the quantity and its unit: STREAM_BYTES, MAX_KEPT_BYTES"


@pytest.mark.parametrize("name", ["moved", "_few", "placed_back", "above", "by_rank", "again", "of_all"])
def test_names_that_the_rule_refuses(name):
    assert is_refused(name)


@pytest.mark.parametrize("name", ["gather", "is_ragged", "masked_rows", "parser", "need", "from_rows", "row_above"])
def test_names_that_the_rule_takes(name):
    assert not is_refused(name)
