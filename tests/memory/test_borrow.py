"""`Borrow`: borrowed memory can neither move nor be freed, and is released exactly when it is no longer used."""

import array
import ctypes
import mmap
import tempfile

import numpy as np
import pytest

from vertigrad.errors import BorrowInUse, LayoutError
from vertigrad.memory import Borrow, Owner

from .fake import HERE, FakeGpu


@pytest.mark.parametrize(
    "source",
    [
        b"12345678",
        bytearray(b"12345678"),
        memoryview(b"12345678"),
        array.array("f", [1, 2]),
        (ctypes.c_float * 2)(1, 2),
        np.arange(2, dtype=np.float32),
        np.arange(4, dtype=np.float16),
        np.arange(2, dtype=">f4"),
        np.zeros(1, [("a", "f4"), ("b", "i4")]),
        np.ones((2, 2, 2), bool),
        np.array(1.0),
    ],
    ids=lambda source: f"{type(source).__name__}-{getattr(source, 'dtype', '')}",
)
def test_bytes_are_those_of_the_source(source) -> None:
    borrow = Borrow(source)
    assert borrow.nbytes == 8
    lent = borrow.bytes()
    assert (lent.format, lent.ndim, lent.nbytes, lent.readonly) == ("B", 1, 8, True)
    assert bytes(lent) == memoryview(source).tobytes()
    assert borrow.readonly == memoryview(source).readonly


def test_nothing_is_copied() -> None:
    source = bytearray(8)
    borrow = Borrow(source)
    source[3] = 77
    assert borrow.bytes()[3] == 77


@pytest.mark.parametrize("source", [b"", bytearray(), np.zeros(0), np.zeros((3, 0, 2), np.int32), array.array("f")])
def test_sources_without_bytes(source) -> None:
    borrow = Borrow(source)
    assert (borrow.nbytes, bytes(borrow.bytes())) == (0, b"")
    borrow.release()


@pytest.mark.parametrize("source", [np.arange(8)[::2], np.arange(8)[::-1], np.zeros((3, 4)).T, np.zeros((4, 4))[:, :2]])
def test_sources_with_gaps_are_refused(source: np.ndarray) -> None:
    with pytest.raises(LayoutError, match=r"not C-contiguous.*numpy.ascontiguousarray"):
        Borrow(source)


@pytest.mark.parametrize("source", [[1.0, 2.0], 3.0, None, "text", np.zeros(2, "datetime64[s]")])
def test_objects_without_a_buffer_are_rejected(source) -> None:
    with pytest.raises(LayoutError, match=r"does not support the buffer protocol.*from_numpy"):
        Borrow(source)


def test_a_bytearray_cannot_be_resized_while_borrowed() -> None:
    source = bytearray(16)
    borrow = Borrow(source)
    for resize in (lambda: source.append(1), source.clear, lambda: source.pop()):
        with pytest.raises(BufferError):
            resize()
    borrow.release()
    source.append(1)
    assert len(source) == 17


def test_an_array_cannot_be_resized_while_borrowed() -> None:
    source = array.array("f", [1, 2])
    borrow = Borrow(source)
    with pytest.raises(BufferError):
        source.append(3)
    borrow.release()
    source.append(3)


def test_an_mmap_cannot_be_closed_while_borrowed() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 4096)
        file.flush()
        source = mmap.mmap(file.fileno(), 0)
        borrow = Borrow(source)
        with pytest.raises(BufferError):
            source.close()
        with pytest.raises(BufferError):
            source.resize(8192)
        assert bytes(borrow.bytes()[:2]) == b"xx"
        borrow.release()
        source.close()


def test_numpy_refuses_to_resize_while_borrowed() -> None:
    source = np.arange(4.0)
    borrow = Borrow(source)
    with pytest.raises(ValueError, match="cannot resize"):
        source.resize(1 << 20)
    borrow.release()


def test_a_forced_numpy_resize_is_detected() -> None:
    source = np.arange(1000.0)
    borrow = Borrow(source)
    source.resize(1 << 20, refcheck=False)
    with pytest.raises(BorrowInUse, match=r"moved while borrowed.*refcheck=False.*from_blob"):
        borrow.bytes()


def test_a_numpy_array_shrunk_in_place_is_detected() -> None:
    source = np.arange(1000.0)
    borrow = Borrow(source)
    source.resize(999, refcheck=False)
    with pytest.raises(BorrowInUse, match="moved while borrowed"):
        borrow.bytes()


def test_released_memory_cannot_be_read() -> None:
    borrow = Borrow(b"12345678")
    borrow.release()
    borrow.release()
    assert borrow.released
    with pytest.raises(BorrowInUse, match=r"released; create the tensor again with from_blob"):
        borrow.bytes()


def test_the_source_outlives_its_last_reference() -> None:
    borrow = Borrow(np.full(1 << 16, 7.0))
    assert np.frombuffer(borrow.bytes()).sum() == 7.0 * (1 << 16)


def test_exported_bytes_keep_the_buffer_after_release() -> None:
    source = bytearray(8)
    borrow = Borrow(source)
    lent = borrow.bytes()
    borrow.release()
    with pytest.raises(BufferError):
        source.append(1)
    assert bytes(lent) == bytes(8)
    del lent
    source.append(1)


def borrow(fake: FakeGpu, source: bytearray) -> Owner:
    return Owner(fake.tracker, fake.pool.borrow(Borrow(source), "lent", HERE), "lent", HERE)


def upload(fake: FakeGpu, owner: Owner) -> None:
    donor = fake.pool.take(owner.block.nbytes, "lent", HERE)
    fake.tracker.pin(donor)
    fake.pool.move_storage(owner.block, donor)
    fake.tracker.unpin(donor)


def test_the_source_is_released_immediately_when_its_only_tensor_closes(fake: FakeGpu) -> None:
    source = bytearray(64)
    owner = borrow(fake, source)
    owner.drop()
    source.append(1)
    assert fake.tracker.blocks == {}


def test_the_source_is_released_although_the_gpu_still_reads_its_copy(fake: FakeGpu) -> None:
    source = bytearray(64)
    owner = borrow(fake, source)
    upload(fake, owner)
    block = owner.block
    fake.queue.use([block])
    owner.drop()
    source.append(1)
    assert block.borrow is None
    assert block.storage.alive
    fake.queue.wait_idle()


def test_a_clone_keeps_the_source(fake: FakeGpu) -> None:
    source = bytearray(64)
    owner = borrow(fake, source)
    clone = owner.clone("clone", HERE)
    owner.drop()
    with pytest.raises(BufferError):
        source.append(1)
    clone.drop()
    source.append(1)


def test_a_view_keeps_the_source(fake: FakeGpu) -> None:
    source = bytearray(64)
    owner = borrow(fake, source)
    view = owner.hold()
    owner.drop()
    with pytest.raises(BufferError):
        source.append(1)
    view.drop()
    source.append(1)
