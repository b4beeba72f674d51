"""`read`: an asset from a file of any kind, placed in the scene."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from ...reference import asset as reference
from ..file_cache import cached
from ..placement import AXES_BY_UP
from . import gltf, obj
from .content import NONE, Asset, Skeleton

GLTF = (".glb", ".gltf")
FORMATS = (*GLTF, ".obj")

_log = logging.getLogger("vertigrad")


class Placed(NamedTuple):
    """An asset that has the size and place it has in the scene, and the factor by which it was scaled."""

    asset: Asset
    factor: float


@cached(2)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float, up: str, texture_size: int) -> Placed:
    """The asset of a file, at rest with its middle at the origin.

    `size` is its longest edge then; 0 preserves that of the file. `up` is the file's upward axis, "y" or "z", and
    `texture_size` the largest side of textures in pixels. Raises `InputError` for a file that cannot be used.
    """
    reader = gltf if path.suffix.lower() in GLTF else obj
    asset = reader.read(path, texture_size)
    for note in asset.notes:
        _log.warning("%s: %s", path, note)
    with np.errstate(over="ignore", invalid="ignore"):
        positions = reference.vertices(asset)[:, :3]
        low, high = positions[asset.index].min(axis=(0, 1)), positions[asset.index].max(axis=(0, 1))
        edge = float((high - low).max())
    if not np.isfinite(edge) or not edge > 0.0:
        raise InputError(f"{path}: has no triangle with an area, or positions beyond all numbers")
    factor = size / edge if size else 1.0
    turn = AXES_BY_UP[up] * factor
    placement = np.concatenate([turn, (-turn @ (0.5 * (low + high)))[:, None]], axis=1)
    if np.abs(placement).max() > 1e30 or edge * factor > 1e30:
        raise InputError(f"{path}: coordinates reach {edge:.3g}, beyond float32; set size to scale it")
    placed = asset._replace(skeleton=_moved(asset.skeleton, placement))
    return Placed(_facing_outwards(placed), factor)


def _moved(skeleton: Skeleton, placement: np.ndarray) -> Skeleton:
    """The skeleton with all its roots moved by a matrix (3, 4)."""
    fixed = skeleton.fixed.copy()
    roots = skeleton.parents == NONE
    fixed[roots] = reference.product(placement[None], fixed[roots])
    return skeleton._replace(fixed=fixed)


def _facing_outwards(asset: Asset) -> Asset:
    """The asset with the triangles turned of parts that are mirrored, which glTF has so."""
    matrices = reference.palette(asset.skeleton, reference.pose(asset, None, 0.0))
    mirrored = np.linalg.det(matrices[asset.parts[:, 0], :, :3]) < 0.0
    turned = mirrored[asset.part[asset.index[:, 0]]]
    if not turned.any():
        return asset
    index = asset.index.copy()
    index[turned] = index[turned][:, [0, 2, 1]]
    return asset._replace(index=index)
