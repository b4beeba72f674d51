"""`ContentLayer`: what layers have in common that keep all they draw in one object, made anew by each `bind`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from ...gpu import Gpu
from ...memory import Block
from .attributes import Attributes
from .base import Layer


class Content(Protocol):
    """Everything on the device that is needed to draw one set of attributes. Name it as a base class."""

    attributes: Attributes

    def blocks(self) -> Iterable[Block]: ...
    def report(self) -> dict[str, Any]: ...
    def close(self) -> None: ...


C = TypeVar("C", bound=Content)


class ContentLayer(Layer, Generic[C]):
    """A layer whose `bind` makes a content and hands it to `_take`; `_bound` is what was taken last."""

    def __init__(self, gpu: Gpu, name: str, style: Any):
        self.name = name
        self.style = style
        self._gpu = gpu
        self._content: C | None = None

    @property
    def attributes(self) -> Attributes:
        """What was bound last. Layers of a grid have the corners of its box as "position"."""
        return self._bound.attributes

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self._bound.blocks()

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        return self._bound.report()

    def close(self) -> None:
        """Give up the memory that the layer itself made. Idempotent."""
        if self._content is not None:
            self._content.close()
            self._content = None

    @property
    def _bound(self) -> C:
        if self._content is None:
            raise RuntimeError(f"layer {self.name!r} has nothing bound; call bind first")
        return self._content

    def _take(self, content: C) -> None:
        """Draw this from now on; what was drawn before is closed."""
        self.close()
        self._content = content
