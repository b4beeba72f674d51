"""`from_blob`: borrowed memory is uploaded when it is needed, never written, and cannot be freed meanwhile."""

from __future__ import annotations

import array
import gc
import mmap
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from vertigrad.errors import BorrowInUse, DtypeError, LayoutError, LimitError, ShapeError
from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor

pytestmark = pytest.mark.usefixtures("steady")


def uploaded(gpu: Gpu) -> int:
    return gpu.meter.read()["geometry"]["host_to_device"]


# properties -----------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("source", "options", "dtype", "shape"),
    [
        (np.zeros((2, 3), np.float32), {}, "f32", (2, 3)),
        (np.zeros((2, 3), np.float16), {}, "f16", (2, 3)),
        (np.zeros((), np.int32), {}, "i32", ()),
        (np.zeros(0, np.uint32), {}, "u32", (0,)),
        (np.zeros((3, 0), np.float32), {}, "f32", (3, 0)),
        (bytearray(8), {}, "u8", (8,)),
        (bytes(8), {"dtype": "f32"}, "f32", (2,)),
        (bytes(24), {"dtype": "f32", "shape": (2, 3)}, "f32", (2, 3)),
        (bytes(24), {"dtype": np.float32, "shape": (-1, 3)}, "f32", (2, 3)),
        (bytes(24), {"shape": (4, 6)}, "u8", (4, 6)),
        (array.array("f", [1, 2]), {}, "f32", (2,)),
        (array.array("i", [1, 2]), {}, "i32", (2,)),
        (memoryview(bytearray(24)).cast("f", (2, 3)), {}, "f32", (2, 3)),
        (np.zeros((2, 3), np.float32), {"dtype": "u8"}, "u8", (24,)),
        (np.zeros((2, 3), np.float32), {"shape": (3, 2)}, "f32", (3, 2)),
        (np.zeros((2, 3), np.float32), {"dtype": "i32", "shape": (6, 1)}, "i32", (6, 1)),
        (np.zeros(2, np.uint32), {"dtype": "bool"}, "bool", (2,)),
        (np.zeros(2, bool), {"dtype": "u8"}, "u8", (2,)),
    ],
)
def test_type_and_shape_are_those_of_the_source_by_default(source, options: dict, dtype: str, shape: tuple) -> None:
    with Tensor.from_blob(source, **options) as x:
        assert (x.dtype.name, x.shape) == (dtype, shape)
        assert x.block.buffer is None
        assert x.numpy().shape == shape


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (bytes(7), {"dtype": "f32"}, ShapeError, "7 bytes are not a multiple of 4, the size of f32"),
        (bytes(8), {"dtype": "f32", "shape": (3,)}, ShapeError, "2 elements do not make shape"),
        (np.zeros(2), {}, DtypeError, r"float64 is not supported.*\.astype\(numpy.float32\)"),
        (np.zeros(2, bool), {}, DtypeError, r"bool takes 4 bytes here.*dtype='u8', or use from_numpy"),
        (np.zeros(4, bool), {"dtype": bool}, DtypeError, r"bool takes 4 bytes here"),
        (np.zeros(2, ">f4"), {}, DtypeError, "not supported"),
        (np.zeros(2, [("a", "f4")]), {}, DtypeError, "not supported"),
        (np.zeros((4, 4), np.float32)[:, 1:], {}, LayoutError, r"not C-contiguous.*ascontiguousarray"),
        (np.zeros((4, 4), np.float32).T, {}, LayoutError, "not C-contiguous"),
        ([1.0], {}, LayoutError, "list does not support the buffer protocol"),
    ],
)
def test_unsupported_sources_are_rejected(gpu: Gpu, source, options: dict, error: type, message: str) -> None:
    blocks = len(gpu.tracker.blocks)
    with pytest.raises(error, match=message):
        Tensor.from_blob(source, **options)
    assert len(gpu.tracker.blocks) == blocks


def test_a_rejected_source_is_released_while_the_error_is_still_held() -> None:
    source = bytearray(7)
    with pytest.raises(ShapeError) as caught:
        Tensor.from_blob(source, dtype="f32")
    source.append(1)
    assert caught.value.__traceback__ is not None


# uploading ------------------------------------------------------------------------------------------------------


def test_it_is_uploaded_on_first_use_and_once(gpu: Gpu) -> None:
    source = np.arange(1000, dtype=np.float32)
    before = uploaded(gpu)
    with Tensor.from_blob(source, name="lent") as x:
        assert x.numpy().tolist() == source.tolist()  # from the host: no round trip
        assert (uploaded(gpu), x.block.buffer) == (before, None)
        for _ in range(3):
            with x + 1.0 as y:
                assert y.numpy()[-1] == 1000
        assert uploaded(gpu) == before + 4000
        assert x.block.buffer is not None
        with x.resource(), x[10:20] as part, part.clone():
            pass
        assert uploaded(gpu) == before + 4000


def test_the_values_are_those_at_the_time_of_the_upload() -> None:
    source = np.zeros(4, np.float32)
    with Tensor.from_blob(source) as x:
        source[0] = 1
        with x + 0.0 as y:
            source[1] = 2
            assert y.numpy().tolist() == [1, 0, 0, 0]
        assert x.numpy().tolist() == [1, 0, 0, 0]


def test_a_readback_has_the_values_at_its_request() -> None:
    source = np.zeros(4, np.float32)
    with Tensor.from_blob(source) as x:
        reading = x.read_async()
        source[0] = 1
        assert reading.done
        assert reading.result().tolist() == [0, 0, 0, 0]


def test_slices_of_borrowed_memory() -> None:
    source = np.arange(24, dtype=np.float32).reshape(4, 6)
    keys = [(slice(1, 3),), (slice(None), 2), (slice(None, None, -1), slice(5, 0, -2)), (3, 4), (slice(2, 2),)]
    for key in keys:
        with Tensor.from_blob(source) as x, x[key] as view:
            assert np.array_equal(view.numpy(), source[key])
            with view + 0.0 as y:
                assert np.array_equal(y.numpy(), source[key])
            assert np.array_equal(view.numpy(), source[key])


@pytest.mark.parametrize("nbytes", [1, 2, 3, 5, 4095, 4097])
def test_odd_numbers_of_bytes(nbytes: int) -> None:
    source = bytes(np.random.default_rng(nbytes).integers(0, 255, nbytes, np.uint8))
    with Tensor.from_blob(source) as x, x.to("u32") as y:
        assert y.numpy().tolist() == list(source)


def test_a_source_larger_than_the_device_limit_is_reported_when_it_is_used(gpu: Gpu) -> None:
    source = np.zeros(gpu.limits["max-buffer-size"] + 4, np.uint8)  # never accessed, so never mapped
    with Tensor.from_blob(source, name="huge") as x:
        for _ in range(2):
            with pytest.raises(LimitError, match="tensor 'huge' needs"):
                gpu.make_resident(x.owner)
        assert x.block.buffer is None


def test_an_interrupted_upload_does_not_count_as_complete(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    from vertigrad.gpu import upload

    monkeypatch.setattr(upload, "CHUNK", 1 << 12)
    source = np.arange(4 << 10, dtype=np.float32)
    held = gpu.pool.held_bytes - gpu.pool.free_bytes
    write, calls = gpu.queue.write_buffer, []

    def interrupted(*arguments: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        write(*arguments)  # pyright: ignore[reportArgumentType]

    with Tensor.from_blob(source) as x:
        with monkeypatch.context() as patch:
            patch.setattr(gpu.queue, "write_buffer", interrupted, raising=False)
            with pytest.raises(KeyboardInterrupt):
                gpu.make_resident(x.owner)
        assert x.block.buffer is None
        gpu.wait_idle()
        assert gpu.pool.held_bytes - gpu.pool.free_bytes == held
        with x + 0.0 as y:
            assert np.array_equal(y.numpy(), source)


# writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_borrowed_memory_is_never_written(read_only: bool) -> None:
    source = np.arange(6, dtype=np.float32)
    source.flags.writeable = not read_only
    with Tensor.from_blob(source) as x, x[2:4] as view:
        x.add_(1.0)
        view[...] = 0.0
        assert x.numpy().tolist() == [1, 2, 0, 0, 5, 6]
    assert source.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_written_tensor_no_longer_needs_its_source(gpu: Gpu) -> None:
    source = bytearray(np.arange(6, dtype=np.float32))
    with Tensor.from_blob(source, dtype="f32") as x:
        before = gpu.meter.read()["geometry"]["device_to_device"]
        x.add_(1.0)
        assert gpu.meter.read()["geometry"]["device_to_device"] == before  # the upload was the copy
        source.clear()
        assert x.numpy().tolist() == [1, 2, 3, 4, 5, 6]


def test_clones_of_borrowed_memory() -> None:
    source = bytearray(np.arange(4, dtype=np.float32))
    with Tensor.from_blob(source, dtype="f32") as x:
        y = x.clone()
        assert y.block is x.block
        y.add_(10.0)
        assert x.block.borrow is not None
        with pytest.raises(BufferError):
            source.clear()
        assert y.numpy().tolist() == [10, 11, 12, 13]
        assert x.numpy().tolist() == [0, 1, 2, 3]
        x.add_(1.0)
        source.clear()
        assert x.numpy().tolist() == [1, 2, 3, 4]
        y.close()


# borrowing and releasing ----------------------------------------------------------------------------------------


def test_a_bytearray_is_fixed_until_the_tensor_is_closed() -> None:
    source = bytearray(64)
    x = Tensor.from_blob(source)
    view = x[2:]
    for resize in (lambda: source.append(1), source.clear):
        with pytest.raises(BufferError):
            resize()
    x.close()
    with pytest.raises(BufferError):
        source.append(1)
    view.close()
    source.append(1)


def test_an_mmap_cannot_be_closed_while_a_tensor_borrows_it(gpu: Gpu) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(np.arange(1024, dtype=np.float32).tobytes())
        file.flush()
        source = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        x = Tensor.from_blob(source, dtype="f32", name="mapped")
        with pytest.raises(BufferError):
            source.close()
        with x * 2.0 as y:
            assert y.numpy()[-1] == 2046
        with pytest.raises(BufferError):
            source.close()
        x.release()
        source.close()
        assert x.numpy()[-1] == 1023
        x.close()


def test_numpy_rejects_a_resize_and_a_forced_one_is_detected() -> None:
    source = np.arange(1000, dtype=np.float32)
    with Tensor.from_blob(source, name="forced") as x:
        with pytest.raises(ValueError, match="cannot resize"):
            source.resize(2000)
        source.resize(1 << 20, refcheck=False)
        for use in (x.numpy, lambda: x + 1.0, lambda: x.add_(1.0), x.read_async):
            with pytest.raises(BorrowInUse, match=r"was moved while borrowed.*create the tensor again with from_blob"):
                use()


def test_the_source_can_move_after_the_upload() -> None:
    source = np.arange(1000, dtype=np.float32)
    with Tensor.from_blob(source) as x, x + 0.0:
        source.resize(1 << 20, refcheck=False)
        source[:] = -1
        assert x.numpy()[-1] == 999


def test_release_before_and_after_the_upload(gpu: Gpu) -> None:
    source = bytearray(np.arange(4, dtype=np.float32))
    with Tensor.from_blob(source, dtype="f32", name="early") as x:
        with pytest.raises(BorrowInUse, match=r"tensor 'early' still needs the memory.*not uploaded yet; close\(\)"):
            x.release()
        gpu.make_resident(x.owner)
        with pytest.raises(BufferError):
            source.clear()
        x.release()
        x.release()
        source.clear()
        assert x.numpy().tolist() == [0, 1, 2, 3]
        block = x.block
        x.add_(1.0)
        assert x.block is block  # nothing is shared or borrowed any more
        assert x.numpy().tolist() == [1, 2, 3, 4]


def test_release_without_borrowed_memory_does_nothing() -> None:
    with Tensor.zeros(4) as x:
        x.release()
        assert x.numpy().tolist() == [0] * 4


def test_closing_releases_the_source_even_if_commands_still_use_the_copy() -> None:
    source = bytearray(64)
    with Tensor.empty(16) as y:
        with Tensor.from_blob(source, dtype="f32") as x:
            y[...] = x
            (x + 1.0).close()
        source.append(1)  # not submitted, let alone finished
        assert y.numpy().tolist() == [0] * 16


def test_collecting_the_tensor_releases_the_source(gpu: Gpu) -> None:
    source = bytearray(64)
    leaks = gpu.tracker.leak_count
    x = Tensor.from_blob(source, name="lost")
    with pytest.raises(BufferError):
        source.append(1)
    del x
    gc.collect()
    gpu.submit()
    source.append(1)
    assert gpu.tracker.leak_count == leaks + 1
    assert gpu.tracker.leaks.pop().name == "lost"


def test_collecting_the_owner_keeps_the_tensor_valid() -> None:
    source = np.full(1 << 16, 3.0, np.float32)
    x = Tensor.from_blob(source)
    del source
    gc.collect()
    rubbish = [np.full(1 << 16, -1.0, np.float32) for _ in range(20)]
    with x + 0.0 as y:
        assert set(y.numpy()) == {3.0}
    assert len(rubbish) == 20
    x.close()


# time -----------------------------------------------------------------------------------------------------------


def median_us(work: Callable[[], object], times: int) -> float:
    measured = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        measured.append(time.perf_counter() - start)
    return 1e6 * statistics.median(measured)


def test_borrowing_takes_the_same_time_for_any_size(gpu: Gpu, capsys: pytest.CaptureFixture[str]) -> None:
    """10⁹ float32 are 4 GB, which `numpy.zeros` only maps: they are not read here."""
    small, large = np.zeros(10**3, np.float32), np.zeros(10**9, np.float32)

    def borrow(source: np.ndarray) -> None:
        Tensor.from_blob(source).close()

    def copy(source: np.ndarray) -> None:
        Tensor.from_numpy(source).close()
        gpu.wait_idle()

    borrow(small)
    for _ in range(3):  # a busy machine can slow down one run, not three
        small_us, large_us = median_us(lambda: borrow(small), 300), median_us(lambda: borrow(large), 300)
        if large_us <= 3 * small_us:
            break
    sizes = [10**3, 10**5, 10**6, 10**7]
    copies = {n: median_us(partial(copy, large[:n]), 3) for n in sizes}
    gpu.pool.trim()
    with capsys.disabled():
        print(f"\n  from_blob   10^3: {small_us:8.1f} us   10^9: {large_us:8.1f} us")
        print("  from_numpy " + "   ".join(f" 10^{len(str(n)) - 1}: {us:8.1f} us" for n, us in copies.items()))
    assert large_us <= 3 * small_us
    assert copies[10**7] > 10 * large_us
