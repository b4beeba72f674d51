"""`network_text`: the scene for an ONNX network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..onnx_import import Network
from .locate import dotted
from .scene_tables import Tables, outputs, scene_of

MOST_SLIDERS = 32  # elements of an input that get sliders
ROWS, SIDE, STEPS = 4096, 64, 16  # sizes for dimensions without one: of points, of images, of anything else
IMAGE_SIDES = 8  # an array with at least so many rows and columns is taken for an image


def network_text(path: Path) -> str:
    """A scene with sliders for the network's inputs, and a layer that fits the shape of its output."""
    network = Network(path)
    dims = _dims(network)
    output, drawn = _drawn(Network(path, dims))
    model: dict[str, Any] = {"type": "onnx", "file": path.name}
    if dims:
        model["dims"] = dims
    for name, (dtype, sizes) in network.inputs.items():
        shape = tuple(size if isinstance(size, int) else dims.get(size or "", 1) for size in sizes or ())
        model[f"inputs.{dotted((name,))}"] = _feed(dtype, shape)
    model["outputs"] = {"position" if drawn == "points" else "values": output}
    position = (2.0, 1.5, 4.0) if drawn == "points" else (0.0, 2.2, 4.0)
    return scene_of(path, position, {"models.net": model, **_network_layers(drawn)}, fov=40)


def _network_layers(drawn: str) -> Tables:
    if drawn == "points":
        return {"layers.points": {"type": "points", "position": "net.position", "color": "#e8a24c", "size": 0.01}}
    values = {"inputs": {"values": "net.values"}}
    if drawn == "bars":
        shape = {**outputs("bars", ["position", "normal"]), "index": "bars.triangles", "color": "bars.level"}
        return {"models.bars": {"type": "bars", **values}, "layers.bars": {"type": "surface", **shape}}
    flat = {"height": 0.0} if drawn == "image" else {}
    color = "relief.color" if drawn == "image" else "relief.level"
    shape = {**outputs("relief", ["position", "normal"]), "color": color}
    return {"models.relief": {"type": "relief", **values, **flat}, "layers.relief": {"type": "surface", **shape}}


def _drawn(network: Network) -> tuple[str, str]:
    """The output that is drawn, and as what: "points", "image", "relief" (a height field) or "bars"."""
    found = []
    for name, spec in network.output_specs().items():
        if spec.dtype not in ("f32", "f16"):
            continue
        shape = tuple(size for size in spec.shape if size != 1)
        if len(shape) >= 2 and shape[-1] == 3 and not _is_image(shape):
            found.append((0, name, "points"))
        elif _is_image(shape):
            found.append((1, name, "image"))
        elif len(shape) == 2 and (shape[0] or 0) >= IMAGE_SIDES <= (shape[1] or IMAGE_SIDES):
            found.append((2, name, "relief"))
        elif len(shape) <= 2:
            found.append((3, name, "bars"))
    if not found:
        shapes = {name: spec.shape for name, spec in network.output_specs().items()}
        raise InputError(
            f"{network.source}: none of its outputs looks like points, an image, a height field or bars: {shapes}; "
            "write a scene for it (docs/onnx.md)"
        )
    _, name, drawn = min(found, key=lambda entry: entry[0])
    return name, drawn


def _is_image(shape: Sequence[int | None]) -> bool:
    """(3, rows, columns), or (rows, columns, 3)."""
    if len(shape) != 3:
        return False
    sides = shape[1:] if shape[0] == 3 else shape[:2] if shape[2] == 3 else (0,)
    return all(side is None or side >= IMAGE_SIDES for side in sides)


def _dims(network: Network) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, sizes in network.inputs.values():
        sizes = sizes or ()
        for axis, size in enumerate(sizes):
            if not isinstance(size, str) or size in found:
                continue
            if len(sizes) == 2 and sizes[1] in (2, 3):
                found[size] = ROWS
            elif len(sizes) == 4 and axis >= 2:
                found[size] = SIDE
            elif axis > 0:
                found[size] = STEPS
    return found


def _feed(dtype: Any, shape: tuple[int, ...]) -> Any:
    if dtype.kind in "iub":
        return 0
    if math.prod(shape) <= MOST_SLIDERS:
        return {"slider": [-2, 2]}
    return {"start": "uniform" if shape[-1:] in ((2,), (3,)) else "normal"}
