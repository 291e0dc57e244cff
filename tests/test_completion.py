"""Tab completion in IPython, with jedi and without: names that exist, and the attributes of an operator in its call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import lodkit

NAMESPACE = """
import sys
import numpy as np, lodkit
from lodkit import Features, LoDTensor, SelectedRows
names = {
    "lodkit": lodkit,
    "t": LoDTensor([1.0, 2.0, 3.0], [[2, 1]]),
    "s": SelectedRows([0], np.ones((1, 2)), 3),
    "f": Features([2, 1], [1, 3, 1], [2, 1, 1], [0, 1, 1, 0]),
}
"""
IPYTHON = f"""{NAMESPACE}
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell()
shell.user_ns.update(names)
shell.Completer.use_jedi = sys.argv[1] == "jedi"

def complete(code):
    with provisionalcompleter():
        return {{found.text.removeprefix(".") for found in shell.Completer.completions(code, len(code))}}

known = {{"t": "values lengths with_values tolist", "s": "rows merge to_dense", "f": "feature pool kind"}}
for letter, members in known.items():
    found = complete(letter + ".")
    assert {{*members.split()}} <= found, (letter, found)
    raising = [name for name in found if name.isidentifier() and not hasattr(names[letter], name)]
    assert not raising, (letter, raising)
for code, wanted in (
    ("lodkit.sequence_pool(t, ", {{"pool=", "pad_value=", "level=", "return_index="}}),
    ("lodkit.sequence_pool(t, po", {{"pool="}}),
    ("lodkit.embedding_bag(t, t, padding", {{"padding_idx="}}),
    ("lodkit.adam(t, t, t, t, it", {{"iteration="}}),
):
    found = complete(code)
    assert wanted <= found, (code, found)
assert "sequence_pool" in complete("lodkit.sequence_p")
"""
JEDI = f"""{NAMESPACE}
import jedi

for letter in "tsf":
    found = {{name.name for name in jedi.Interpreter(letter + ".", [names]).complete()}}
    assert found, letter
    # A slot that is not set yet has a name of its own.
    raising = [name for name in found if not name.startswith("_") and not hasattr(names[letter], name)]
    assert not raising, (letter, raising)
assert [name.name for name in jedi.Interpreter("lodkit.sequence_pool(t, po", [names]).complete()] == ["pool="]
"""


def run_script(code, tmp_path, *arguments):
    """Run a script in an interpreter of its own, with IPython's files in a folder of the test."""
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("way", ["jedi", "without jedi"])
def test_ipython_completes_names_that_exist(way, tmp_path):
    pytest.importorskip("IPython")
    if way == "jedi":
        pytest.importorskip("jedi")
    run_script(IPYTHON, tmp_path, way)


def test_jedi_completes_names_that_exist(tmp_path):
    pytest.importorskip("jedi")
    run_script(JEDI, tmp_path)


@pytest.mark.parametrize("cls", [lodkit.LoDTensor, lodkit.SelectedRows, lodkit.Features])
def test_no_hint_of_a_property_stops_jedi(cls):
    """It evaluates the hint of a property, and fails where that is a literal."""
    pytest.importorskip("jedi")
    import jedi

    for name, member in {name: x for base in cls.__mro__ for name, x in vars(base).items()}.items():
        if isinstance(member, property):
            one = type("One", (), {name: member})()
            assert jedi.Interpreter("one.", [{"one": one}]).complete(), name
