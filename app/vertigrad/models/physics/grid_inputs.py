"""Grids that models take from others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...tensor import Tensor, f32
from ..parts import Parts
from ..reference.obstacle import HEADER

OBSTACLE = (
    "output obstacle of a model of type obstacle; or signed distances [m], negative inside, at the nodes of a grid "
    "(nz, ny, nx), f32"
)


def grid_input(parts: Parts, inputs: Mapping[str, Tensor], name: str, *axes: str) -> Tensor | None:
    """A view of the input `name`, None if it is not connected; an axis named by a number has that size.

    Raises `InputError` if it is not f32 with these axes.
    """
    tensor = inputs.get(name)
    if tensor is None:
        return None
    sizes = zip(tensor.shape, axes, strict=False)
    fits = all(size == int(axis) if axis.isdigit() else size > 0 for size, axis in sizes)
    if tensor.dtype is not f32 or tensor.ndim != len(axes) or not fits:
        raise InputError(
            f"{name} is {tensor.dtype} of shape {tensor.shape}; it must be f32 of shape ({', '.join(axes)})"
        )
    return parts.enter_context(tensor[...])


def obstacle_input(parts: Parts, inputs: Mapping[str, Tensor], name: str = "obstacle") -> tuple[Tensor | None, str]:
    """The input `name`, and its kind: "placed" by a model obstacle, "grid" of distances, or "" if there is none.

    Raises `InputError` if it is something else.
    """
    tensor = inputs.get(name)
    if tensor is None:
        return None, ""
    if tensor.ndim != 1:
        return distance_input(parts, inputs, name), "grid"
    if tensor.dtype is not f32 or tensor.size < HEADER:
        problem = f"{name} is {tensor.dtype} of shape {tensor.shape}"
        raise InputError(f"{problem}; it must be the output obstacle of a model of type obstacle, or signed distances")
    return parts.enter_context(tensor[...]), "placed"


def distance_input(parts: Parts, inputs: Mapping[str, Tensor], name: str) -> Tensor | None:
    """A view of signed distances at the nodes of a grid. Raises `InputError` if the input `name` is something else."""
    tensor = grid_input(parts, inputs, name, "nz", "ny", "nx")
    if tensor is not None and (min(tensor.shape) < 2 or not tensor.is_contiguous):
        problem = f"{name} has the shape {tensor.shape}; signed distances are contiguous"
        raise InputError(f"{problem}, with 2 samples or more along each axis")
    return tensor


def box_fields(name: str, grid: Tensor | None, center: tuple[float, ...], size: tuple[float, ...]) -> dict[str, Any]:
    """Where the box of a grid begins, and its cells per meter: one less than samples, where those are on its faces."""
    samples = (1, 1, 1) if grid is None or grid.ndim == 1 else grid.shape[2::-1]
    cells = samples if name == "wind" else tuple(n - 1 for n in samples)
    return {
        f"{name}_low": tuple(c - 0.5 * s for c, s in zip(center, size, strict=True)),
        f"{name}_scale": tuple(n / s for n, s in zip(cells, size, strict=True)),
    }
