"""LoDTensor and SelectedRows in a user's ``@numba.njit`` function, beside the same by hand on values and offsets."""

from __future__ import annotations

import numba
import numpy as np

import lodkit

from .common import lengths

SEQUENCES, MEAN = 100_000, 20


def nothing(x):
    return 0


def nothing_of_two(x, y):
    return 0


def identity(x):
    return x


def by_hand(values, offsets):
    total = 0.0
    for i in range(len(offsets) - 1):
        part = 0.0
        for x in values[offsets[i] : offsets[i + 1]]:
            part += x
        total += part * part
    return total


def by_loop(t):
    total = 0.0
    for sequence in t:
        part = 0.0
        for x in sequence:
            part += x
        total += part * part
    return total


def by_index(t):
    total = 0.0
    for i in range(len(t)):
        part = 0.0
        for x in t[i]:
            part += x
        total += part * part
    return total


def by_nested_loops(t):
    total = 0.0
    for document in t:
        for sequence in document:
            part = 0.0
            for x in sequence:
                part += x
            total += part * part
    return total


class NumbaIteration:
    """2 million values in 100,000 sequences; nested: 10,000 documents of 10."""

    params = [["by_hand", "by_loop", "by_index", "by_nested_loops"]]
    param_names = ["function"]

    def setup(self, name):
        rng = np.random.default_rng(0)
        t = lodkit.LoDTensor(rng.random(SEQUENCES * MEAN), [lengths(SEQUENCES, MEAN, rng)])
        if name == "by_nested_loops":
            t = lodkit.LoDTensor(t.values, [np.full(SEQUENCES // 10, 10), t.lengths()])
        self.args = (t.values, t.offsets()) if name == "by_hand" else (t,)
        self.run = numba.njit(globals()[name])
        self.run(*self.args)

    def time_iterate(self, name):
        self.run(*self.args)


class NumbaArgument:
    """A call that does nothing: what passing an argument costs. ``first``: of an object that Numba has not seen."""

    params = [["by_hand", "lod_tensor", "lod_tensor first", "nested", "selected_rows", "lod_tensor and back"]]
    param_names = ["argument"]

    def setup(self, name):
        t = lodkit.LoDTensor(np.ones(10), [[4, 6]])
        self.args = {
            "by_hand": (t.values, t.offsets()),
            "nested": (lodkit.LoDTensor(np.ones(10), [[1, 1], [4, 6]]),),
            "selected_rows": (lodkit.SelectedRows([3, 1], np.ones((2, 3)), 9),),
        }.get(name, (t,))
        function = nothing_of_two if name == "by_hand" else identity if name.endswith("back") else nothing
        self.call = numba.njit(function)
        self.call(*self.args)

    def time_call(self, name):
        if name.endswith("first"):
            self.call(self.args[0].with_values(self.args[0].values))
        else:
            self.call(*self.args)


class NumbaCompile:
    """A first call for a new type: types, lowering, machine code."""

    params = [["by_hand", "by_loop", "by_nested_loops"]]
    param_names = ["function"]
    number, repeat = 1, 5

    def setup(self, name):
        lods = [[1]] if name == "by_nested_loops" else []
        t = lodkit.LoDTensor(np.ones(10), [*lods, [10]])
        self.args = (t.values, t.offsets()) if name == "by_hand" else (t,)
        self.run = numba.njit(globals()[name])

    def time_first_call(self, name):
        self.run(*self.args)
