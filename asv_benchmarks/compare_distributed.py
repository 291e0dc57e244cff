"""A training step of a sharded table by phase, beside one process, and the bytes that each rank sends.

    mpirun -n 2 python -m mpi4py asv_benchmarks/compare_distributed.py [--ids zipf] [--exchange partial] [--quick]

A step looks bags up, and updates by Adagrad. Every rank has a batch of its own, of 4,096 bags of 20 ids on average.
Before each exchange the ranks wait for each other, so that a phase has no other's delay in it; the last line is the
step without these waits. Times are the slowest rank's, in milliseconds: median and minimum of rounds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Engine, ShardedTable, as_engine, normal

#: What happens between the calls of an engine, and in them, in their order.
LOOKUP = ("distinct ids by owner", "* counts", "", "* ids", "gather", "* rows", "pool")
PARTIAL = ("distinct ids by owner, split", "* counts", "", "* ids and bags", "pool at owners", "* parts", "add parts")
UPDATE = ("split bags by owner", "* counts", "take gradients", "* gradients", "update at owners")


class TimedEngine(Engine):
    """An engine whose calls are timed, and what happens between them."""

    def __init__(self, engine, waits=True):
        self._engine, self._waits, self.laps, self._last = engine, waits, [], 0.0
        self.rank, self.size, self.transport = engine.rank, engine.size, engine.transport

    def start(self):
        self._engine.barrier()
        self.laps, self._last = [], time.perf_counter()

    def _lap(self):
        self.laps.append(time.perf_counter() - self._last)
        if self._waits:
            self._engine.barrier()
        self._last = time.perf_counter()

    def stop(self, names):
        """Seconds by name, of the calls since ``start``."""
        self._lap()
        return {name: lap for name, lap in zip(names, self.laps, strict=True) if name}

    def alltoall(self, numbers):
        self._lap()
        result = self._engine.alltoall(numbers)
        self._lap()
        return result

    def start_alltoallv(self, sent, counts, expected):
        self._lap()
        result = self._engine.start_alltoallv(sent, counts, expected)()
        self._lap()
        return lambda: result

    def allgather(self, array):
        return self._engine.allgather(array)

    def barrier(self):
        self._engine.barrier()


def batches(rank, rounds, bags, height, kind):
    """Batches of a rank; the id of rank r in popularity is any one."""
    made = []
    for number in range(rounds):
        rng = np.random.default_rng([rank, number])
        lengths = rng.integers(0, 41, bags)
        if kind == "uniform":
            ids = rng.integers(0, height, lengths.sum())
        else:
            ids = np.minimum(rng.zipf(1.2, lengths.sum()), height) * 7919 % height
        made.append(LoDTensor(ids, [lengths]))
    return made


def step(engine, table, ids):
    """Seconds by phase."""
    timed = isinstance(engine, TimedEngine)
    names = PARTIAL if table.exchange == "partial" else LOOKUP
    engine.start() if timed else None
    out = table.embedding_bag(ids)
    phases = engine.stop(names) if timed else {}
    grad = out * np.float32(0.001)
    engine.start() if timed else None
    table.update(grad)
    return phases | (
        {f"{k} of the update" if k == "* counts" else k: v for k, v in engine.stop(UPDATE).items()} if timed else {}
    )


def one_process(ids, table, moment):
    """Seconds of a step by the operators alone."""
    start = time.perf_counter()
    out = lodkit.embedding_bag(table, ids)
    grad = out * np.float32(0.001)
    lodkit.embedding_bag_adagrad(table, ids, grad, moment, lr=0.1)
    return time.perf_counter() - start


def slowest(engine, seconds):
    """Median and minimum over rounds of the slowest rank, in milliseconds."""
    found = engine.allgather(np.array(seconds)).max(axis=0) * 1e3
    return np.median(found), found.min()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ids", choices=["uniform", "zipf"], default="uniform")
    options.add_argument("--exchange", choices=["rows", "partial"], default="rows")
    options.add_argument("--dealing", choices=["ranges", "hash"], default="ranges")
    options.add_argument("--hot", type=int, default=0, help="so many rows on every rank: the most popular of zipf")
    options.add_argument("--height", type=int, default=1_000_000)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--bags", type=int, default=4096)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--quick", action="store_true", help="tiny data, one round: a smoke test")
    chosen = options.parse_args()
    height, bags, rounds = (1000, 64, 1) if chosen.quick else (chosen.height, chosen.bags, chosen.rounds)
    lodkit.set_num_threads(1)
    engine = as_engine()
    timed, mine = TimedEngine(engine), batches(engine.rank, rounds + 2, bags, height, chosen.ids)
    hot = np.arange(1, chosen.hot + 1) * 7919 % height if chosen.hot else None
    settings = {"exchange": chosen.exchange, "dealing": chosen.dealing, "hot": hot, "init": normal(0, 0.1), "lr": 0.1}
    if engine.size > 1:
        table = ShardedTable(height, chosen.width, timed, **settings)
        phases = [step(timed, table, ids) for ids in mine][2:]
        calls = rounds + 2
        sent = {name: (x.bytes / calls, x.messages / calls) for name, x in table.traffic.items()}
        del table
    table, whole = ShardedTable(height, chosen.width, engine, **settings), []
    for ids in mine:
        engine.barrier()
        start = time.perf_counter()
        step(engine, table, ids)
        whole.append(time.perf_counter() - start)
    whole = slowest(engine, whole[2:])
    del table
    alone = lodkit.empty((height, chosen.width))
    alone[...] = normal(0, 0.1)(np.arange(height), chosen.width)
    moment = np.zeros_like(alone)
    local = slowest(engine, [one_process(ids, alone, moment) for ids in mine][2:])
    if engine.size > 1:
        lines = {name: slowest(engine, [lap[name] for lap in phases]) for name in phases[0]}
    if engine.rank:
        return
    shape = f"{height} x {chosen.width}, {chosen.dealing}"
    print(f"{engine.size} ranks ({engine.transport}), {chosen.ids} ids, {bags} bags a rank, {shape}")
    if engine.size > 1:
        for name, (median, least) in lines.items():
            print(f"  {name:36s} {median:8.2f} ({least:.2f})")
        exchanged, worked = (
            sum(median for name, (median, _) in lines.items() if name.startswith("*") == star) for star in (True, False)
        )
        print(f"  {'exchanges (*), together':36s} {exchanged:8.2f}")
        print(f"  {'local work, together':36s} {worked:8.2f} ({exchanged / worked:.2f} of it in exchanges besides)")
        for name, (size, messages) in sent.items():
            print(f"  sent by rank 0: {name:20s} {size / 1e6:8.3f} MB, {messages:.1f} messages a step")
    print(f"  {'a step':36s} {whole[0]:8.2f} ({whole[1]:.2f})")
    print(f"  {'a step of one process, a rank batch':36s} {local[0]:8.2f} ({local[1]:.2f})")


if __name__ == "__main__":
    main()
