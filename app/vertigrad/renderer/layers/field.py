"""`Field`: a tensor of samples on a grid of three axes, as shaders of layers read it: where it lies."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Literal

from ...errors import LayoutError, LimitError, ParameterError
from ...gpu import Gpu
from ...tensor import Tensor
from .base import Attribute

FIELD = struct.Struct("<4I4i")  # `Field` in shaders/common/field.wgsl
NO_FIELD = bytes(FIELD.size)


class Field:
    """Samples (nz, ny, nx) of f32, or (nz, ny, nx, components), of which `layer` draws the one named `name`.

    `size` counts samples along x, y and z, `strides` are elements from one to the next, `packed` are the bytes of
    `Field` in shaders/common/field.wgsl. Raises `LayoutError` for another shape or type, `LimitError` for more bytes
    than this adapter binds.
    """

    def __init__(self, gpu: Gpu, layer: str, name: str, tensor: Tensor, components: int = 1):
        self._gpu = gpu
        self.tensor = tensor
        self.components = components
        self._check(f"layer {layer!r}: {name} {tensor.name!r}")
        steps = [stride // tensor.itemsize for stride in tensor.strides]
        self.size = tuple(reversed(tensor.shape[:3]))
        self.strides = tuple(reversed(steps[:3]))
        component = steps[3] if components > 1 else 0
        _, first = storage_range(gpu, tensor, f"layer {layer!r}: {name}")
        self.packed = FIELD.pack(*self.size, first // tensor.itemsize, *self.strides, component)

    def resource(self) -> dict[str, Any]:
        """The part of its block to bind, as it lies now."""
        return storage_range(self._gpu, self.tensor, "a layer")[0]

    def report(self) -> dict[str, Any]:
        """Where it lies and how it is read."""
        tensor = self.tensor
        place = {"block": tensor.block.id, "offset": tensor.offset, "stride": tensor.strides[2]}
        return {"tensor": tensor.name, **place, "format": "float32" if self.components == 1 else "float32x3"}

    def _check(self, where: str) -> None:
        tensor = self.tensor
        if tensor.dtype.name != "f32":
            raise LayoutError(f"{where} is {tensor.dtype}; samples of a grid must be f32: cast it")
        wanted = "(nz, ny, nx)" if self.components == 1 else f"(nz, ny, nx, {self.components})"
        fits = tensor.ndim == 3 if self.components == 1 else tensor.shape[3:] == (self.components,)
        if not fits or min(tensor.shape[:3]) < 2:
            raise LayoutError(f"{where} has the shape {tensor.shape}; a grid has {wanted}, 2 samples along each axis")


def storage_range(gpu: Gpu, tensor: Tensor, where: str, nbytes: int | None = None) -> tuple[dict[str, Any], int]:
    """The part of a block to bind as storage, and the byte of it at which the first of the elements lies.

    `nbytes` counts from the tensor's offset, where not all that it spans is wanted. Raises `LimitError`, which begins
    with `where`, if that is more than this adapter binds.
    """
    alignment, limit = (
        gpu.limits[name] for name in ("min-storage-buffer-offset-alignment", "max-storage-buffer-binding-size")
    )
    lowest = tensor.start
    start = lowest // alignment * alignment
    end = lowest + tensor.extent if nbytes is None else tensor.offset + nbytes
    size = -(-(end - start) // 4) * 4
    if size > limit:
        raise LimitError(f"{where}: tensor {tensor.name!r} spans {size:,} bytes; this adapter binds {limit:,} at most")
    return {"buffer": tensor.block.buffer, "offset": start, "size": size}, tensor.offset - start


def fields(gpu: Gpu, layer: str, main: str, given: Mapping[str, Attribute]) -> dict[str, Field]:
    """The attribute `main` of a layer, and its "color" if that is a tensor. Raises `ParameterError`, `LayoutError`."""
    values, color = given.get(main), given.get("color")
    if not isinstance(values, Tensor):
        raise ParameterError(f"layer {layer!r}: {main} must be a tensor, samples on a grid (nz, ny, nx)")
    found = {main: Field(gpu, layer, main, values)}
    if isinstance(color, Tensor):
        found["color"] = Field(gpu, layer, "color", color, 3 if color.ndim == 4 else 1)
    return found


def ends(range: tuple[float, float] | Literal["auto"]) -> tuple[float, float]:
    """The two ends of a range as a shader is told them; it knows better where they are "auto"."""
    return (0.0, 1.0) if range == "auto" else (float(range[0]), float(range[1]))


def whole(tensor: Tensor) -> dict[str, Any]:
    """All of a tensor that a layer made, to be bound."""
    return {"buffer": tensor.block.buffer, "offset": tensor.offset, "size": tensor.nbytes}
