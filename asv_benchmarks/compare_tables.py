"""Comparisons of packing, ids and quantized tables."""

from __future__ import annotations

import numpy as np
from measuring import BATCHES, HEIGHT, QUICK, drawn_ids, measure, rng
from peers import awkward, fbgemm, torch

import lodkit

SEQUENCES, BAGS, COUNT = (64, 50, 500) if QUICK else (4096, 2000, 100_000)


def packing():
    """Pad and unpad sequences of up to 100 rows of 64."""
    lengths = rng.integers(0, 101, SEQUENCES)
    x = rng.standard_normal((lengths.sum(), 64), dtype=np.float32)
    packed = lodkit.pack_segments(x, lengths)
    out, rows = np.empty_like(packed), np.empty_like(x)
    calls = {"lodkit": lambda r: lodkit.pack_segments(x, lengths)}
    back = {"lodkit": lambda r: lodkit.unpack_segments(packed, lengths)}
    ends = np.cumsum(lengths)

    def numpy_pack(r):
        result = np.zeros_like(packed)
        for s, (n, end) in enumerate(zip(lengths, ends, strict=True)):
            result[s, :n] = x[end - n : end]
        return result

    calls["numpy loop"] = numpy_pack
    back["numpy mask"] = lambda r: packed[np.arange(packed.shape[1]) < lengths[:, None]]
    if torch:
        parts = list(torch.split(torch.from_numpy(x), lengths.tolist()))
        calls["torch pad_sequence"] = lambda r: torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)
        tp, tl = torch.from_numpy(packed), torch.from_numpy(lengths)
        there = torch.arange(packed.shape[1])[None] < tl[:, None]
        back["torch mask, made before"] = lambda r: tp[there]
    if fbgemm:
        offsets, width = [torch.from_numpy(np.append(0, ends))], packed.shape[1]
        given = torch.from_numpy(x)
        calls["fbgemm"] = lambda r: fbgemm.jagged_to_padded_dense(given, offsets, [width], 0.0)
        back["fbgemm"] = lambda r: fbgemm.dense_to_jagged(tp, offsets, len(x))[0]
    if awkward:
        ragged = awkward.unflatten(x, lengths)
        calls["awkward"] = lambda r: _padded(ragged, packed.shape[1])
    measure("pack_segments", calls, packed.nbytes)
    measure(
        "pack_segments, out=", calls | {"lodkit": lambda r: lodkit.pack_segments(x, lengths, out=out)}, packed.nbytes
    )
    measure("unpack_segments", back, x.nbytes)
    back["lodkit"] = lambda r: lodkit.unpack_segments(packed, lengths, out=rows)
    measure("unpack_segments, out=", back, x.nbytes)


def _padded(ragged, width):
    """Pad with whole rows, since awkward's None replaces a whole row."""
    rows = awkward.to_packed(awkward.fill_none(awkward.pad_none(ragged, width, axis=1, clip=True), [0.0] * 64, axis=1))
    return awkward.to_numpy(rows).astype(np.float32, copy=False)


def ids():
    """Compare distinct ids with inverse, and the top 5 per segment."""
    drawn = drawn_ids("zipf", COUNT)
    calls = {"lodkit": lambda r: lodkit.unique(drawn, return_inverse=True)[1]}
    calls["numpy unique"] = lambda r: np.unique(drawn, return_inverse=True)[1]
    if torch:
        given = torch.from_numpy(drawn)
        calls["torch unique"] = lambda r: torch.unique(given, return_inverse=True)[1]
    measure("unique with inverse, 100k ids", calls)
    lengths = rng.multinomial(COUNT, rng.dirichlet(np.full(BAGS, 0.5)))
    x = rng.standard_normal(COUNT, dtype=np.float32)
    ends = np.cumsum(lengths)

    def loop(r):
        result = np.zeros((BAGS, 5), np.float32)
        for s, (n, end) in enumerate(zip(lengths, ends, strict=True)):
            top = -np.sort(-x[end - n : end])[:5]
            result[s, : len(top)] = top
        return result

    calls = {"lodkit": lambda r: lodkit.lengths_top_k(x, lengths, k=5)[0], "numpy loop": loop}
    measure("lengths_top_k of 5, 100k values", calls)


def torch_bags(table, bags, bits):
    name = "byte" if bits == 8 else f"{bits}bit"
    packed = getattr(torch.ops.quantized, f"embedding_bag_{name}_prepack")(torch.from_numpy(table))
    run = getattr(torch.ops.quantized, f"embedding_bag_{name}_rowwise_offsets")
    given = [(torch.from_numpy(x.values), torch.from_numpy(x.offsets()[:-1].copy())) for x in bags]
    return lambda r: run(packed, *given[r % len(given)], False, 0)


def _torch_float8_bags(rows, bags):
    """Make bags of as many ids each by PyTorch, which has none: rows are gathered as bytes, converted and summed."""
    words, scale = torch.from_numpy(rows.values), torch.from_numpy(np.resize(rows.scale, (len(rows), 1)))
    given, kind = [torch.from_numpy(x.values) for x in bags], getattr(torch, rows.bits)

    def call(r):
        ids = given[r % len(given)]
        taken = words[ids].view(kind).float() * scale[ids]
        return taken.view(BAGS, -1, rows.columns).sum(1)

    return call


def _fbgemm_bags(bags, bits):
    """Make FBGEMM's inference bags, over a table of its own with float16 scales; they return None."""
    from fbgemm_gpu.split_embedding_configs import SparseType
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
    from fbgemm_gpu.split_table_batched_embeddings_ops_inference import IntNBitTableBatchedEmbeddingBagsCodegen

    kind = SparseType.INT8 if bits == 8 else SparseType.INT4
    specs = [("table", HEIGHT, 64, kind, EmbeddingLocation.HOST)]
    table = IntNBitTableBatchedEmbeddingBagsCodegen(specs, device="cpu", output_dtype=SparseType.FP32)
    table.initialize_weights()
    given = [[torch.from_numpy(part.copy()).int() for part in (x.values, x.offsets())] for x in bags]

    def call(r):
        table(*given[r % len(given)])

    return call


def quantized():
    """Compare bags of 8 and 4 bits and of float8 with float32 bags: 2,000 bags, 100k ids, 64 columns."""
    table = rng.standard_normal((HEIGHT, 64), dtype=np.float32)
    lengths = np.full(BAGS, COUNT // BAGS)
    bags = [lodkit.LoDTensor(rng.integers(0, HEIGHT, lengths.sum()), [lengths]) for _ in range(BATCHES)]
    weights = rng.standard_normal(lengths.sum(), dtype=np.float32)
    formats = (8, "row"), (4, "row"), ("float8_e4m3fn", "row"), ("float8_e4m3fn", "table"), ("float8_e5m2", "row")
    for bits, per in formats:
        rows, in_float8 = lodkit.quantize_rows(table, bits=bits, per=per), isinstance(bits, str)
        unpacked = lodkit.dequantize_rows(rows)
        calls = {
            "lodkit": lambda r, q=rows, b=bits: lodkit.quantized_embedding_bag(q, bags[r % BATCHES], bits=b),
            "lodkit, float32 table": lambda r, t=unpacked: lodkit.embedding_bag(t, bags[r % BATCHES]),
        }
        if torch:
            calls["torch"] = _torch_float8_bags(rows, bags) if in_float8 else torch_bags(table, bags, bits)
        if fbgemm and not in_float8:
            calls["fbgemm"] = _fbgemm_bags(bags, bits)
        measure(f"bags of {bits}, by {per}" if in_float8 else f"bags of {bits} bits", calls)
    calls = {
        "lodkit": lambda r: lodkit.embedding_bag(table, bags[r % BATCHES], weights),
        "lodkit lookup, weigh, pool": lambda r: lodkit.sequence_pool(
            lodkit.LoDTensor(lodkit.lookup_table(table, bags[r % BATCHES].values) * weights[:, None], [lengths])
        ),
    }
    measure("weighted bags, fused", calls)


GROUPS = (packing, ids, quantized)
