"""`SparseModel`: what COLMAP writes of a reconstruction, as text or binary files, which are read here.

Three files in a folder: cameras, images and points3D. The formats are documented at
https://colmap.github.io/format.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from ..file_cache import cached
from . import binary, text
from .cameras import Camera

PARTS = ("cameras", "images", "points3D")
SUFFIXES = (".bin", ".txt")
NAMES = frozenset(f"{part}{suffix}" for part in PARTS for suffix in SUFFIXES)
FOLDERS = ("sparse/0", "sparse", "colmap/sparse/0", "")  # of a sparse model, in the folder of a project
IMAGES = "images"


class Photo(NamedTuple):
    """An image: its name in the folder of images, its camera, and the pose: x to the right, y down, z forward.

    `view_from_world` (3, 4) are the rows of the rotation, each followed by the translation along it.
    """

    name: str
    camera: Camera
    view_from_world: np.ndarray


class SparseModel(NamedTuple):
    """Photos in the order of their names; `points` (n, 3), f64; and their `colors` (n, 3), u8."""

    photos: tuple[Photo, ...]
    points: np.ndarray
    colors: np.ndarray


def is_sparse_model(path: Path) -> bool:
    """Whether a path is a file of a sparse model, or a folder that has one."""
    try:
        if path.is_dir():
            return _cameras_in(path) is not None
        return path.name in NAMES and _cameras_of(path.parent) is not None
    except OSError:
        return False


def find(path: Path) -> Path:
    """The file of cameras of a sparse model, which is in a folder or of which a file is known. Raises `InputError`."""
    found = _cameras_in(path) if path.is_dir() else _cameras_of(path.parent)
    if found is None:
        raise InputError(f"{path}: no sparse model of COLMAP: no cameras.bin or cameras.txt in it, or in sparse/0")
    return found


def images_folder(file: Path) -> Path:
    """The folder `images` beside a sparse model or its folder. Raises `InputError` if there is none."""
    for folder in list(file.resolve().parents)[:3]:
        if (folder / IMAGES).is_dir():
            return folder / IMAGES
    raise InputError(f"{file}: no folder {IMAGES} beside the model, nor in the two folders above")


@cached(2)  # a scene asks for the shapes before it builds the model
def read(file: Path) -> SparseModel:
    """The sparse model to which `file`, one of its three files, belongs. Raises `InputError`."""
    reader = binary if file.suffix == ".bin" else text
    parts = [file.with_name(f"{part}{file.suffix}") for part in PARTS]
    try:
        cameras = reader.cameras(parts[0])
        poses = reader.poses(parts[1])
        points, colors = reader.points(parts[2])
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror})") from error
    photos = tuple(sorted((_photo(parts[1], pose, cameras) for pose in poses), key=lambda photo: photo.name))
    if not photos:
        raise InputError(f"{parts[1]}: has no images")
    sound = np.isfinite(points).all(axis=1)
    if not sound.any():
        raise InputError(f"{parts[2]}: no point with a finite position, of {len(points):,}")
    return SparseModel(photos, points[sound], colors[sound])


def _photo(path: Path, pose: binary.Pose, cameras: Mapping[int, Camera]) -> Photo:
    where = f"{path}: image {pose.name!r}"
    if pose.camera not in cameras:
        raise InputError(f"{where} is of the camera {pose.camera}, which is not in the file of cameras")
    quaternion, translation = np.array(pose.quaternion), np.array(pose.translation)
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(quaternion))
    if not (np.isfinite(translation).all() and 1e-3 < length < 1e3):
        raise InputError(f"{where} has a pose that is not finite, or without a rotation")
    if not pose.name or Path(pose.name).is_absolute() or ".." in Path(pose.name).parts or "\0" in pose.name:
        raise InputError(f"{where}: its name leads out of the folder of images")
    rows = np.concatenate([_rotation(quaternion / length), translation[:, None]], axis=1)
    return Photo(pose.name, cameras[pose.camera], rows)


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _cameras_in(folder: Path) -> Path | None:
    found = (_cameras_of(folder / inside) for inside in FOLDERS)
    return next((file for file in found if file is not None), None)


def _cameras_of(folder: Path) -> Path | None:
    """The file of cameras in a folder, if all three are there."""
    for suffix in SUFFIXES:
        if all((folder / f"{part}{suffix}").is_file() for part in PARTS):
            return folder / f"cameras{suffix}"
    return None
