"""`gather`: what the layers of a scene draw, read back for path tracing; and what of it is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..export import geometry
from ..export.layers import bird_geometry, read
from ..renderer.area_lights import AreaLight
from ..renderer.layers import Layer
from ..renderer.layers.arrows import ArrowsDrawing
from ..renderer.layers.asset import AssetDrawing
from ..renderer.layers.birds import BirdsDrawing
from ..renderer.layers.image import ImageDrawing
from ..renderer.layers.instances import InstancesDrawing
from ..renderer.layers.isosurface import IsosurfaceDrawing
from ..renderer.layers.light import LightLayer, area_lights
from ..renderer.layers.lines import LinesDrawing
from ..renderer.layers.liquid import LiquidDrawing
from ..renderer.layers.points import PointsDrawing
from ..renderer.layers.slices import SlicesDrawing
from ..renderer.layers.surface import SurfaceDrawing
from ..renderer.layers.trails import TrailsDrawing
from ..renderer.layers.volume import VolumeDrawing
from ..renderer.moment import Moment
from .asset import asset_lights, asset_shapes
from .contours import Contours
from .lines import Lines
from .rectangles import image_shapes, slice_shapes
from .shapes import Shapes, Surface, spheres, triangles
from .volumes import VolumeSnapshot


class Gathered(NamedTuple):
    """The shapes, volumes, area lights and lines of `layers`; of lights of assets, rows of lamps (n, 18) each.

    `overlays` are images on the screen, which are drawn over the traced image. `left_out` are sentences, each about
    what is not traced of one of the layers.
    """

    shapes: Sequence[Shapes]
    volumes: Sequence[VolumeSnapshot]
    left_out: Sequence[str]
    lights: Sequence[AreaLight] = ()
    layers: Sequence[Layer] = ()
    lines: Sequence[Lines | Contours] = ()
    asset_lights: Sequence[np.ndarray] = ()
    overlays: Sequence[Layer] = ()


AT_REST = Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))


def gather(layers: Sequence[Layer], moment: Moment = AT_REST) -> Gathered:
    """What these draw at a moment; waits for the GPU. Raises `InputError` if none of them can be traced."""
    lamps, overlays = list[np.ndarray](), list[Layer]()
    shapes, volumes, lines, left_out = list[Shapes](), list[VolumeSnapshot](), list[Lines | Contours](), list[str]()
    for layer in layers:
        drawing = layer.drawing
        if isinstance(layer, LightLayer):
            continue
        if isinstance(drawing, ImageDrawing) and drawing.style.placement == "front":
            overlays.append(layer)
            continue
        if drawing.tone_map != "none":
            left_out.append(
                f"layer {layer.name!r}: its tone map {drawing.tone_map!r} is not path-traced; its colors are light"
            )
        if isinstance(drawing, VolumeDrawing):
            layer.prepare()
            arrays = read(field.tensor for field in drawing.fields.values())
            volumes.append(VolumeSnapshot.of(drawing, dict(zip(drawing.fields, arrays, strict=True))))
            continue
        if isinstance(drawing, LinesDrawing | TrailsDrawing):
            lines.append(Lines.of(layer))
            continue
        if isinstance(drawing, ImageDrawing) and drawing.style.placement == "behind":
            left_out.append(f"layer {layer.name!r}: an image behind everything is not path-traced")
            continue
        make = next((make for kind, make in _KINDS.items() if isinstance(drawing, kind)), None)
        if make is None:
            left_out.append(f"layer {layer.name!r} is not path-traced: it draws {_kind(layer)}")
            continue
        shapes.append(make(layer, moment))
        if getattr(drawing.style, "contours", 0.0) > 0.0:
            lines.append(Contours.of(layer))
        if isinstance(drawing, AssetDrawing):
            lamps.append(asset_lights(drawing, shapes[-1]))
    lights = area_lights(layers)
    if layers and not shapes and not volumes and not lines and not lights:
        raise InputError("path tracing: " + ("; ".join(left_out) or "all layers are images on the screen"))
    return Gathered(shapes, volumes, left_out, lights, layers, lines, lamps, overlays)


def _kind(layer: Layer) -> str:
    name = type(layer).__name__.removesuffix("Layer").lower()
    return f"{name}, which {'have' if name.endswith('s') else 'has'} no triangles, spheres, lines or volume"


def _lit(style: Any) -> Surface:
    return Surface(style.metallic, style.roughness)


def _points(layer: Layer, moment: Moment) -> Shapes:
    style = layer.drawing.style
    return spheres(geometry(layer), Surface(style.metallic, style.roughness, style.emissive, style.brightness))


def _triangles(layer: Layer, moment: Moment) -> Shapes:
    return triangles(geometry(layer), [_lit(layer.drawing.style)])


def _birds(layer: Layer, moment: Moment) -> Shapes:
    return triangles(bird_geometry(layer, moment), [_lit(layer.drawing.style)])


def _liquid(layer: Layer, moment: Moment) -> Shapes:
    style, values = layer.drawing.style, layer.drawing.uniform()
    surface = Surface(
        roughness=style.roughness, absorption=values["absorption"], ior=style.ior, scattering=style.scattering
    )
    return triangles(geometry(layer), [surface])


def _asset(layer: Layer, moment: Moment) -> Shapes:
    return asset_shapes(layer)


def _image(layer: Layer, moment: Moment) -> Shapes:
    return image_shapes(layer)


def _slices(layer: Layer, moment: Moment) -> Shapes:
    return slice_shapes(layer)


_KINDS: dict[type[Any], Callable[[Layer, Moment], Shapes]] = {
    PointsDrawing: _points,
    SurfaceDrawing: _triangles,
    IsosurfaceDrawing: _triangles,
    InstancesDrawing: _triangles,
    ArrowsDrawing: _triangles,
    BirdsDrawing: _birds,
    LiquidDrawing: _liquid,
    AssetDrawing: _asset,
    ImageDrawing: _image,
    SlicesDrawing: _slices,
}
