"""`VectorField`: a tensor of vectors on a grid, as shaders of layers read it, and its box in the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...tensor import Tensor
from .attributes import describe
from .base import Attribute
from .box import Box, BoxStyle, Vector, inset
from .storage import storage_range

PLANES = {"xz": 2, "xy": 1}  # of a flat field: the axis along which its rows advance


class VectorField:
    """Vectors (nz, ny, nx, 3), or a flat field (rows, columns, 2 or 3), of f32, in a box.

    A flat field is in `plane`: its columns are along x and its rows along the plane's other axis, which is also the
    direction of the second of two components. `constants` are the fields of common/vectors.wgsl that do not change.
    Raises `LayoutError` for another shape or type, `ParameterError` if it is not a tensor, `LimitError` for more bytes
    than this GPU can bind.
    """

    def __init__(self, gpu: Gpu, layer: str, name: str, values: Mapping[str, Attribute], plane: str):
        tensor = values.get(name)
        if not isinstance(tensor, Tensor):
            raise ParameterError(f"layer {layer!r}: {name} must be a tensor, vectors on a grid (nz, ny, nx, 3)")
        self.tensor = tensor
        self._check(f"layer {layer!r}: {name} {tensor.name!r}")
        storage_range(gpu, tensor, f"layer {layer!r}: {name}")
        second = PLANES[plane]
        shape, steps = list(tensor.shape), [stride // tensor.itemsize for stride in tensor.strides]
        if tensor.ndim == 3:
            across = 2 - (3 - second)  # among z, y, x: the axis along which there is one sample
            shape.insert(across, 1)
            steps.insert(across, 0)
        self.size = (shape[2], shape[1], shape[0])
        self.constants: dict[str, Any] = {
            "vectors_size": self.size,
            "vectors_strides": (steps[2], steps[1], steps[0]),
            "component": steps[3],
            "second": second if shape[3] == 2 else 0,
        }
        self.box = Box(layer, self.size)

    def kernel_params(self, style: BoxStyle) -> dict[str, Any]:
        """The box as parameters of a kernel; a flat field has no thickness. Updates the box if the style changed."""
        low, high = self.box.fit(style)
        if style.low == "auto":
            low, high = self._flat(low), self._flat(high)
        return {"low": low, "high": high, "inset": inset(style)}

    def report(self) -> dict[str, Any]:
        """The tensor and its layout, for a layer's report."""
        tensor = self.tensor
        return describe(tensor, tensor.strides[-2], f"float32x{tensor.shape[-1]}")

    def _flat(self, corner: Vector) -> Vector:
        x, y, z = (0.0 if n == 1 else end for n, end in zip(self.size, corner, strict=True))
        return x, y, z

    def _check(self, where: str) -> None:
        tensor = self.tensor
        if tensor.dtype.name != "f32":
            raise LayoutError(f"{where} is {tensor.dtype}; vectors on a grid must be f32: cast it")
        flat = tensor.ndim == 3 and tensor.shape[2] in (2, 3)
        if not (flat or (tensor.ndim == 4 and tensor.shape[3] == 3)) or min(tensor.shape[:-1]) < 2:
            raise LayoutError(
                f"{where} has the shape {tensor.shape}; a field of vectors has (nz, ny, nx, 3), or (rows, columns, 2 "
                "or 3) if it is flat, 2 samples along each axis"
            )


def longest(ends: tuple[Vector, Vector]) -> float:
    """The longest edge of a box."""
    return max(high - low for low, high in zip(*ends, strict=True))
