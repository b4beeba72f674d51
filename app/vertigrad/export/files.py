"""`write_layers`: layers as a file of geometry, by its suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..atomic_file import write_file
from ..errors import InputError
from ..models.data import splat_file
from ..params import unknown
from ..renderer.layers import Layer
from . import glb_file, obj_file, ply_file, splat_export, usd_file
from .geometry import Geometry
from .layers import can_be_exported, geometry, is_splats

SUFFIXES = (".ply", ".obj", ".glb", *splat_export.ONLY_SPLATS)
LARGEST_GLB = (1 << 32) - 1  # bytes; its header counts them in 32 bits


def write_layers(path: Path, layers: Mapping[str, Layer], names: Sequence[str] = (), up: str = "y") -> list[Geometry]:
    """Write what these layers draw now, by default all that can be exported; returns it. Waits for the GPU.

    `up` is the upward axis of the scene. Raises `InputError` for another suffix, for a layer that cannot be written to
    such a file, if nothing is drawn, and if the file cannot be written.
    """
    if path.suffix.lower() in usd_file.SUFFIXES:
        raise InputError(
            f"{path}: a USD file holds a run; in a script `record({path.name!r})` writes one, and "
            f"`vertigrad render SCENE --frames N -o {path.name}`"
        )
    chosen = require_layers(path, layers, names)
    found = [geometry(layers[name]) for name in chosen]
    write_geometries(path, found, up)
    return found


def write_geometries(path: Path, found: Sequence[Geometry], up: str = "y") -> None:
    """Write these. Raises `InputError` if they are empty, or if the file cannot be written."""
    if not any(len(one.positions) for one in found):
        names = ", ".join(one.name for one in found)
        raise InputError(f"{path}: nothing to write: no row of {names} is finite, or nothing is drawn")
    write_file(path, packed(path, [one for one in found if len(one.positions)], up))


def require_layers(path: Path, layers: Mapping[str, Layer], names: Sequence[str] = ()) -> list[str]:
    """The names of the layers to write to `path`. Raises `InputError` as `write_layers`, before anything is read."""
    kind = path.suffix.lower()
    if kind not in (*SUFFIXES, *usd_file.SUFFIXES):
        raise InputError(f"{path}: geometry is written as {', '.join(SUFFIXES)}, not as {kind or 'no suffix'}")
    possible = [name for name, layer in layers.items() if can_be_exported(layer) and _fits(kind, layer)]
    for name in names:
        if name not in layers:
            raise InputError(f"{path}: {unknown('layer', name, layers)}")
        if name not in possible and is_splats(layers[name]):
            raise InputError(
                f"{path}: layer {name!r} draws splats, which are written as {', '.join(splat_file.SUFFIXES)}, and a "
                "run as USD"
            )
        if name not in possible and can_be_exported(layers[name]):
            raise InputError(f"{path}: layer {name!r} does not draw splats, and a {kind} holds splats only")
        if name not in possible:
            raise InputError(f"{path}: layer {name!r} has no geometry: it draws an image or a volume")
    chosen = list(dict.fromkeys(names)) or possible
    if not chosen:
        raise InputError(f"{path}: the scene has no layer with {_held(kind)}")
    if kind in (".ply", *splat_export.ONLY_SPLATS) and len(chosen) > 1:
        raise InputError(f"{path}: a {kind} holds one layer; name it ({', '.join(chosen)}), or write a .glb")
    return chosen


def _fits(kind: str, layer: Layer) -> bool:
    """Whether a file of this suffix can hold what the layer draws."""
    if kind in splat_export.ONLY_SPLATS:
        return is_splats(layer)
    return kind in (".ply", *usd_file.SUFFIXES) or not is_splats(layer)


def _held(kind: str) -> str:
    return "splats" if kind in splat_export.ONLY_SPLATS else "geometry"


def packed(path: Path, geometries: Sequence[Geometry], up: str) -> bytes:
    """The bytes of a file of geometries that it can hold. Raises `InputError` for too many."""
    kind = path.suffix.lower()
    if geometries[0].kind == "splats":
        return splat_export.packed(path, geometries[0], up)
    if kind == ".ply":
        return ply_file.packed(geometries[0])
    if kind == ".obj":
        return obj_file.packed(geometries)
    content = glb_file.packed(geometries, up)
    if len(content) > LARGEST_GLB:
        raise InputError(f"{path}: {len(content):,} bytes are too many for a .glb; write one layer, or a .ply")
    return content
