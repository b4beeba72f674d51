"""Splats of a `Geometry` as the bytes of a file; the formats are those of `models/data/splat_formats`."""

from __future__ import annotations

from pathlib import Path

from ..models.data import splat_file
from .geometry import Geometry

ONLY_SPLATS = tuple(suffix for suffix in splat_file.SUFFIXES if suffix != splat_file.PLY)  # these hold nothing else


def packed(path: Path, geometry: Geometry, up: str) -> bytes:
    """The bytes of a file of the kind of `path`; `up` is the upward axis of the scene. Raises `InputError`."""
    extras, count = geometry.extras, len(geometry.positions)
    harmonics = extras.get("harmonics", splat_file.no_harmonics(count))
    values = geometry.positions, extras["scale"], extras["rotation"], extras["opacity"], geometry.colors[:, :3]
    return splat_file.packed(path, splat_file.Splats(*values, harmonics), up)
