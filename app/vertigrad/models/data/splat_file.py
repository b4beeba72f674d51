"""Files of Gaussian splats: read upright, their middle at the origin, and written. `splat_formats` has the formats."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from ...atomic_file import write_file
from ...errors import InputError
from ..base import OutputSpec
from . import ply
from .file_cache import cached
from .placement import AXES_BY_UP, placed
from .splat_formats import Splats, antimatter, compressed_ply, no_harmonics, reference_ply, spz
from .splat_formats.harmonics import turned

__all__ = ["SUFFIXES", "Splats", "is_splats", "no_harmonics", "output_specs", "packed", "read", "write"]

PLY = ".ply"
SUFFIXES = (PLY, antimatter.SUFFIX, spz.SUFFIX)
UPWARDS = {PLY: "-y", antimatter.SUFFIX: "-y", spz.SUFFIX: "y"}  # the upward axis by convention
VERTICAL = "vertical axis:"  # in a comment of a PLY, as nerfstudio writes it

_log = logging.getLogger("vertigrad")


def output_specs(count: int | None) -> dict[str, OutputSpec]:
    """The outputs of a model that has splats without harmonics."""
    return {
        "position": OutputSpec((count, 3), "f32", "centers"),
        "scale": OutputSpec((count, 3), "f32", "standard deviations along the splat's axes"),
        "rotation": OutputSpec((count, 4), "f32", "quaternions x, y, z, w"),
        "opacity": OutputSpec((count,), "f32", "opacity at the center"),
        "color": OutputSpec((count, 3), "f32", "colors, sRGB"),
    }


def is_splats(path: Path) -> bool:
    """Whether a file has splats, by its suffix, or as a PLY by its header; false for what cannot be read."""
    if path.suffix.lower() != PLY:
        return path.suffix.lower() in SUFFIXES
    try:
        head = ply.header(path)
    except InputError:
        return False
    return "f_dc_0" in head.vertex.fields or compressed_ply.is_compressed(head)


@cached(1)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float = 0.0, up: str = "auto") -> Splats:
    """The finite splats of a file, their middle at the origin.

    `size` is the longest edge of their bounding box; 0 preserves that of the file. `up` is the file's upward
    axis, one of `AXES_BY_UP`; "auto": what the file says in a comment, else that of its format. Raises `InputError` for
    a file that is none, or without a splat that could be drawn.
    """
    try:
        found, convention = _read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    sound = found.is_finite()
    dropped = int((~sound).sum())
    if dropped == len(sound):
        raise InputError(f"{path}: no splat with finite values, of {len(sound):,}")
    upright = _placed(found.rows(sound) if dropped else found, size, convention if up == "auto" else up)
    if not upright.harmonics.shape[1]:
        upright = upright._replace(color=np.maximum(upright.color, 0.0))
    arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in upright.named.items()}
    return upright._replace(**arrays, dropped=dropped)


def _read(path: Path) -> tuple[Splats, str]:
    """The splats as the file has them, and its upward axis."""
    kind = path.suffix.lower()
    if kind == antimatter.SUFFIX:
        return antimatter.read(path), UPWARDS[kind]
    if kind == spz.SUFFIX:
        return spz.read(path), UPWARDS[kind]
    head = ply.header(path)
    found = compressed_ply.read(path, head) if compressed_ply.is_compressed(head) else reference_ply.read(path, head)
    named = [text[len(VERTICAL) :].strip() for text in head.comments if text.lower().startswith(VERTICAL)]
    return found, next((axis for axis in named if axis in AXES_BY_UP), UPWARDS[PLY])


def _placed(splats: Splats, size: float, up: str) -> Splats:
    """Scaled, turned so that y points up, and centered."""
    position, factor = placed(splats.position.astype(np.float64), size, up)
    upright = _turned(splats, AXES_BY_UP[up])
    return upright._replace(position=position, scale=splats.scale * np.float32(factor))


def _turned(splats: Splats, axes: np.ndarray) -> Splats:
    """Rotated by the matrix `axes`, about x by halves of pi."""
    if np.array_equal(axes, np.eye(3)):
        return splats
    return splats._replace(
        position=(splats.position @ axes.T).astype(np.float32),
        rotation=_after(axes, splats.rotation),
        harmonics=turned(splats.harmonics, axes),
    )


def write(path: Path, splats: Splats, up: str = "y") -> None:
    """Write a file as `packed` makes it. Raises `InputError` if it cannot be written."""
    write_file(path, packed(path, splats, up))


def packed(path: Path, splats: Splats, up: str = "y") -> bytes:
    """The bytes of a file of the kind of `path`, which is one of `SUFFIXES`, or ends in `.compressed.ply`.

    `up` is the upward axis of the splats, which a PLY gets as a comment; `.splat` and `.spz` are turned to the axes of
    their formats. Rotations need not be of length 1. Raises `InputError` for what the format cannot hold.
    """
    kind, splats = path.suffix.lower(), splats._replace(rotation=_normalized(splats.rotation))
    if kind == PLY:
        pack = compressed_ply.packed if path.name.lower().endswith(compressed_ply.SUFFIX) else reference_ply.packed
        return pack(splats, [f"Vertical Axis: {up}"])
    if kind == spz.SUFFIX:
        return spz.packed(_turned(splats, AXES_BY_UP[up]))
    if splats.harmonics.shape[1]:
        _log.warning("%s: a .splat has no spherical harmonics: colors will not depend on the view direction", path)
    return antimatter.packed(_turned(splats, AXES_BY_UP[UPWARDS[kind]].T @ AXES_BY_UP[up]))


def _normalized(rotation: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rotation, axis=1, keepdims=True)
    identity = np.array((0.0, 0.0, 0.0, 1.0), np.float32)
    return np.where(length == 0.0, identity, rotation / np.where(length == 0.0, np.float32(1.0), length))


def _after(axes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Quaternions x, y, z, w that turn as `turns` do, and then as the matrix `axes`, about x by halves of pi."""
    angle = np.arctan2(axes[2, 1], axes[1, 1])
    x, w = np.float32(np.sin(0.5 * angle)), np.float32(np.cos(0.5 * angle))
    a, b, c, d = turns.T
    return np.stack([w * a + x * d, w * b - x * c, w * c + x * b, w * d - x * a], axis=1)
