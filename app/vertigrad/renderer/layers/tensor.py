"""`TensorLayer`: any tensor, such as one inside a network, drawn in a form that fits its shape."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu
from ...params import Params, choice, integer, number, switch, vector
from ...tensor import Tensor
from ..moment import Moment
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .image import PLANES
from .styles import Range
from .tensor_form import Form
from .tensor_forms import FORMS, form_for

COMPARED = "compare", "compare_2", "compare_3", "compare_4"  # attributes; as in scene/inside.py
FORM = ("draw", "columns", "normalize", "channels", "channel")  # of the style: another one is another form


class TensorStyle(Params):
    """How a tensor is drawn, and where."""

    draw: str = choice(
        "auto",
        ("auto", *FORMS),
        doc="form; auto: bars for vectors, points for rows of 2 or 3 numbers, a volume for five axes, else an image",
    )
    center: tuple[float, ...] = vector((0.0, 0.0, 0.0), gizmo="position", doc="its center")
    size: float = styles.length(2.0, 0.1, 10.0, "length of its longest side")
    plane: str = choice("xy", tuple(PLANES), doc="of an image: xy is upright and faces z, zy faces x, xz is horizontal")
    height: float = number(
        0.5, min=0.0, max=1e6, slider_max=2.0, doc="of bars and surfaces: height of the largest magnitude"
    )
    channels: int = integer(256, min=1, max=4096, scale="log", doc="of an image: channels that are drawn, at most")
    columns: int = integer(
        0, min=0, max=4096, slider_max=32, doc="of an image: channels in a row; 0: about as many as rows"
    )
    normalize: bool = switch(True, doc="of an image: scale each channel to its own range")
    channel: int = integer(
        0, min=0, max=1 << 20, slider_max=255, doc="of surfaces and volumes: the channel, if there are several"
    )
    smooth: bool = switch(False, doc="of an image: linear interpolation between elements")
    colormap: str = styles.colormap("viridis")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    brightness: float = styles.brightness()


class TensorLayer(Layer):
    """A tensor of any shape and type: its channels as images, or bars, points, a surface or a volume.

    What is drawn is computed from the tensor before each frame, on the GPU, by the layer of that form. With `minus` the
    difference to another tensor of the same shape is drawn. The values of those in `COMPARED` count in the range of
    colors and heights, so that layers that compare each other have the same one.
    """

    casts = True
    blends = True
    Style = TensorStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "tensor": AttributeSpec(True, (), None, "a tensor of any shape and type", any_layout=True),
        "minus": AttributeSpec(
            False, (), None, "a tensor to subtract, of the same shape", any_layout=True, without="no difference"
        ),
        **dict.fromkeys(
            COMPARED,
            AttributeSpec(
                False,
                (),
                None,
                "a tensor of the same shape, whose values count in the range of colors and heights, too",
                any_layout=True,
                without="a range of its own",
            ),
        ),
    }

    def __init__(self, gpu: Gpu, name: str, style: Any):
        super().__init__(gpu, name, style)
        self.form: Form | None = None
        self._inner: Layer | None = None

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these tensors from now on. Raises as `Layer.bind`; then what was bound before remains."""
        tensor = _checked(self.name, attributes)
        others = {name: _like(self.name, tensor, name, attributes.get(name)) for name in ("minus", *COMPARED)}
        minus, compared = others.pop("minus"), {name: one for name, one in others.items() if one is not None}
        with ExitStack() as stack:
            form = stack.enter_context(form_for(self.name, self.style, tensor, minus, compared))
            inner = form.LAYER(self._gpu, self.name, form.style(self.style))
            inner.alongside = form.alongside
            inner.bind(form.attributes)
            stack.callback(inner.close)
            self.close()
            self._closed = stack.pop_all()
        self.form, self._inner, self._values = form, inner, attributes
        self.drawing, self.transparency = inner.drawing, inner.transparency
        self.drawing.reported |= form.report()
        self._bound_for, self._styled_for = self._form_values(), tuple(vars(self.style).values())

    def prepare(self, moment: Moment | None = None) -> None:
        """Compute what is drawn, and record what must precede the frame's passes."""
        if self._form_values() != self._bound_for:
            self.bind(self._values)
        form, inner = self.form, self._inner
        assert form is not None and inner is not None, "bind comes first"
        form.update(self.style)
        values = tuple(vars(self.style).values())
        if values != self._styled_for:
            inner.style.take(form.style(self.style))
            self._styled_for = values
        inner.prepare(moment)
        self.drawing = inner.drawing

    def element(self, row: int) -> int | None:
        """The row-major index in the tensor of what is drawn as this row; None if that is no element."""
        return None if self.form is None else self.form.element(row)

    def index(self, row: int) -> tuple[int, ...] | None:
        """The index in the tensor of what is drawn as this row: of an element, or of a row of points and lines."""
        element, tensor = self.element(row), self._values.get("tensor")
        if element is None or self.form is None or not isinstance(tensor, Tensor) or element >= tensor.size:
            return None
        index = np.unravel_index(element, tensor.shape)
        return tuple(int(at) for at in index[: len(index) - self.form.whole_axes])

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are drawn, by attribute."""
        return {name: value for name, value in self._values.items() if isinstance(value, Tensor)}

    def close(self) -> None:
        """Release the memory that the layer owns. Idempotent."""
        if self._inner is not None:
            self._closed.close()
        self.form = self._inner = None
        super().close()

    def _form_values(self) -> tuple[object, ...]:
        return tuple(getattr(self.style, name) for name in FORM)


def _checked(layer: str, attributes: Mapping[str, Attribute]) -> Tensor:
    """The tensor. Raises `ParameterError`, `LayoutError`."""
    tensor = attributes.get("tensor")
    if not isinstance(tensor, Tensor):
        raise ParameterError(f'layer {layer!r}: tensor must be a tensor, such as "net:/encoder/3/attn"')
    if not tensor.size:
        raise LayoutError(f"layer {layer!r}: tensor {tensor.name!r} has the shape {tensor.shape}: it is empty")
    return tensor


def _like(layer: str, tensor: Tensor, name: str, other: Attribute | None) -> Tensor | None:
    """The attribute `name`, a tensor of the same shape, if there is one. Raises `LayoutError`."""
    if other is None or (isinstance(other, Tensor) and other.shape == tensor.shape):
        return other
    found = f"of shape {other.shape}" if isinstance(other, Tensor) else repr(other)
    raise LayoutError(f"layer {layer!r}: {name} must be a tensor of shape {tensor.shape}, got one {found}")
