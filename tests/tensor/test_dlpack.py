"""DLPack and the views of other frameworks: values, lifetimes and counts, both ways."""

from __future__ import annotations

import ctypes
import gc
import logging
import sys
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import from_dlpack
from vertigrad.errors import BorrowInUse, DtypeError, LayoutError, RequirementError
from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor, capsule, frameworks

pytestmark = pytest.mark.usefixtures("steady")
TYPES = ["f4", "f2", "i4", "u4", "u1", "?"]


class OnDevice:
    """An array on a CUDA device, as `from_dlpack` meets it: it cannot be read without being copied to the host."""

    def __init__(self, values: np.ndarray, method: str = "cpu"):
        setattr(self, method, lambda: values)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("not to be read on the host")


def counts(gpu: Gpu) -> tuple[int, int]:
    """Bytes uploaded and read back so far."""
    geometry = gpu.meter.read()["geometry"]
    return geometry["host_to_device"], geometry["device_to_host"]


def values(code: str) -> np.ndarray:
    return np.arange(6).reshape(2, 3).astype(code)


# out --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", TYPES)
def test_a_tensor_is_exported_with_type_and_values(gpu: Gpu, code: str) -> None:
    if code == "f2" and "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    with Tensor.from_numpy(values(code)) as x:
        array = np.from_dlpack(x)
        assert array.dtype == np.dtype(code)
        assert array.tolist() == values(code).tolist()


def test_an_exported_copy_is_counted_and_independent(gpu: Gpu) -> None:
    with Tensor.from_numpy(values("f4")) as x:
        gpu.wait_idle()
        before = counts(gpu)
        array = np.from_dlpack(x)
        assert counts(gpu) == (before[0], before[1] + 24)
        x.fill_(7)
        assert array.tolist() == values("f4").tolist()


def test_views_are_exported_as_they_are_seen(gpu: Gpu) -> None:
    with Tensor.from_numpy(values("f4")) as x, x.T as turned, turned[1:] as cut:
        assert np.from_dlpack(cut).tolist() == values("f4").T[1:].tolist()


@pytest.mark.parametrize(
    "options", [{"copy": False}, {"dl_device": (2, 0)}, {"stream": 5}], ids=["no copy", "another device", "a stream"]
)
def test_what_cannot_be_exported_raises_buffer_error(gpu: Gpu, options: dict[str, Any]) -> None:
    with Tensor.zeros(3) as x, pytest.raises(BufferError):
        x.__dlpack__(**options)


def test_the_version_that_a_consumer_asks_for_reaches_the_capsule(gpu: Gpu) -> None:
    with Tensor.zeros(3) as x:
        assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
        assert "dltensor_versioned" not in repr(x.__dlpack__())


@pytest.mark.parametrize(
    ("method", "module", "function"),
    [("torch", "torch", "from_numpy"), ("jax", "jax.numpy", "asarray"), ("cupy", "cupy", "asarray")],
)
def test_frameworks_get_the_values(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, method: str, module: str, function: str
) -> None:
    fake = ModuleType(module)
    setattr(fake, function, lambda array: ("its own type", array))
    if "." in module:
        monkeypatch.setitem(sys.modules, module.partition(".")[0], ModuleType("package"))
    monkeypatch.setitem(sys.modules, module, fake)
    with Tensor.from_numpy(values("i4")) as x:
        kind, array = getattr(x, method)()
    assert kind == "its own type"
    assert array.tolist() == values("i4").tolist()


@pytest.mark.parametrize("name", ["torch", "jax", "cupy"])
def test_an_absent_framework_is_named(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with Tensor.zeros(3) as x, pytest.raises(RequirementError, match=f"pip install {name}"):
        getattr(x, name)()


# in ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", TYPES)
def test_an_array_of_the_host_is_taken_with_type_and_values(gpu: Gpu, code: str) -> None:
    if code == "f2" and "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    with from_dlpack(values(code), name="taken") as x:
        assert x.name == "taken"
        assert x.numpy().dtype == np.dtype(code)
        assert x.numpy().tolist() == values(code).tolist()


def test_an_array_of_the_host_is_borrowed_until_close(gpu: Gpu) -> None:
    array = values("f4")
    alive = weakref.ref(array)
    before = counts(gpu)
    x = from_dlpack(array)
    assert counts(gpu) == before  # nothing was uploaded
    del array
    gc.collect()
    assert alive() is not None
    with pytest.raises(BorrowInUse):
        x.release()
    x.close()
    gc.collect()
    assert alive() is None


def test_an_array_with_gaps_is_copied(gpu: Gpu) -> None:
    array = values("f4")
    with from_dlpack(array.T) as x:
        array[:] = -1
        assert x.numpy().tolist() == values("f4").T.tolist()


@pytest.mark.parametrize("method", ["cpu", "get", "numpy", "__array__"])
def test_an_array_on_a_device_goes_through_the_host_and_is_counted(gpu: Gpu, method: str) -> None:
    before = counts(gpu)
    with from_dlpack(OnDevice(values("f4"), method)) as x, x + 1.0 as y:
        assert counts(gpu) == (before[0] + 24, before[1] + 24)
        assert y.numpy().tolist() == (values("f4") + 1).tolist()


def test_a_tensor_gives_a_view_of_itself(gpu: Gpu) -> None:
    before = counts(gpu)
    with Tensor.from_numpy(values("f4")) as x, from_dlpack(x) as view:
        view.fill_(3)
        assert counts(gpu) == (before[0] + 24, before[1])
        assert x.numpy().tolist() == [[3, 3, 3]] * 2


def test_two_tensors_swap_through_dlpack_while_a_third_library_holds_the_values(gpu: Gpu) -> None:
    with Tensor.from_numpy(values("f4")) as x, from_dlpack(np.from_dlpack(x)) as y, x + y as total:
        assert total.numpy().tolist() == (2 * values("f4")).tolist()


@pytest.mark.parametrize(
    ("source", "error", "hint"),
    [
        (np.zeros(2), DtypeError, "f64|float64"),
        (np.zeros(2, np.int64), DtypeError, "i64|int64"),
        (np.zeros(2, np.complex64), DtypeError, "complex64"),
        ([1.0], LayoutError, "from_numpy"),
        (OnDevice(np.zeros(2, np.float32), "elsewhere"), LayoutError, "copy it yourself"),
    ],
    ids=["f64", "i64", "complex", "list", "no way to the host"],
)
def test_what_cannot_be_taken_is_refused(gpu: Gpu, source: Any, error: type[Exception], hint: str) -> None:
    live = gpu.tracker.live_bytes
    with pytest.raises(error, match=hint):
        from_dlpack(source)
    assert gpu.tracker.live_bytes == live


def test_the_copy_through_the_host_is_logged_once(
    gpu: Gpu, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frameworks, "_noted", set())
    with caplog.at_level(logging.WARNING, "vertigrad"), Tensor.zeros(3) as x:
        np.from_dlpack(x)
        np.from_dlpack(x)
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "a tensor given to another framework goes through host memory"
    ]


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_round_trip_through_a_framework(gpu: Gpu, framework: str) -> None:
    pytest.importorskip(framework)
    with Tensor.from_numpy(values("f4")) as x, vertigrad.from_dlpack(getattr(x, framework)() * 2) as y:
        assert y.numpy().tolist() == (2 * values("f4")).tolist()


def test_capsules_are_read_whatever_other_libraries_set_in_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PyCapsule_New", "PyCapsule_GetPointer", "PyCapsule_IsValid"):
        function = getattr(ctypes.pythonapi, name)
        monkeypatch.setattr(function, "argtypes", [ctypes.py_object, ctypes.c_char_p])  # as some do
        monkeypatch.setattr(function, "restype", ctypes.c_void_p)
    values, freed = np.arange(6, dtype=np.float32).reshape(2, 3), []
    source = capsule.Strided(values.ctypes.data, (1, 0), values.shape, values.strides, values.dtype)
    exported = capsule.capsule(source, False, lambda: freed.append(1))
    assert capsule.read(exported) == source
    del exported
    gc.collect()
    assert freed
