"""Code for other CPUs: none of the host's instructions, and whole vectors on aarch64.

Kernels are compiled in processes of their own: Numba and LLVM take the CPU from the environment at their start.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.jit
KERNEL = """
import re
import llvmlite.binding as llvm
import numpy as np
from lodkit.kernels.cpu.primitives import reduce, reduce_kernels, row_access

prefetch = row_access.Prefetch(2, again=True)
kernel = reduce_kernels.sum_kernel("sum", 64, True, False, prefetch).compiled
values, ids, offsets = np.ones((9, 64), np.{dtype}), np.arange(9), np.array([0, 9])
out = np.empty((1, 64), np.{dtype})
kernel(values, ids, reduce.NO_WEIGHTS, -1, offsets, values.dtype.type(0), 0, 4096, 64, 1, 1, out)
"""
ASSEMBLY = "print(list(kernel.inspect_asm().values())[0])"
ELSEWHERE = """
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
code = re.sub("target (datalayout|triple) = .*", "", list(kernel.inspect_llvm().values())[0])
module = llvm.parse_assembly(code)
machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(cpu="neoverse-n1", opt=3)
module.triple, module.data_layout = "aarch64-unknown-linux-gnu", str(machine.target_data)
builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
builder.getModulePassManager().run(module, builder)
print(machine.emit_assembly(module))
"""
FEATURES = {"haswell": "+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt,+lzcnt,+sse4.2", "generic": ""}


def printed(code, tmp_path, **environment):
    environment = {**os.environ, "LODKIT_CACHE_DIR": str(tmp_path), **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86's registers")
@pytest.mark.parametrize(("cpu", "absent", "there"), [("haswell", "zmm", "ymm"), ("generic", "[yz]mm", "xmm")])
def test_older_cpus_get_their_own_registers(cpu, absent, there, tmp_path):
    settings = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": FEATURES[cpu]}
    code = printed(KERNEL.format(dtype="float32") + ASSEMBLY, tmp_path, **settings)
    assert not re.search(absent, code)
    assert len(re.findall(rf"addps.*%{there}", code)) >= 8


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", "4s"), ("float64", "2d")])
def test_aarch64_adds_whole_vectors_without_spills(dtype, lanes, tmp_path):
    code = printed(KERNEL.format(dtype=dtype) + ELSEWHERE, tmp_path, NUMBA_OPT="0", NUMBA_CPU_NAME="generic")
    blocks = re.split(r"^\.LBB.*:", code, flags=re.MULTILINE)
    row_loop = max(blocks, key=lambda block: len(re.findall(rf"fadd\tv\d+\.{lanes}", block)))
    assert "prfm" in code
    assert not re.search(r"fadd\t[sd]\d", code)
    assert len(re.findall(rf"fadd\tv\d+\.{lanes}", row_loop)) >= 16
    if dtype == "float32":  # 16 registers of sums; doubles take all 32
        assert "[sp" not in row_loop
