"""A mock of ``cuda.core`` that records launches, and an array library for it."""

from __future__ import annotations

import types


class Core:
    """The part of ``cuda.core`` that lodkit uses, without a GPU."""

    def __init__(self, capability=(9, 0)):
        self.launches, self.waits, self.current = [], [], 0
        core = self

        class Device:
            compute_capability = capability
            properties = types.SimpleNamespace(multiprocessor_count=132)

            def __init__(self, device_id=None):
                self.device_id = core.current if device_id is None else device_id

            def set_current(self):
                core.current = self.device_id

        class Stream(int):
            from_handle = classmethod(int.__new__)

            def sync(self):
                core.waits.append((core.current, self))

        self.Device, self.Stream = Device, Stream
        self.ObjectCode = types.SimpleNamespace(from_cubin=lambda code: types.SimpleNamespace(get_kernel=str))

    def LaunchConfig(self, grid, block):
        return grid, block

    def launch(self, stream, config, kernel, *values):
        self.launches.append((self.current, stream, config, kernel, values))


class OnHost:
    """An array library without arrays."""

    def stream(self, device):
        return 0
