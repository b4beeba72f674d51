"""Whether an output, of which only shape and dtype are known yet, can be drawn as an attribute of a layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import LayoutError
from ..models.base import OutputSpec
from ..renderer.vertex_layout import vertex_layout
from .schema import OutputRef

POSITION = "position"  # the attribute that says how many rows a layer draws
INDEX = "index"  # the attribute that names rows instead of being one
_INDEX_DTYPES = ("u32",)
_DTYPES = ("f32", "f16", "u8")


def rows_drawn(
    attribute: str, reference: OutputRef, output: OutputSpec, components: Sequence[int], rows: int | None
) -> int | None:
    """The rows of the output if it is drawn as `attribute`; None if not known yet.

    `components` are the numbers per row that the layer takes, `rows` as many as there must be, None if any
    number will do. Raises `LayoutError` if it cannot be drawn so.
    """
    dtypes = _INDEX_DTYPES if attribute == INDEX else _DTYPES
    if output.dtype not in dtypes:
        raise LayoutError(f"{reference} is {output.dtype}; {attribute} takes {' or '.join(dtypes)}")
    if output.shape and output.shape[-1] is None:
        return None
    known = tuple(1 if size is None else size for size in output.shape)
    is_known = None not in output.shape
    planned = _Planned(str(reference), known, _Element(output.dtype, output.itemsize))
    layout = vertex_layout(planned, components=components, rows=rows if is_known and attribute != INDEX else None)
    return layout.rows if is_known else None


@dataclass(frozen=True)
class _Element:
    name: str
    itemsize: int


@dataclass(frozen=True)
class _Planned:
    """A tensor that is not there yet, as if it were contiguous: strides and offset are the model's affair."""

    name: str
    shape: tuple[int, ...]
    dtype: _Element
    offset: int = 0

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.dtype.itemsize * math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
