"""What only Linux has is not needed: the package and the main job run without it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import lodkit

HIDING = pathlib.Path(__file__).parents[1] / "other_systems"


def without_linux(*command, **env):
    """Run Python without what only Linux has, and with text that is not UTF-8 by default; its output."""
    paths = [str(HIDING), str(pathlib.Path(lodkit.__file__).parents[1])]
    texts = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp1252"}
    env = {**os.environ, **texts, "PYTHONPATH": os.pathsep.join(paths), **env}
    run = subprocess.run(
        [sys.executable, "-W", "error", *command], capture_output=True, text=True, check=False, env=env
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_what_only_linux_has_is_hidden():
    code = """
    import ctypes, locale, mmap, os
    assert locale.getencoding() != "utf-8"
    assert not any(hasattr(os, name) for name in ("fork", "sched_getaffinity", "geteuid", "O_NONBLOCK"))
    assert not any(hasattr(mmap, name) for name in ("MAP_PRIVATE", "MADV_HUGEPAGE"))
    assert not hasattr(mmap.mmap(-1, 4096), "madvise")
    for missing in ("fcntl", "resource", "pwd"):
        try:
            __import__(missing)
        except ImportError:
            continue
        raise AssertionError(missing)
    try:
        ctypes.CDLL(None)
    except OSError:
        print("hidden")
    """
    assert without_linux("-c", textwrap.dedent(code)) == "hidden\n"


@pytest.mark.jit
def test_big_arrays_threads_and_files(tmp_path):
    """Memory beyond 4 MiB, threads by the layer that is there, files written and read, the cache on disk."""
    code = """
    import sys
    import numpy as np
    import lodkit, numba
    from lodkit.jit import settings
    assert "embedding_bag" in dir(lodkit)
    settings.parallel_from = 0
    table = lodkit.empty((40_000, 64))
    table[...] = 1
    bags = lodkit.LoDTensor(np.arange(80_000) % 40_000, [[2] * 40_000])
    pooled = lodkit.embedding_bag(table, bags)
    assert (pooled == 2).all() and pooled.nbytes > 1 << 22
    lodkit.sgd(table, lodkit.SelectedRows([1, 1], np.ones((2, 64), np.float32), len(table)), lr=0.5)
    lodkit.save(sys.argv[1], {"table": table})
    lodkit.save(sys.argv[1], {"table": table})
    assert (lodkit.load(sys.argv[1], mmap=True)["table"][:2, 0] == [1, 0]).all()
    print(numba.threading_layer() if lodkit.get_num_threads() > 1 else "workqueue")
    """
    file, cache = tmp_path / "table.safetensors", tmp_path / "cache"
    assert without_linux("-c", textwrap.dedent(code), str(file), LODKIT_CACHE_DIR=str(cache)) == "workqueue\n"
    assert any(cache.glob("*.nbc"))
    assert [entry.name for entry in tmp_path.iterdir() if "draft" in entry.name] == []


@pytest.mark.jit
def test_the_main_job(tmp_path):
    data = tmp_path / "data.jsonl"
    words = [{"label": "ab"[i % 2], "words": [["π", "y"], ["uv"[i % 2]] * (1 + i % 3)]} for i in range(60)]
    data.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in words), "utf8")
    out = without_linux("-m", "lodkit", "--data", str(data), "--epochs", "1", "--save", str(tmp_path / "saved"))
    assert "accuracy" in out
    assert (tmp_path / "saved" / "state.safetensors").exists()
