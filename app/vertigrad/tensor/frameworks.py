"""Tensors of other frameworks: PyTorch, JAX, CuPy and whatever else speaks DLPack."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DtypeError, LayoutError, RequirementError
from ..gpu import Traffic, gpu
from ..gpu.meter import Direction
from . import dtype as dtypes
from .dtype import dtype_of

if TYPE_CHECKING:
    from .tensor import Tensor

CPU = 1  # DLPack's DLDeviceType
_HOST_DEVICES = (CPU, 3, 11)  # and memory of the host that CUDA and ROCm have pinned
_TO_HOST = ("cpu", "get", "numpy", "__array__")  # how PyTorch, CuPy, Warp and JAX copy to the host
_noted: set[str] = set()


class FrameworkViews:
    """What other frameworks call a tensor's values by. They go through the host: a copy, counted as device to host."""

    __slots__ = ()

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and number: the host's."""
        return CPU, 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of a copy of the values on the host, for `from_dlpack` of other libraries.

        Waits for the GPU. Raises `BufferError` for another device, and for `copy=False`.
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"a tensor's values cannot be exported to the DLPack device {tuple(dl_device)}: only to (1, 0)"
            )
        if stream is not None:
            raise BufferError("a tensor's values are exported on the host, which has no streams: pass stream=None")
        if copy is False:
            raise BufferError("the values of a tensor are on the GPU: exporting them to the host is a copy")
        values = self._on_host("a tensor given to another framework")
        return values.__dlpack__(max_version=max_version) if max_version else values.__dlpack__()

    def torch(self) -> Any:
        """The values as a `torch.Tensor` of the same shape and type, on the CPU; an independent copy.

        Waits for the GPU. Raises `RequirementError` if PyTorch is not installed, `DtypeError` if it lacks the type.
        """
        return _framework("torch").from_numpy(self._on_host("tensor.torch()"))

    def jax(self) -> Any:
        """The values as a `jax.Array` of the same shape and type, on JAX's default device; an independent copy.

        Waits for the GPU. Raises `RequirementError` if JAX is not installed.
        """
        return _framework("jax.numpy").asarray(self._on_host("tensor.jax()"))

    def cupy(self) -> Any:
        """The values as a `cupy.ndarray` of the same shape and type, on CuPy's current device; an independent copy.

        Waits for the GPU. Raises `RequirementError` if CuPy is not installed.
        """
        return _framework("cupy").asarray(self._on_host("tensor.cupy()"))

    def _on_host(self: Any, what: str) -> np.ndarray:
        _note_once(what)
        return self.numpy()


def from_dlpack(source: Any, name: str = "") -> Tensor:
    """A tensor of the values of `source`, which is any array with `__dlpack__`: NumPy, PyTorch, JAX, CuPy, Warp, ...

    A `Tensor` gives a view of itself. An array on the host is borrowed as by `from_blob`, O(1) for any size, and stays
    alive while the tensor needs it; one that is not C-contiguous, and booleans, are copied. One on a device goes
    through the host: counted as device to host here and as host to device when it is used. Raises `DtypeError` for
    element types without a counterpart (64-bit ones: convert them yourself), `LayoutError` for what is not an array.
    """
    from .tensor import Tensor

    if isinstance(source, Tensor):
        return source.detach()
    if not hasattr(source, "__dlpack__"):
        raise LayoutError(f"from_dlpack: {type(source).__name__} has no __dlpack__; pass an array, or use from_numpy")
    on_host = source.__dlpack_device__()[0] in _HOST_DEVICES
    array = _exported(source) if on_host else _copied_to_host(source)
    if array.flags.c_contiguous and dtype_of(array.dtype) is not dtypes.bool_:
        return Tensor.from_blob(array, name=name)
    return Tensor.from_numpy(array, name)


def _exported(source: Any) -> np.ndarray:
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError) as error:  # complex, bfloat16; PyTorch's with a graph of gradients
        raise DtypeError(f"from_dlpack: {type(source).__name__} cannot be exported: {error}") from error


def _copied_to_host(source: Any) -> np.ndarray:
    """The values of an array on a device. Raises `LayoutError` if it has no way to the host that is known."""
    _note_once("from_dlpack of a device's array")
    for method in _TO_HOST:
        if hasattr(source, method):
            array = np.asarray(getattr(source, method)())
            gpu().meter.count(Direction.DEVICE_TO_HOST, array.nbytes, Traffic.GEOMETRY)
            return array
    raise LayoutError(
        f"from_dlpack: {type(source).__name__} is on another device and has none of {', '.join(_TO_HOST)} "
        "to copy it to the host; copy it yourself and use from_numpy"
    )


def _framework(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise RequirementError(
            f"{package} is not installed here ({error}); install it with `pip install {package}`"
        ) from error


def _note_once(what: str) -> None:
    """Say once why values go through the host: whoever wonders about the speed finds it in the log."""
    if "host" not in _noted:
        _noted.add("host")
        logging.getLogger("vertigrad").warning(
            "%s goes through host memory, a copy: sharing memory with CUDA is not possible here", what
        )
