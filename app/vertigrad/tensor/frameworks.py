"""`FrameworkViews`: a tensor's values for PyTorch, JAX, CuPy and whatever else reads DLPack."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import RequirementError

CPU = 1  # DLPack's DLDeviceType
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
        note_once(what)
        return self.numpy()


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
        logging.getLogger("vertigrad").warning(
            "%s goes through host memory, a copy: sharing memory with CUDA is not possible here", what
        )
