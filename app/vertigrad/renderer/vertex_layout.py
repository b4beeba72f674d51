"""`vertex_layout`: how a vertex shader reads a tensor, straight from its block.

The last axis holds the components of one row's attribute, all axes before it count the rows. Nothing is copied: a
layout that WebGPU cannot read raises `LayoutError` with the tensor's name, the value that does not fit, and the fix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ..errors import LayoutError
from ..tensor import Tensor

StepMode = Literal["instance", "vertex"]

MAX_STRIDE = 2048  # WebGPU's guaranteed minimum of the limit max-vertex-buffer-array-stride

# (element type, components) -> (vertex format, how the shader declares it)
_FORMATS: dict[tuple[str, int], tuple[str, str]] = {
    ("f32", 1): ("float32", "f32"),
    ("f16", 2): ("float16x2", "vec2f"),
    ("f16", 4): ("float16x4", "vec4f"),
    ("u32", 1): ("uint32", "u32"),
    ("i32", 1): ("sint32", "i32"),
    ("bool", 1): ("uint32", "u32"),
    ("u8", 4): ("unorm8x4", "vec4f"),
    **{("f32", n): (f"float32x{n}", f"vec{n}f") for n in (2, 3, 4)},
    **{("u32", n): (f"uint32x{n}", f"vec{n}u") for n in (2, 3, 4)},
    **{("i32", n): (f"sint32x{n}", f"vec{n}i") for n in (2, 3, 4)},
}


@dataclass(frozen=True, slots=True)
class VertexLayout:
    """One attribute in a vertex buffer. `stride` and `offset` are in bytes, `wgsl` is the shader's type.

    With a stride of 0 every row has the same value. The offset is an argument of `set_vertex_buffer`, not part of the
    pipeline: two layouts with the same `key` share one pipeline.
    """

    stride: int
    format: str
    offset: int
    wgsl: str
    components: int
    rows: int
    nbytes: int
    step_mode: StepMode = "instance"

    @property
    def key(self) -> tuple[int, str, StepMode]:
        """The part of the layout on which a pipeline depends."""
        return self.stride, self.format, self.step_mode

    def attribute(self, location: int, offset: int = 0) -> dict[str, object]:
        """The attribute as a render pipeline takes it, `offset` bytes from where the buffer begins."""
        return {"format": self.format, "offset": offset, "shader_location": location}


def vertex_layout(
    tensor: Tensor,
    *,
    components: Sequence[int],
    step_mode: StepMode = "instance",
    rows: int | None = None,
    max_stride: int = MAX_STRIDE,
    storage: bool = False,
) -> VertexLayout:
    """The layout with which `tensor` is read, one of `components` elements a row.

    1 among `components` also allows a tensor with no axis of components, one element a row. `rows` is the number of
    rows needed, if that is known; `max_stride` is the device's max-vertex-buffer-array-stride. With `storage` the
    tensor is read as storage only, so a row may have more components than a vertex format. Raises `LayoutError`.
    """
    row_axes, count = _split(tensor, tuple(components), rows)
    element, itemsize = tensor.dtype.name, tensor.dtype.itemsize
    spacing = tensor.strides[row_axes] if count > 1 else itemsize
    if spacing != itemsize:
        raise _error(tensor, f"its components are {spacing} bytes apart, not {itemsize}", "call .contiguous() first")
    if not storage and (element, count) not in _FORMATS:
        raise _error(tensor, f"{count} component(s) of {element} are not a vertex format", _other_format(element))
    stride = _row_stride(tensor, row_axes, count * itemsize, max_stride)
    if tensor.offset % 4:
        raise _error(
            tensor, f"it starts at byte {tensor.offset} of its block, not a multiple of 4", _other_format(element)
        )
    found = math.prod(tensor.shape[:row_axes])
    nbytes = (found - 1) * stride + count * itemsize
    name, wgsl = _FORMATS.get((element, count), (f"{element} x {count}", ""))
    return VertexLayout(stride, name, tensor.offset, wgsl, count, found, nbytes, step_mode)


def _split(tensor: Tensor, components: tuple[int, ...], rows: int | None) -> tuple[int, int]:
    """How many leading axes count rows, and how many components a row has."""
    shape = tensor.shape
    if math.prod(shape) == 0:
        raise _error(tensor, f"its shape {shape} has no rows", "draw it once it has some")
    last = shape[-1] if shape else 0
    with_axis = last in components
    if with_axis and rows in (None, math.prod(shape[:-1])):
        return len(shape) - 1, last
    if 1 in components and rows in (None, math.prod(shape)):
        return len(shape), 1
    if with_axis or 1 in components:
        found = math.prod(shape[:-1]) if with_axis else math.prod(shape)
        raise _error(tensor, f"expected {rows} rows, got {found} of shape {shape}", "give one row for each position")
    raise _error(tensor, f"its last axis has {last or 'no'} components", _other_count(shape, components))


def _row_stride(tensor: Tensor, row_axes: int, row_bytes: int, max_stride: int) -> int:
    """Bytes from each row to the next, the same for all of them."""
    axes = [(n, stride) for n, stride in zip(tensor.shape[:row_axes], tensor.strides[:row_axes], strict=True) if n > 1]
    if not axes:
        return -(-row_bytes // 4) * 4
    for (_, outer), (n, inner) in pairwise(axes):
        if outer != n * inner:
            raise _error(
                tensor,
                f"its rows are not evenly spaced: {outer} bytes along one axis, {n} x {inner} along the next",
                "call .contiguous() first",
            )
    stride = axes[-1][1]
    problem = _stride_problem(stride, row_bytes, max_stride)
    if problem:
        raise _error(tensor, problem, "call .contiguous() first")
    return stride


def _stride_problem(stride: int, row_bytes: int, max_stride: int) -> str | None:
    if stride < 0:
        return f"its rows run backward, {stride} bytes each"
    if stride % 4:
        return f"its rows are {stride} bytes apart, not a multiple of 4"
    if stride > max_stride:
        return f"its rows are {stride} bytes apart; this GPU allows {max_stride}"
    if 0 < stride < row_bytes:
        return f"its rows overlap: {row_bytes} bytes each, {stride} apart"
    return None


def _other_count(shape: tuple[int, ...], components: tuple[int, ...]) -> str:
    expected = " or ".join(str(n) for n in components)
    if not shape or shape[-1] < min(components):
        return f"{expected} are needed"
    fitting = max((n for n in components if n < shape[-1]), default=components[0])
    padded = ", which drops the padding of a vec3f array" if (shape[-1], fitting) == (4, 3) else ""
    return f"{expected} are needed: give [..., :{fitting}]{padded}"


def _other_format(element: str) -> str:
    if element == "f16":
        return "f16 is drawn in rows of 2 or 4; cast to f32"
    if element == "u8":
        return "u8 is drawn in rows of 4; cast to f32"
    return "cast to f32"


def _error(tensor: Tensor, problem: str, fix: str) -> LayoutError:
    return LayoutError(f"tensor {tensor.name!r} cannot be a vertex attribute: {problem}; {fix}")
