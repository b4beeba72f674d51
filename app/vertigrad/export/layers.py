"""`geometry`: what a layer draws now, read back from the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..gpu import Traffic
from ..renderer.layers import Layer
from ..renderer.layers.arrows import ArrowsDrawing
from ..renderer.layers.asset import AssetDrawing
from ..renderer.layers.attributes import Attributes, Bound
from ..renderer.layers.birds import BirdsDrawing
from ..renderer.layers.drawing import Drawing
from ..renderer.layers.instances import InstancesDrawing
from ..renderer.layers.isosurface import IsosurfaceDrawing
from ..renderer.layers.lines import LinesDrawing
from ..renderer.layers.liquid import LiquidDrawing
from ..renderer.layers.marks import MarksDrawing
from ..renderer.layers.points import PointsDrawing
from ..renderer.layers.splats import SplatsDrawing
from ..renderer.layers.surface import SurfaceDrawing
from ..renderer.layers.trails import TrailsDrawing
from ..renderer.moment import Moment
from ..tensor import Tensor
from . import birds, instances, isosurface, liquid
from .colors import row_colors
from .geometry import Geometry, repeated

Rows = dict[str, np.ndarray]


def can_be_exported(layer: Layer) -> bool:
    """Whether it draws something that has positions, in difference to images and volumes."""
    return any(isinstance(layer.drawing, kind) for kind in _KINDS)


def is_splats(layer: Layer) -> bool:
    """Whether it draws splats, which have formats of their own."""
    return isinstance(layer.drawing, SplatsDrawing)


def geometry(layer: Layer, rows: np.ndarray | None = None, values: Rows | None = None) -> Geometry:
    """What a layer draws, without rows that are not finite; waits for the GPU. Counted as diagnostics.

    Of points and splats, only those that a mask of the `rows` has; or, of points, others in their place, with these
    `values` of their attributes. Raises `InputError` for a layer of images or volumes, and for one that would have too
    many triangles.
    """
    if values is not None and isinstance(layer.drawing, PointsDrawing | MarksDrawing):
        bound = layer.drawing.drawn.tensors
        return _points(layer.drawing, {name: _columns(one) for name, one in values.items() if name in bound}).finite()
    return snapshot(layer, rows)()


def bird_geometry(layer: Layer, moment: Moment) -> Geometry:
    """What a layer of birds draws at a moment, without normals; waits for the GPU. Raises `InputError` for too many."""
    drawing: BirdsDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    layer.prepare()
    rows = rows_of(drawing.drawn)
    positions = birds.corners(drawing, rows, moment)
    common = _common(drawing, rows)
    for name in {"colors", "scalars"} & common.keys():
        common[name] = np.repeat(common[name], positions.shape[1], axis=0)
    index = np.arange(positions.size // 3, dtype=np.uint32).reshape(-1, 3)
    found = common | {"kind": "triangles", "positions": positions.reshape(-1, 3), "index": index}
    return Geometry(**found).finite()


def line_geometry(layer: Layer) -> Geometry:
    """What a layer of lines or trails draws; waits for the GPU.

    Its extras are the "width" of each row (n,), in pixels or, of tubes, in world units, and its "opacity" (n,).
    """
    layer.prepare()
    drawing: LinesDrawing | TrailsDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    rows = rows_of(drawing.drawn)
    width = drawing.uniform()["width"] * rows.get("width", np.ones((drawing.drawn.rows, 1), np.float32))[:, 0]
    if isinstance(drawing, LinesDrawing):
        return replace(_lines(drawing), extras={"width": width, "opacity": np.ones_like(width)}).finite()
    style, filled = drawing.style, drawing.filled
    age = np.tile(np.arange(filled)[::-1] / (max(drawing.slots, 2) - 1.0), drawing.drawn.rows).astype(np.float32)
    extras = {"width": np.repeat(width, filled) * (1.0 - style.taper * age), "opacity": 1.0 - style.fade * age}
    return replace(_trails(drawing), extras=extras).finite()


def snapshot(layer: Layer, rows: np.ndarray | None = None) -> Callable[[], Geometry]:
    """Read what a layer draws; returns what makes the geometry of it, in any thread. Raises as `geometry`.

    Only reading waits for the GPU; the triangles of an isosurface may take seconds after that.
    """
    make = next((make for kind, make in _KINDS.items() if isinstance(layer.drawing, kind)), None)
    if make is None:
        raise InputError(f"layer {layer.name!r} has no geometry to export: it draws an image or a volume")
    layer.prepare()
    found = make(layer.drawing) if rows is None else _chosen(layer, rows)
    return found.finite if isinstance(found, Geometry) else lambda: found().finite()


def _chosen(layer: Layer, rows: np.ndarray) -> Geometry:
    if isinstance(layer.drawing, SplatsDrawing):
        return _splats(layer.drawing, rows)
    if isinstance(layer.drawing, PointsDrawing | MarksDrawing):
        return _points(layer.drawing).rows(rows)
    raise InputError(f"layer {layer.name!r}: only rows of points and splats can be exported alone")


def read(tensors: Iterable[Tensor]) -> list[np.ndarray]:
    """The values of tensors, read back together."""
    readings = [tensor.read_async(Traffic.DIAGNOSTICS) for tensor in tensors]
    return [reading.result() for reading in readings]


def rows_of(attributes: Attributes) -> dict[str, np.ndarray]:
    """The rows of every attribute that is a tensor, f32 (rows, components)."""
    bound = {name: one for name, one in attributes.tensors.items() if name != "extent"}
    arrays = read(one.tensor for one in bound.values())
    return {name: _as_rows(array, bound[name]) for name, array in zip(bound, arrays, strict=True)}


def _as_rows(array: np.ndarray, bound: Bound) -> np.ndarray:
    rows = array.reshape(bound.layout.rows, bound.layout.components)
    unit = 255.0 if bound.layout.format.startswith("unorm8") else 1.0
    return np.ascontiguousarray(rows / np.float32(unit) if unit != 1.0 else rows, np.float32)


def _common(drawing: Drawing, rows: dict[str, np.ndarray]) -> dict[str, Any]:
    """What geometry of every kind has: its name, positions and colors."""
    constant = drawing.drawn.constants.get("color")
    colors = row_colors(rows.get("color"), constant, drawing.style, len(rows["position"]))
    return {"name": drawing.name, "positions": rows["position"], **colors}


def _columns(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(len(values), -1), np.float32)


def _points(drawing: Drawing, values: Rows | None = None) -> Geometry:
    rows = rows_of(drawing.drawn) if values is None else values
    radius = drawing.drawn.number("size") * rows.get("size", np.ones((len(rows["position"]), 1), np.float32))[:, 0]
    return Geometry(kind="points", extras={"radius": radius.astype(np.float32)}, **_common(drawing, rows))


def _surface(drawing: SurfaceDrawing | AssetDrawing) -> Geometry:
    rows = rows_of(drawing.drawn)
    (index,) = read([drawing.index])
    normals = rows.get("normal")
    return Geometry(kind="triangles", index=index.reshape(-1, 3), normals=normals, **_common(drawing, rows))


def _lines(drawing: LinesDrawing) -> Geometry:
    rows, shape = rows_of(drawing.drawn), drawing.drawn.tensors["position"].tensor.shape
    return Geometry(kind="lines", index=_segments(drawing.drawn.rows, shape[-2]), **_common(drawing, rows))


def _trails(drawing: TrailsDrawing) -> Geometry:
    """Every trail as a line from its oldest position to its newest."""
    rows, count = rows_of(drawing.drawn), drawing.drawn.rows
    (ring,) = read([drawing.ring])
    slots = [(drawing.head - age) % drawing.slots for age in reversed(range(drawing.filled))]
    common = _common(drawing, rows)
    common["positions"] = ring[slots].transpose(1, 0, 2).reshape(-1, 3)
    for name in {"colors", "scalars"} & common.keys():
        common[name] = np.repeat(common[name], len(slots), axis=0)
    return Geometry(kind="lines", index=_segments(count * len(slots), max(len(slots), 1)), **common)


def _segments(rows: int, each: int) -> np.ndarray:
    """From each row of a line to the next, u32 (m, 2), for lines of `each` rows."""
    starts = np.arange(rows, dtype=np.uint32).reshape(-1, each)[:, :-1].reshape(-1)
    return np.stack([starts, starts + np.uint32(1)], axis=1)


def _splats(drawing: SplatsDrawing, chosen: np.ndarray | None = None) -> Geometry:
    rows, drawn, style = rows_of(drawing.drawn), drawing.drawn, drawing.style
    count, one = drawn.rows, np.ones((drawn.rows, 1), np.float32)
    scale = rows.get("scale", one) * np.array(drawn.factors("scale"), np.float32) * np.float32(style.size)
    rotation = rows.get("rotation", repeated((0.0, 0.0, 0.0, 1.0), count))
    length = np.linalg.norm(rotation, axis=1, keepdims=True)
    opacity = rows.get("opacity", one)[:, 0] * np.float32(drawn.number("opacity") * style.opacity_scale)
    low, high = style.crop()
    shown = ((rows["position"] >= low) & (rows["position"] <= high)).all(axis=1) & (opacity >= style.min_opacity)
    shown = shown if chosen is None else shown & chosen
    common = _common(drawing, rows)
    if common["colors"].shape[1] == 4:
        opacity = opacity * common["colors"][:, 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        extras = {"scale": scale, "rotation": rotation / length, "opacity": opacity}
    if "harmonics" in rows:
        extras["harmonics"] = rows["harmonics"]
    return Geometry(kind="splats", extras=extras, **common).rows(shown)


def _instances(drawing: InstancesDrawing | ArrowsDrawing) -> Geometry:
    rows = rows_of(drawing.drawn)
    mesh = rows_of(drawing.mesh)
    (index,) = read([drawing.index])
    placed = instances.arrows if isinstance(drawing, ArrowsDrawing) else instances.meshes
    positions, normals, index = placed(drawing, rows, mesh, index.reshape(-1, 3))
    common = _common(drawing, rows)
    for name in {"colors", "scalars"} & common.keys():
        common[name] = np.repeat(common[name], len(mesh["mesh"]), axis=0)
    return Geometry(**(common | {"kind": "triangles", "positions": positions, "normals": normals, "index": index}))


def _isosurface(drawing: IsosurfaceDrawing) -> Callable[[], Geometry]:
    fields = dict(zip(drawing.fields, read(field.tensor for field in drawing.fields.values()), strict=True))
    return isosurface.surface(drawing, fields)


def _liquid(drawing: LiquidDrawing) -> Callable[[], Geometry]:
    return liquid.surface(drawing, rows_of(drawing.drawn))


_KINDS: dict[type[Drawing], Callable[[Any], Geometry | Callable[[], Geometry]]] = {
    PointsDrawing: _points,
    MarksDrawing: _points,
    SurfaceDrawing: _surface,
    AssetDrawing: _surface,
    LinesDrawing: _lines,
    TrailsDrawing: _trails,
    SplatsDrawing: _splats,
    InstancesDrawing: _instances,
    ArrowsDrawing: _instances,
    IsosurfaceDrawing: _isosurface,
    LiquidDrawing: _liquid,
}
