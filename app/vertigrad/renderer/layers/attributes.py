"""`Attributes`: the checked tensors and constants bound to a layer, each with its vertex layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...params import parse_color, unknown
from ...params.color_space import linear
from ...tensor import Tensor
from ..vertex_layout import StepMode, VertexLayout, vertex_layout
from .base import Attribute, AttributeSpec, Constant, Transparency
from .storage import storage_range


@dataclass(frozen=True)
class Bound:
    """A tensor and the layout it is drawn with."""

    tensor: Tensor
    layout: VertexLayout

    @property
    def stride(self) -> int:
        """Elements from one row to the next."""
        return self.layout.stride // self.tensor.itemsize

    def report(self) -> dict[str, Any]:
        """Where it is and how it is read."""
        return describe(self.tensor, self.layout.stride, self.layout.format)

    def resource(self, gpu: Gpu, where: str = "a layer") -> tuple[dict[str, Any], int]:
        """The range of its block to bind as storage, and the index of its first element there. Raises `LimitError`."""
        resource, first = storage_range(gpu, self.tensor, where, self.layout.nbytes)
        return resource, first // self.tensor.itemsize


@dataclass(frozen=True)
class Shared:
    """Attributes, by name, whose rows are interleaved in one block: a single vertex buffer serves them all."""

    parts: list[tuple[str, Bound]]

    @property
    def range(self) -> tuple[int, int]:
        """The offset of the buffer in the block, and its bytes."""
        (low, high), layout = _first_rows([bound for _, bound in self.parts]), self.first.layout
        return low, (layout.rows - 1) * layout.stride + high - low

    @property
    def first(self) -> Bound:
        """One of them."""
        return self.parts[0][1]

    def fits(self, bound: Bound) -> bool:
        """Whether the rows of another attribute are interleaved with these."""
        first, (low, high) = self.first, _first_rows([*[one for _, one in self.parts], bound])
        alike = first.tensor.owner is bound.tensor.owner and first.layout.step_mode == bound.layout.step_mode
        return alike and first.layout.stride == bound.layout.stride >= high - low

    def descriptor(self, locations: Mapping[str, int]) -> dict[str, object]:
        """The vertex buffer of a render pipeline, for each attribute's location in the shader."""
        layout, start = self.first.layout, self.range[0]
        attributes = [one.layout.attribute(locations[name], one.tensor.offset - start) for name, one in self.parts]
        return {"array_stride": layout.stride, "step_mode": layout.step_mode, "attributes": attributes}


def _first_rows(bounds: Sequence[Bound]) -> tuple[int, int]:
    """The range of bytes in the block that the first rows span."""
    sizes = [one.layout.nbytes - (one.layout.rows - 1) * one.layout.stride for one in bounds]
    ends = [one.tensor.offset + size for one, size in zip(bounds, sizes, strict=True)]
    return min(one.tensor.offset for one in bounds), max(ends)


class Attributes:
    """One checked set of attributes. All tensors have as many rows as the one bound as "position".

    `excluded` names attributes that are not vertex buffers; the layer checks those itself. Raises `LayoutError` for a
    tensor whose layout cannot be drawn, `ParameterError` for a name that is unknown or missing, or must be a tensor.
    """

    def __init__(
        self,
        gpu: Gpu,
        layer: str,
        specs: Mapping[str, AttributeSpec],
        values: Mapping[str, Attribute],
        step_mode: StepMode,
        excluded: Iterable[str] = (),
    ):
        for name in values:
            if name not in specs:
                raise ParameterError(f"layer {layer!r}: {unknown('attribute', name, specs)}")
        self._layer = layer
        self._specs = specs
        self._step_mode: StepMode = step_mode
        self._max_stride = gpu.limits["max-vertex-buffer-array-stride"]
        self.tensors: dict[str, Bound] = {}
        self.constants: dict[str, Constant] = {}
        self.rows = 0
        for name, spec in specs.items():
            if name not in excluded:
                self._add_value(name, spec, values.get(name, spec.default))
        self.transparency: Transparency = "some" if self.components("color") == 4 else "none"
        color = self.constants.get("color")
        if isinstance(color, tuple | list) and len(color) == 4 and color[3] < 1.0:
            self.transparency = "all"

    def add(self, name: str, tensor: Tensor, components: tuple[int, ...], storage: bool = False) -> None:
        """Bind one more tensor. Raises `LayoutError`."""
        try:
            layout = vertex_layout(
                tensor,
                components=components,
                step_mode=self._step_mode,
                rows=self.rows or None,
                max_stride=self._max_stride,
                storage=storage,
            )
        except LayoutError as error:
            raise LayoutError(f"layer {self._layer!r}, {name}: {error}") from None
        self.tensors[name] = Bound(tensor, layout)
        self.rows = layout.rows

    def wgsl(self, name: str) -> str:
        """The shader's type of an attribute; empty if it is a constant or not bound."""
        bound = self.tensors.get(name)
        return bound.layout.wgsl if bound else ""

    def components(self, name: str) -> int:
        """Components of a row of an attribute; 0 if it is not a tensor."""
        bound = self.tensors.get(name)
        return bound.layout.components if bound else 0

    @property
    def buffers(self) -> list[Shared]:
        """All tensors, grouped by vertex buffer."""
        found: list[Shared] = []
        for item in self.tensors.items():
            for one in found:
                if one.fits(item[1]):
                    one.parts.append(item)
                    break
            else:
                found.append(Shared([item]))
        return found

    def color(self) -> tuple[float, float, float, float]:
        """The constant color as linear light and alpha; black where colors are a tensor. Raises `ParameterError`."""
        value = self.constants.get("color", (0.0, 0.0, 0.0))
        components = parse_color(value) if isinstance(value, str) else value
        if not isinstance(components, tuple | list) or len(components) not in (3, 4):
            raise ParameterError(
                f'layer {self._layer!r}: color must be "#rrggbb" or 3 or 4 values from 0 to 1, got {value!r}'
            )
        r, g, b, a = (*linear(components), 1.0)[:4]
        return r, g, b, a

    def number(self, name: str) -> float:
        """A constant above zero; 1, as a factor, where it is a tensor. Raises `ParameterError`."""
        value = self.constants.get(name, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ParameterError(f"layer {self._layer!r}: {name} must be a number above 0, got {value!r}")
        return float(value)

    def factors(self, name: str) -> tuple[float, ...]:
        """The same along three axes, as one value or three. Raises `ParameterError`."""
        value = self.constants.get(name, 1.0)
        values = value if isinstance(value, list | tuple) else [value] * 3
        if len(values) != 3 or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values
        ):
            raise ParameterError(f"layer {self._layer!r}: {name} must be one or three numbers above 0, got {value!r}")
        return tuple(float(v) for v in values)

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}, for the attributes in the specs."""
        return {name: one.report() for name, one in self.tensors.items() if name in self._specs} | self.constants

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.tensors.values())

    def _add_value(self, name: str, spec: AttributeSpec, value: Attribute | None) -> None:
        if isinstance(value, Tensor):
            self.add(name, value, spec.components, spec.storage)
        elif spec.required:
            raise ParameterError(f"layer {self._layer!r}: {name} must be a tensor, in each row {spec.doc}")
        elif value is not None and spec.without:
            raise ParameterError(f"layer {self._layer!r}: {name} must be a tensor; leave it out for {spec.without}")
        elif value is not None:
            self.constants[name] = value


def describe(tensor: Tensor, stride: int, format: str) -> dict[str, Any]:
    """Where a tensor is and how it is read, for a layer's report."""
    return {
        "tensor": tensor.name,
        "block": tensor.block.id,
        "offset": tensor.offset,
        "stride": stride,
        "format": format,
    }
