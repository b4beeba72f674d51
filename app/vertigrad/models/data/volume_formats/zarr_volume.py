"""Arrays of Zarr (version 3) in folders: volumes (…, nz, ny, nx), also in the groups of OME-Zarr (version 0.5)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ....progress import Cancelled, report
from ..point_formats.table import needed
from .grid import MOST_VALUES, Grid, require_affine, require_shape

DESCRIPTION = "zarr.json"
RECORDED = "vertigrad"  # the attribute that recordings of runs have
RATIO = 1 << 16  # bytes for each that is stored: more than scans are compressed to, chunks of zeros included
FEWEST = 1e-2  # of the chunks that must be there; missing ones have a value that the description names
UNITS = {"micrometer": "µm", "millimeter": "mm", "meter": "m", "nanometer": "nm"}


def is_volume(path: Path) -> bool:
    """Whether this is the description of a Zarr array or group that is no recording of a run."""
    try:
        described = json.loads(path.read_bytes()[: 1 << 20]) if path.name == DESCRIPTION else {}
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(described, dict)
        and described.get("node_type") in ("array", "group")
        and RECORDED not in _mapping(described.get("attributes"))
    )


def read(path: Path, frame: int = 0) -> Grid:
    """The volume of a folder, by its description: an array, or of a group the finest one that is not too large.

    `frame` counts along the axes before the last three. Layers are read by and by, so reading can be cancelled. Raises
    `InputError`.
    """
    zarr = needed(path, "zarr", "record", "a Zarr array")
    folder = path.parent
    try:
        sizes = list(_sizes(path, folder))
        stored = sum(sizes)
        store = zarr.storage.LocalStore(folder, read_only=True)
        node = zarr.open(store=store, mode="r", zarr_format=3)
        found, affine, unit = (node, np.eye(4), "") if hasattr(node, "shape") else _of_group(path, node)
        if found.dtype.kind not in "biuf":
            raise InputError(f"{path}: contains {found.dtype}; a volume has one real number for each cell")
        require_shape(path, found.shape[-3:], found.dtype.itemsize, stored * RATIO)
        if math.prod(found.chunks) * found.dtype.itemsize > stored * RATIO:
            raise InputError(f"{path}: claims chunks of the shape {found.chunks}; the folder is too small for one")
        chunks = math.prod(
            -(-size // edge) for size, edge in zip(found.shape, found.shards or found.chunks, strict=True)
        )
        if len(sizes) < FEWEST * chunks:
            raise InputError(f"{path}: claims {chunks:,} chunks; the folder has {len(sizes):,} files")
        return Grid(_layers(path, found, frame), require_affine(path, affine), unit)
    except (InputError, Cancelled):
        raise
    except Exception as error:  # of Zarr, of codecs
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        raise InputError(f"{path}: not a readable Zarr array ({reason})") from error


def _sizes(path: Path, folder: Path) -> Iterator[int]:
    """Bytes of each file. Raises `InputError` for a link, which could lead out of the folder."""
    for entry in os.scandir(folder):
        if entry.is_symlink():
            raise InputError(f"{path}: {entry.name} is a link; Zarr arrays with links are not read")
        if entry.is_dir():
            yield from _sizes(path, Path(entry.path))
        else:
            yield entry.stat().st_size


def _layers(path: Path, found: Any, frame: int) -> np.ndarray:
    """Values f32 (nz, ny, nx), read in layers as thick as a chunk."""
    count = math.prod(found.shape[:-3])
    index = tuple(int(one) for one in np.unravel_index(min(frame, count - 1), found.shape[:-3]))
    values, thickness = np.empty(found.shape[-3:], np.float32), max(1, found.chunks[-3])
    for first in range(0, len(values), thickness):
        report(f"reading {path.parent.name}", first, len(values))
        values[first : first + thickness] = found[(*index, slice(first, first + thickness))]
    return values


def _of_group(path: Path, group: Any) -> tuple[Any, np.ndarray, str]:
    """The array, its affine matrix and its unit: by the scales of OME-Zarr if there are some, else the largest one."""
    arrays = {name: one for name, one in group.arrays() if len(one.shape) >= 3}
    fitting = {name: one for name, one in arrays.items() if math.prod(one.shape[-3:]) <= MOST_VALUES}
    if not fitting:
        raise InputError(f"{path}: has no array of three or more axes with at most {MOST_VALUES:,} values")
    name = max(fitting, key=lambda name: math.prod(fitting[name].shape[-3:]))
    attributes = group.attrs.asdict()
    for image in _mapping(attributes.get("ome")).get("multiscales") or ():
        for level in _mapping(image).get("datasets") or ():
            if _mapping(level).get("path") == name:
                return fitting[name], *_placed(image, level)
    return fitting[name], np.eye(4), ""


def _placed(image: Mapping[str, Any], level: Mapping[str, Any]) -> tuple[np.ndarray, str]:
    affine = np.eye(4)
    for one in level.get("coordinateTransformations") or ():
        if one.get("type") == "scale":
            affine[:3, :3] = np.diag(np.array(one["scale"], float)[-1:-4:-1])
        elif one.get("type") == "translation":
            affine[:3, 3] = np.array(one["translation"], float)[-1:-4:-1]
    axes = image.get("axes") or [{}]
    return affine, UNITS.get(_mapping(axes[-1]).get("unit", ""), "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
