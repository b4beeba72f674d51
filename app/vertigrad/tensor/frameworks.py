"""`FrameworkViews`: a tensor's values for PyTorch, JAX, CuPy and whatever else reads DLPack."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import GpuError, RequirementError
from ..gpu import gpu
from . import capsule
from . import dtype as dtypes

CPU = 1  # DLPack's DLDeviceType
CUDA = 2
_noted: set[str] = set()


class FrameworkViews:
    """What other frameworks call a tensor's values by.

    A tensor whose memory is shared (`Tensor.empty(..., shared="cuda")`) gives views: what either side writes, the other
    sees. Views keep the memory alive, also after `close()`, and hold it in place: a clone is a copy then. Before this
    device uses the memory it waits for the frameworks' work, and it has finished its own when a call returns. Any other
    tensor, and every one of booleans, gives a copy through the host, counted as device to host.
    """

    __slots__ = ()

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and number: that of the shared memory, else the host's."""
        return gpu().frameworks.device if _is_shared(self) else (CPU, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the shared memory, for any `stream`, or of a copy of the values on the host.

        Waits for the GPU. Raises `BufferError` for another device, and where `copy` asks for the opposite.
        """
        device = self.__dlpack_device__()
        target = device if dl_device is None else tuple(dl_device)
        shared = _is_shared(self) and target == device and not copy
        if target not in (device, (CPU, 0)):
            raise BufferError(f"a tensor on the DLPack device {device} cannot be exported to {target}")
        if shared:
            view, release = _shared_memory(self)
            return capsule.capsule(view, max_version is not None and max_version[0] >= 1, release)
        if copy is False:
            raise BufferError("the values of this tensor are on the GPU: exporting them to the host is a copy")
        if stream is not None:
            raise BufferError("the values are exported on the host, which has no streams: pass stream=None")
        values = self._on_host("a tensor given to another framework")
        return values.__dlpack__(max_version=max_version) if max_version else values.__dlpack__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The shared memory, for CuPy, Numba and Warp; it is held until this tensor object is collected.

        `AttributeError` if CUDA does not see the memory of this tensor.
        """
        if not _is_shared(self) or gpu().frameworks.device[0] != CUDA:
            raise AttributeError("CUDA does not see the memory of this tensor: create it with shared='cuda'")
        view, release = _shared_memory(self)
        weakref.finalize(self, release).atexit = False
        return {
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (view.pointer, False),
            "strides": view.strides,
            "version": 3,
            "stream": None,
        }

    def torch(self) -> Any:
        """A `torch.Tensor` of the same shape and type: a view if the memory is shared, else a copy on the CPU.

        Waits for the GPU. Raises `RequirementError` if PyTorch is not installed, `DtypeError` if it lacks the type.
        """
        torch = _framework("torch")
        return torch.from_dlpack(self) if _is_shared(self) else torch.from_numpy(self._on_host("tensor.torch()"))

    def jax(self) -> Any:
        """A `jax.Array` of the same shape and type: a view if the memory is shared, else a copy on the default device.

        JAX takes its arrays for constants: take a new view after other code wrote the memory. Waits for the GPU.
        Raises `RequirementError` if JAX is not installed.
        """
        if _is_shared(self):
            return _framework("jax.dlpack").from_dlpack(self)
        return _framework("jax.numpy").asarray(self._on_host("tensor.jax()"))

    def cupy(self) -> Any:
        """A `cupy.ndarray` of the same shape and type: a view if the memory is shared, else a copy on the device.

        Waits for the GPU. Raises `RequirementError` if CuPy is not installed.
        """
        cupy = _framework("cupy")
        return cupy.from_dlpack(self) if _is_shared(self) else cupy.asarray(self._on_host("tensor.cupy()"))

    def _on_host(self: Any, what: str) -> np.ndarray:
        note_once(what)
        return self.numpy()


def is_exported(shared: bool | str) -> bool:
    """Whether a tensor asked for with `shared` is to have shared memory. Raises `ValueError` if it is not known."""
    if shared not in (False, True, "cuda"):
        raise ValueError(f"shared={shared!r} is not known; use 'cuda', or True for whatever is there")
    if shared and gpu().frameworks.reason:
        note_once("a tensor that was to be shared")
    return bool(shared) and not gpu().frameworks.reason


def _is_shared(tensor: Any) -> bool:
    """Whether frameworks can see the memory; booleans take four bytes here and one elsewhere."""
    return tensor.block.exported and tensor.dtype is not dtypes.bool_


def _shared_memory(tensor: Any) -> tuple[capsule.Strided, Callable[[], None]]:
    """The memory of a shared tensor, and the function, for any thread, that takes it back."""
    device = gpu()
    access = ExitStack()
    mapped = access.enter_context(device.frameworks.access(device, device.storage, tensor.owner))
    view = capsule.Strided(
        mapped.pointer + tensor.offset,
        device.frameworks.device,
        tensor.shape,
        tensor.strides,
        np.dtype(tensor.dtype.numpy),
    )

    def take_back(access: ExitStack = access, mapped: Any = mapped) -> None:
        with suppress(GpuError):  # work that failed is reported by the next submission
            device.frameworks.wait()  # a framework may have queued work on it before it let go
        access.close()

    return view, lambda: device.tracker.drop_later(take_back)


def _framework(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise RequirementError(
            f"{package} is not installed here ({error}); install it with `pip install {package}`"
        ) from error


def note_once(what: str) -> None:
    """Say once why values go through the host: whoever wonders about the speed finds it in the log."""
    if "host" not in _noted:
        _noted.add("host")
        why = gpu().frameworks.reason or "its memory is not shared; create it with shared='cuda'"
        logging.getLogger("vertigrad").warning("%s goes through host memory, a copy: %s", what, why)
