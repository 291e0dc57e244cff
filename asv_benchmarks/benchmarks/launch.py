"""Host time of a CUDA launch without the driver: cuda.core is mocked."""

from __future__ import annotations

import importlib.util
from unittest import mock

import numpy as np

from ._cuda_core import Core, OnHost


class Launch:
    """Six arrays and six numbers."""

    def setup(self):
        self.patches = []
        if importlib.util.find_spec("numba_cuda") is None:
            raise NotImplementedError("needs lodkit[cuda]")
        from lodkit.arrays.cuda import launcher
        from lodkit.arrays.cuda.kernels import _copy
        from lodkit.arrays.cuda.views import View

        self.core = Core()
        self.patches = [
            mock.patch.object(launcher, "_core", lambda: self.core),  # noqa: PT008
            mock.patch.object(launcher, "machine_code", lambda *key: (b"", "kernel", {})),  # noqa: PT008
            mock.patch.object(launcher, "modules", {}),
        ]
        for patch in self.patches:
            patch.start()
        for kept in (launcher._config, launcher._stream, launcher._is_only_gpu):
            kept.cache_clear()
        library = OnHost()
        arrays = [View(None, 4096 * i, (1000, 64), np.dtype("float32"), library, 0) for i in range(6)]
        self.args = (_copy, 64_000, *arrays, -1, 1000, 64, 4, 1000, np.float32(0))
        self.run = launcher.launch
        self.run(*self.args)

    def teardown(self):
        from lodkit.arrays.cuda import launcher

        for patch in self.patches:
            patch.stop()
        for kept in (launcher._config, launcher._stream, launcher._is_only_gpu):
            kept.cache_clear()

    def time_launch(self):
        self.run(*self.args)
        self.core.launches.clear()
