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
        from lodkit.arrays.cuda import launch
        from lodkit.arrays.cuda.kernels import _copy
        from lodkit.arrays.cuda.views import View

        self.core = Core()
        self.patches = [
            mock.patch.object(launch, "_core", lambda: self.core),  # noqa: PT008
            mock.patch.object(launch, "machine_code", lambda *key: (b"", "kernel", {})),  # noqa: PT008
            mock.patch.object(launch, "_loaded", {}),
        ]
        for patch in self.patches:
            patch.start()
        launch._config.cache_clear()
        launch._stream.cache_clear()
        library = OnHost()
        arrays = [View(None, 4096 * i, (1000, 64), np.dtype("float32"), library, 0) for i in range(6)]
        self.args = (_copy, 64_000, *arrays, -1, 1000, 64, 4, 1000, np.float32(0))
        self.run = launch.launch
        self.run(*self.args)

    def teardown(self):
        from lodkit.arrays.cuda import launch

        for patch in self.patches:
            patch.stop()
        launch._config.cache_clear()
        launch._stream.cache_clear()

    def time_launch(self):
        self.run(*self.args)
        self.core.launches.clear()
