import numpy as np

import lodkit

from . import common

FORMATS = [8, 4, 2, "float8_e4m3fn", "float8_e5m2"]


class QuantizedBag:
    param_names = ["bits", "width", "ids"]
    params = [FORMATS, [64, 128], ["uniform", "zipf"]]

    def setup(self, bits, width, kind):
        rng = np.random.default_rng(0)
        self.ids = common.ids(rng, kind=kind)
        self.weights = np.ones(len(self.ids.values), np.float32)
        self.rows = lodkit.quantize_rows(common.table(rng, width), bits=bits)
        self.out = lodkit.quantized_embedding_bag(self.rows, self.ids, bits=bits)

    def time_run(self, bits, *_):
        lodkit.quantized_embedding_bag(self.rows, self.ids, bits=bits, out=self.out)

    def time_weighted(self, bits, *_):
        lodkit.quantized_embedding_bag(self.rows, self.ids, self.weights, bits=bits, out=self.out)


class QuantizedLookup:
    param_names = ["bits", "width"]
    params = [FORMATS, [64, 128]]

    def setup(self, bits, width):
        rng = np.random.default_rng(0)
        self.ids, self.rows = common.ids(rng).values, lodkit.quantize_rows(common.table(rng, width), bits=bits)
        self.out = lodkit.quantized_lookup_table(self.rows, self.ids)

    def time_run(self, *_):
        lodkit.quantized_lookup_table(self.rows, self.ids, out=self.out)


class Pack:
    param_names = ["bits"]
    params = [FORMATS]

    def setup(self, bits):
        self.table = common.table(np.random.default_rng(0), 64)
        self.rows = lodkit.quantize_rows(self.table, bits=bits)
        self.out = lodkit.dequantize_rows(self.rows, bits=bits)

    def time_quantize(self, bits):
        lodkit.quantize_rows(self.table, bits=bits, out=self.rows.values)

    def time_dequantize(self, bits):
        lodkit.dequantize_rows(self.rows, bits=bits, out=self.out)


class Cast:
    def setup(self):
        self.table = common.table(np.random.default_rng(0), 64)
        self.half = lodkit.cast(self.table, dtype="float16")

    def time_to_half(self):
        lodkit.cast(self.table, dtype="float16", out=self.half)

    def time_to_float(self):
        lodkit.cast(self.half, dtype="float32", out=self.table)
