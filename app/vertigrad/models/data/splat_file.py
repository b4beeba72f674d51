"""PLY files of Gaussian splats, in the layout of Kerbl et al. 2023: read, and written.

A vertex has x, y, z; f_dc_0 to 2, the first spherical harmonic of its color; opacity before the logistic function;
scale_0 to 2, logarithms of standard deviations; rot_0 to 3, a quaternion w, x, y, z.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...atomic_file import write_file
from ...errors import InputError
from ..base import OutputSpec
from . import ply
from .file_cache import cached
from .placement import AXES_BY_UP, placed

SUFFIX = ".ply"
FIRST_HARMONIC = 0.28209479177387814  # 1 / (2 sqrt(pi))
POSITION, COLOR = ("x", "y", "z"), ("f_dc_0", "f_dc_1", "f_dc_2")
SCALE, TURN = ("scale_0", "scale_1", "scale_2"), ("rot_0", "rot_1", "rot_2", "rot_3")
NEEDED = (*POSITION, *COLOR, "opacity", *SCALE, *TURN)


class Splats(NamedTuple):
    """`position` (n, 3); `scale` (n, 3), standard deviations; `rotation` (n, 4), quaternions x, y, z, w of length 1;
    `opacity` (n,), 0 to 1; `color` (n, 3), sRGB. All f32. `dropped` rows of the file were not finite.
    """

    position: np.ndarray
    scale: np.ndarray
    rotation: np.ndarray
    opacity: np.ndarray
    color: np.ndarray
    dropped: int = 0


_log = logging.getLogger("vertigrad")


def output_specs(count: int | None) -> dict[str, OutputSpec]:
    """The outputs of a model that has splats."""
    return {
        "position": OutputSpec((count, 3), "f32", "centers"),
        "scale": OutputSpec((count, 3), "f32", "standard deviations along the splat's axes"),
        "rotation": OutputSpec((count, 4), "f32", "quaternions x, y, z, w"),
        "opacity": OutputSpec((count,), "f32", "opacity at the center"),
        "color": OutputSpec((count, 3), "f32", "colors, sRGB"),
    }


def is_splats(path: Path) -> bool:
    """Whether a file is a PLY of splats, by its header; false for what cannot be read."""
    try:
        return "f_dc_0" in ply.header(path).fields
    except InputError:
        return False


@cached(2)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float = 0.0, up: str = "y") -> Splats:
    """The splats of a file, their middle at the origin.

    `size` is the longest edge of their bounding box; 0 preserves that of the file. `up` is the file's upward
    axis, one of `AXES_BY_UP`. Raises `InputError` for a file that is none, or without a splat that could be drawn.
    """
    head = ply.header(path)
    missing = [name for name in NEEDED if name not in head.fields]
    if missing:
        raise InputError(f"{path}: not a PLY of Gaussian splats: its vertices lack {', '.join(missing)}")
    _warn_of_harmonics(path, head)
    rows = ply.vertices(path, head)
    position, turn = ply.columns(rows, POSITION), ply.columns(rows, TURN)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = np.exp(ply.columns(rows, SCALE))
        opacity = 1.0 / (1.0 + np.exp(-ply.columns(rows, ("opacity",))[:, 0]))
        turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    color = 0.5 + FIRST_HARMONIC * ply.columns(rows, COLOR)
    all_columns = np.concatenate([position, scale, turn, opacity[:, None], color], axis=1)
    sound = np.isfinite(all_columns.astype(np.float32)).all(axis=1)
    if not sound.any():
        raise InputError(f"{path}: no splat with finite values, of {len(rows):,}")
    position, factor = placed(position[sound], size, up)
    arrays = (
        position,
        scale[sound] * factor,
        _after(AXES_BY_UP[up], turn[sound][:, [1, 2, 3, 0]]),
        opacity[sound],
        np.clip(color[sound], 0.0, None),
    )
    position, scale, rotation, opacity, color = (np.ascontiguousarray(array, np.float32) for array in arrays)
    return Splats(position, scale, rotation, opacity, color, int((~sound).sum()))


def _warn_of_harmonics(path: Path, head: ply.Header) -> None:
    """Warn of what makes colors depend on the view direction."""
    rest = sum(name.startswith("f_rest_") for name in head.fields)
    if rest:
        degree = {9: 1, 24: 2, 45: 3}.get(rest)
        what = f"spherical harmonics of degree 1 to {degree}" if degree else f"{rest} numbers a splat"
        _log.warning("%s: f_rest (%s) is ignored: colors do not depend on the view direction", path, what)


def write(path: Path, splats: Splats) -> None:
    """A binary PLY, as `read` takes it. Raises `InputError` if it cannot be written."""
    write_file(path, packed(splats))


def packed(splats: Splats) -> bytes:
    """The bytes of a binary PLY, as `read` takes it."""
    count = len(splats.position)
    rows = np.zeros(count, [(name, "<f4") for name in NEEDED])
    chance = np.clip(splats.opacity.astype(float), 1e-6, 1.0 - 1e-6)
    columns = {
        POSITION: splats.position,
        COLOR: (splats.color - 0.5) / FIRST_HARMONIC,
        ("opacity",): np.log(chance / (1.0 - chance))[:, None],
        SCALE: np.log(np.maximum(splats.scale, 1e-30)),
        TURN: splats.rotation[:, [3, 0, 1, 2]],
    }
    for names, values in columns.items():
        for name, column in zip(names, np.asarray(values).T, strict=True):
            rows[name] = column
    return ply.packed(rows)


def _after(axes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Quaternions x, y, z, w that turn as `turns` do, and then as the matrix `axes` (about x, by halves of pi)."""
    half = {1.0: (0.0, 1.0), -1.0: (1.0, 0.0), 0.0: (-(0.5**0.5), 0.5**0.5)}[float(axes[1, 1])]
    x, w = half
    a, b, c, d = turns.T
    return np.stack([w * a + x * d, w * b - x * c, w * c + x * b, w * d - x * a], axis=1)
