"""Headers of .npy files are read by many threads at once."""

import gc
import io
import threading
import time

import numpy as np
import pytest

from lodkit.models.storage.npz import header, read_header


@pytest.fixture
def switching():
    """Change threads at each collection, so also while Python's parser makes its objects."""
    callback = lambda *_: time.sleep(0)  # noqa: E731
    thresholds = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(callback)


def test_threads_read_headers_at_once(switching):
    written, errors = header(np.dtype("<f4"), (5, 64)), []

    def read():
        for _ in range(200):
            try:
                assert read_header(io.BytesIO(written)) == ((5, 64), False, np.dtype("<f4"))
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_header_is_what_numpy_writes(tmp_path):
    array = np.zeros((3, 0, 2), np.float16)
    np.save(tmp_path / "a.npy", array)
    assert (tmp_path / "a.npy").read_bytes() == header(array.dtype, array.shape)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x93NUMPY\x03\x00" + bytes(8), "version .3, 0."),
        (b"\x93NUMPY\x01\x00\x20\x4e" + b"(" * 20_000, "header"),
        (b"PK", "magic"),
    ],
)
def test_what_is_no_header_raises(data, message):
    with pytest.raises(ValueError, match=message):
        read_header(io.BytesIO(data))
