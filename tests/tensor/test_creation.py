"""Creating tensors and reading values: shapes, element types, errors that say what to do."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

import vertigrad
from vertigrad.errors import DtypeError, LimitError, OutOfMemory, ShapeError, UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor, transfer

pytestmark = pytest.mark.usefixtures("steady")
RANDOM = np.random.default_rng(5)
DTYPES = ["f32", "f16", "i32", "u32", "bool", "u8"]


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(bool)
    if dtype == "u8":
        return RANDOM.integers(0, 256, shape, np.uint8)
    kind = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u32": np.uint32}[dtype]
    return (RANDOM.integers(-1000, 1000, shape) * (0.25 if dtype[0] == "f" else 1)).astype(kind)


@pytest.mark.turns(4)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (2, 3, 5), (0,), (4, 0, 2), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    array = values(dtype, shape)
    with Tensor.from_numpy(array, name="x") as x:
        got = x.numpy()
        assert (x.shape, x.dtype.name, x.ndim, x.size) == (shape, dtype, len(shape), array.size)
        assert (got.shape, got.dtype) == (shape, array.dtype)
        assert np.array_equal(got, array)
        assert x.nbytes == array.size * x.dtype.itemsize
        assert x.is_contiguous
        assert (x.offset, x.start) == (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_every_type_round_trip(dtype: str) -> None:
    array = values(dtype, (6, 7, 5))
    keys = [
        (slice(1, 4), slice(None, None, -2)),
        (..., 3),
        (5, 2),
        (slice(None, None, -1), 1, slice(4, 0, -3)),
        (2, None),
    ]
    with Tensor.from_numpy(array) as x:
        for key in keys:
            with x[key] as view:
                assert np.array_equal(view.numpy(), array[key]), key
                assert view.is_contiguous == (np.asarray(array[key]).flags.c_contiguous)
        with x.T as turned:
            assert np.array_equal(turned.numpy(), array.T)


def test_strides_and_offsets_are_bytes_like_numpys() -> None:
    array = values("f32", (6, 7, 5))
    with Tensor.from_numpy(array) as x, x[2:, ::-2, 1] as view:
        expected = array[2:, ::-2, 1]
        assert view.strides == expected.strides
        assert view.offset == expected.__array_interface__["data"][0] - array.__array_interface__["data"][0]
        assert view.start + view.extent <= x.nbytes


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "read-only"])
def test_arrays_can_have_any_layout(order: str) -> None:
    array = values("f32", (6, 8))
    array = {
        "C": array,
        "F": np.asfortranarray(array),
        "strided": array[::2, 1::3],
        "reversed": array[::-1, ::-1],
        "read-only": np.frombuffer(array.tobytes(), np.float32).reshape(6, 8),
    }[order]
    with Tensor.from_numpy(array) as x:
        assert np.array_equal(x.numpy(), array)


def test_from_numpy_and_numpy_copy() -> None:
    array = np.array([1, 2, 3], np.float32)
    with Tensor.from_numpy(array) as x:
        array[0] = 9
        got = x.numpy()
        got[1] = 9
        assert x.numpy().tolist() == [1, 2, 3]
        assert got.flags.writeable
        assert got.flags.owndata


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (np.zeros(3), "float64 is not supported.*convert it first with .astype.numpy.float32"),
        ([1, 2**40], "int64 is not supported.*numpy.int32"),
        (np.array([1, 2]), "int64 is not supported.*numpy.int32"),
        (np.zeros(3, np.int16), "int16 is not supported.*numpy.int32"),
        (np.zeros(3, complex), "complex128 is not supported"),
        (["a"], "not supported"),
    ],
)
def test_nothing_is_narrowed_silently(array: object, advice: str) -> None:
    with pytest.raises(DtypeError, match=advice):
        Tensor.from_numpy(array)


def test_f16_is_refused_where_the_adapter_has_none(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "features", frozenset())
    for make in (
        lambda: Tensor.from_numpy(np.zeros(3, np.float16)),
        lambda: Tensor.empty(3, "f16"),
        lambda: Tensor.from_blob(np.zeros(3, np.float16)),
    ):
        with pytest.raises(DtypeError, match=r"f16 needs the feature shader-f16, which .* lacks; use f32"):
            make()
    transfer.require(vertigrad.tensor.f32)


def test_zeros_are_zeros_in_reused_memory(gpu: Gpu) -> None:
    for dtype in DTYPES:
        with Tensor.from_numpy(values(dtype, (1000,))) as x:
            block = x.block
        gpu.wait_idle()
        with Tensor.zeros(1000, dtype) as x:
            assert x.block is block
            assert not x.numpy().any()
        gpu.wait_idle()


def test_full_and_fill() -> None:
    with Tensor.full((2, 3), 2.5) as x:
        assert x.numpy().tolist() == [[2.5] * 3] * 2
        assert x.fill_(-1.0) is x
        assert x.numpy().tolist() == [[-1.0] * 3] * 2
    with Tensor.full(3, True, "bool") as x:
        assert x.numpy().tolist() == [True] * 3
    with Tensor.full(5, 255, "u8") as x:
        assert x.numpy().tolist() == [255] * 5


@pytest.mark.parametrize(
    ("value", "dtype"), [(1e12, "i32"), (-1, "u32"), (256, "u8"), (1.5, "i32"), (1e6, "f16"), (1 << 32, "u32")]
)
def test_invalid_values_are_rejected_and_leak_nothing(gpu: Gpu, value: float, dtype: str) -> None:
    leaks = gpu.tracker.leak_count
    with pytest.raises(DtypeError, match=f"does not fit {dtype}"):
        Tensor.full(3, value, dtype)
    gpu.submit()
    assert gpu.tracker.leak_count == leaks


@pytest.mark.parametrize("shape", [5, np.int64(5), (5,), [5], (np.int32(5),), np.array([5])])
def test_shapes_can_be_numpy_integers(shape: object) -> None:
    with Tensor.empty(shape) as x:  # pyright: ignore[reportArgumentType]
        assert x.shape == (5,)
        assert type(x.shape[0]) is int
        assert type(x.nbytes) is int


@pytest.mark.parametrize("shape", [-1, (3, -2), (1.5,), ("a",)])
def test_invalid_shapes(shape: object) -> None:
    with pytest.raises(ShapeError, match="must be of integers, none negative"):
        Tensor.empty(shape)  # pyright: ignore[reportArgumentType]


def test_a_tensor_too_large_for_one_buffer(gpu: Gpu) -> None:
    largest = gpu.limits["max-buffer-size"]
    with pytest.raises(
        LimitError, match=rf"tensor 'huge' needs {2 * largest} bytes in one buffer, this adapter allows"
    ):
        Tensor.empty((largest, 2), "u8", name="huge")


def test_out_of_memory_names_this_tensor_and_where_the_largest_were_created(gpu: Gpu) -> None:
    gpu.wait_idle()
    gpu.pool.trim()
    gpu.pool.budget = gpu.pool.held_bytes + (1 << 20)
    try:
        with Tensor.empty(1 << 17, name="holder") as holder:
            with pytest.raises(OutOfMemory) as caught:
                Tensor.empty(1 << 18, name="large")
            assert "tensor 'large' asked for 1,048,576 bytes" in str(caught.value)
            assert "524,288 bytes  holder, created at " + __file__ in str(caught.value)
            assert holder.block.owners == 1
        with Tensor.empty(1 << 18, name="large"):  # the closed one was freed for it
            pass
    finally:
        gpu.pool.budget = None


def test_a_device_without_free_memory_is_out_of_memory(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.wait_idle()
    create, refusals = gpu.device.create_buffer, []

    def full(**options: object) -> wgpu.GPUBuffer:
        if len(refusals) < 4:
            refusals.append(options)
            raise wgpu.GPUOutOfMemoryError("no room")
        return create(**options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(gpu.device, "create_buffer", full, raising=False)
    with pytest.raises(OutOfMemory, match="tensor 'much' asked for 4,000,000 bytes"):
        Tensor.empty(1_000_000, name="much")
    with Tensor.empty(1_000_000, name="much"):  # fails once, and succeeds after free blocks were released
        assert len(refusals) == 4
        assert gpu.pool.free_bytes == 0


def test_memory_held_by_recorded_commands_is_reclaimed(gpu: Gpu) -> None:
    gpu.wait_idle()
    gpu.pool.trim()
    gpu.pool.budget = gpu.pool.held_bytes + (3 << 20)
    try:
        with Tensor.zeros(1 << 18) as x:
            for _ in range(20):
                with x + 1.0 as y:  # recorded, never waited for; each needs 1 MiB
                    assert y.block is not x.block
            assert x.numpy().sum() == 0
    finally:
        gpu.pool.budget = None


def test_closed_tensors_report_name_origin_and_time(gpu: Gpu) -> None:
    with gpu.frames.frame():
        pass
    x = Tensor.zeros((2, 2), name="state")
    x.close()
    x.close()
    message = rf"tensor 'state', created at {__file__}:\d+, was freed in frame {gpu.tracker.frame}; keep a clone\(\)"
    uses = {
        "block": lambda: x.block,
        "numpy": x.numpy,
        "view": lambda: x[0],
        "turned": lambda: x.T,
        "reshape": lambda: x.reshape(4),
        "clone": x.clone,
        "detach": x.detach,
        "contiguous": x.contiguous,
        "operator": lambda: x + 1.0,
        "in place": lambda: x.add_(1.0),
        "set": lambda: x.__setitem__(0, 1.0),
        "release": x.release,
        "resource": lambda: x.resource().__enter__(),
        "read": x.read_async,
        "item": lambda: x[0, 0].item(),
    }
    for name, use in uses.items():
        with pytest.raises(UseAfterFree, match=message):
            use()
            pytest.fail(name)
    assert repr(x) == "<Tensor 'state' f32 (2, 2), closed>"
    gpu.submit()


def test_an_unnamed_tensor_is_called_unnamed() -> None:
    x = Tensor.zeros(1)
    x.close()
    with pytest.raises(UseAfterFree, match="tensor 'unnamed', created at"):
        _ = x.block


def test_item_and_truth() -> None:
    with Tensor.from_numpy(np.array([[3.5]], np.float32)) as x, Tensor.zeros(2) as y, Tensor.zeros(()) as z:
        assert x.item() == 3.5
        assert bool(x) is True
        assert bool(z) is False
        with pytest.raises(ShapeError, match=r"item\(\) of a tensor of shape \(2,\)"):
            y.item()
        with pytest.raises(ShapeError, match=r"shape \(2,\) is neither true nor false"):
            bool(y)
        with pytest.raises(ShapeError, match="neither true nor false"):
            assert y == y


def test_rows_can_be_iterated_and_unpacked() -> None:
    with Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2)) as x:
        assert [row.numpy().tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
        a, b, c = x
        a[...] = 9.0
        assert x.numpy()[0].tolist() == [9, 9]
        assert len(x) == 3
        assert (b.shape, c.shape) == ((2,), (2,))
        with x[0, 0] as scalar, pytest.raises(ShapeError, match="without axes has no length"):
            list(scalar)


def test_numpy_leaves_arithmetic_to_the_tensor(gpu: Gpu) -> None:
    with Tensor.from_numpy(np.array([1, 2], np.float32)) as x:
        gpu.submit()
        before = gpu.meter.read()["geometry"]["device_to_host"]
        for result, expected in (
            (np.array([10, 20], np.float32) + x, [11, 22]),
            (np.float32(3) * x, [3, 6]),
            (np.array([10, 20], np.float32) - x, [9, 18]),
            (np.square(x), [1, 4]),
        ):
            assert isinstance(result, Tensor)
            assert gpu.meter.read()["geometry"]["device_to_host"] == before
            assert result.numpy().tolist() == expected
            before = gpu.meter.read()["geometry"]["device_to_host"]
        with pytest.raises(TypeError):
            np.cbrt(x)  # pyright: ignore[reportCallIssue, reportArgumentType]
        assert np.asarray(x).tolist() == [1, 2]
        assert np.asarray(x, np.int64).dtype == np.int64
