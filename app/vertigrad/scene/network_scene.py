"""A scene for an ONNX network by itself: its inputs become sliders, and its output is drawn as what it looks like."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..onnx_import import Network

Sizes = Sequence[int | str | None]
MOST_SLIDERS = 32  # elements of an input that get sliders
POINTS, SIDE, STEPS = 4096, 64, 16  # sizes for dimensions that have none: of points, of pictures, of anything else
IMAGE_SIDES = 8  # rows and columns from which on numbers look like an image


def scene_text(path: Path) -> str:
    """The scene file for a network. Raises `InputError` if nothing that it gives can be drawn."""
    from ..onnx_import import Network

    network = Network(path)
    dims = _dims(network)
    inputs = {name: _feed(name, dtype, _known(sizes or (), dims)) for name, (dtype, sizes) in network.inputs.items()}
    output, drawn = _drawn(Network(path, dims))
    lines = [
        "version = 1",
        f"title = {_text(path.stem)}",
        "",
        "[camera]",
        "position = [0.0, 2.2, 4.0]" if drawn != "points" else "position = [2.0, 1.5, 4.0]",
        "target = [0.0, 0.0, 0.0]",
        "fov = 40",
        "fit = true",
        "",
        "[models.net]",
        'type = "onnx"',
        f"file = {_text(path.name)}",
        *([f"dims = {{ {', '.join(f'{_key(name)} = {size}' for name, size in dims.items())} }}"] if dims else []),
        *[f"inputs.{_key(name)} = {feed}" for name, feed in inputs.items()],
        f"outputs = {{ {'position' if drawn == 'points' else 'values'} = {_text(output)} }}",
        "",
        *_layers(drawn),
    ]
    return "\n".join(lines) + "\n"


def _layers(drawn: str) -> list[str]:
    if drawn == "points":
        return ["[layers.points]", 'type = "points"', 'position = "net.position"', 'color = "#e8a24c"', "size = 0.01"]
    if drawn == "bars":
        return [
            *["[models.bars]", 'type = "bars"', 'inputs = { values = "net.values" }', ""],
            *["[layers.bars]", 'type = "surface"', 'position = "bars.position"', 'normal = "bars.normal"'],
            *['index = "bars.triangles"', 'color = "bars.level"'],
        ]
    flat = ["height = 0.0"] if drawn == "image" else []
    return [
        "[models.relief]",
        'type = "relief"',
        'inputs = { values = "net.values" }',
        *flat,
        "",
        "[layers.relief]",
        'type = "surface"',
        'position = "relief.position"',
        'normal = "relief.normal"',
        'color = "relief.color"' if drawn == "image" else 'color = "relief.level"',
    ]


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
    """A size for each named dimension but those of batches."""
    found: dict[str, int] = {}
    for _, sizes in network.inputs.values():
        sizes = sizes or ()
        for axis, size in enumerate(sizes):
            if not isinstance(size, str) or size in found:
                continue
            if len(sizes) == 2 and sizes[1] in (2, 3):
                found[size] = POINTS
            elif len(sizes) == 4 and axis >= 2:
                found[size] = SIDE
            elif axis > 0:
                found[size] = STEPS
    return found


def _known(sizes: Sizes, dims: Mapping[str, int]) -> tuple[int, ...]:
    """Every size as a number; one that is known nowhere is 1."""
    return tuple(size if isinstance(size, int) else dims.get(size or "", 1) for size in sizes)


def _feed(name: str, dtype: Any, shape: tuple[int, ...]) -> str:
    count = math.prod(shape)
    if dtype.kind in "iub":
        return "0"
    if count <= MOST_SLIDERS:
        return "{ slider = [-2, 2] }"
    if shape[-1:] in ((2,), (3,)):
        return '{ start = "uniform" }'
    return '{ start = "normal" }'


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(words: str) -> str:
    """In quotes, as TOML has them: JSON's are a part of those."""
    return json.dumps(words, ensure_ascii=False)
