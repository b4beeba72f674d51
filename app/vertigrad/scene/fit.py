"""Whether an output, of which only shape and dtype are known yet, can be drawn as an attribute of a layer.

The rule for rows and their numbers is that of `renderer.vertex_layout`, which sees the tensor itself later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import LayoutError
from ..models import OutputSpec
from .schema import OutputRef

POSITION = "position"  # the attribute that says how many rows a layer draws
INDEX = "index"  # the attribute that names rows instead of being one
_INDEX_DTYPES = ("u32",)
_DTYPES = ("f32", "f16", "u8")

Shape = tuple[int | None, ...]


def rows_drawn(
    attribute: str, reference: OutputRef, output: OutputSpec, components: Sequence[int], rows: int | None
) -> int | None:
    """The rows of the output if it is drawn as `attribute`; None if not known yet.

    `components` are the numbers per row that the layer takes, `rows` as many as there must be, None if any number
    will do. Raises `LayoutError` if it cannot be drawn so.
    """
    dtypes = _INDEX_DTYPES if attribute == INDEX else _DTYPES
    if output.dtype not in dtypes:
        raise LayoutError(f"{reference} is {output.dtype}; {attribute} takes {' or '.join(dtypes)}")
    rows = None if attribute == INDEX else rows
    for found in _readings(output.shape, components):
        if found is None or rows in (None, found):
            return found
    wanted = f"rows of {' or '.join(map(str, components))} number" + "s" * (max(components) > 1)
    told = f"{reference} has shape {_told(output.shape)}; {attribute} takes"
    raise LayoutError(f"{told} {wanted}" if rows is None else f"{told} {rows} {wanted}, as many as {POSITION}")


def _readings(shape: Shape, components: Sequence[int]) -> list[int | None]:
    """How many rows the shape may be: with its last axis as the numbers of a row, or with one number a row."""
    found = []
    if shape and (shape[-1] in components or shape[-1] is None):
        found.append(_product(shape[:-1]))
    if 1 in components:
        found.append(_product(shape))
    return [rows for rows in found if rows != 0]


def _product(sizes: Shape) -> int | None:
    return None if None in sizes else math.prod(size or 0 for size in sizes)


def _told(shape: Shape) -> str:
    sizes = ", ".join("n" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"
