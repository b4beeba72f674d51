"""The images of a sparse model: read, undistorted, and brought to one size."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from ....errors import InputError
from ..footage import Stills
from .cameras import Camera, Pinhole
from .sparse_model import Photo, SparseModel, images_folder

TOLERANCE = 0.02  # of the proportions of an image, compared with its camera's


class Photos(NamedTuple):
    """`pixels` (views, rows, columns, 3) u8, sRGB, and the pinhole camera of each."""

    pixels: np.ndarray
    cameras: tuple[Pinhole, ...]


def size(model: SparseModel, longest: int) -> tuple[int, int]:
    """(rows, columns) of all images: those of the most frequent camera, at most `longest`."""
    sizes = [(photo.camera.height, photo.camera.width) for photo in model.photos]
    rows, columns = max(sorted(set(sizes)), key=sizes.count)
    factor = min(longest / max(rows, columns), 1.0)
    return max(round(rows * factor), 1), max(round(columns * factor), 1)


def read(file: Path, model: SparseModel, longest: int) -> Photos:
    """The images of a model, each as a pinhole camera sees it, of one size. Raises `InputError`."""
    folder, (rows, columns) = images_folder(file), size(model, longest)
    pixels = np.empty((len(model.photos), rows, columns, 3), np.uint8)
    lenses = {photo.camera: _Lens(photo.camera, rows, columns) for photo in model.photos}
    for number, photo in enumerate(model.photos):
        pixels[number] = lenses[photo.camera].undistorted(_image(folder, photo, rows, columns))
    return Photos(pixels, tuple(lenses[photo.camera].pinhole for photo in model.photos))


def _image(folder: Path, photo: Photo, rows: int, columns: int) -> np.ndarray:
    """An image in the size in which it is used."""
    path = folder / photo.name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path}: leads out of the folder of images")
    if not path.is_file():
        raise InputError(f"{path}: no such image, though the sparse model has it")
    stored = Stills(path)
    (found,) = stored.frames(0)
    shape = photo.camera.width / photo.camera.height
    if abs(stored.columns / stored.rows / shape - 1.0) > TOLERANCE:
        raise InputError(
            f"{path}: has {stored.columns} x {stored.rows} pixels, but its camera {photo.camera.width} x "
            f"{photo.camera.height}: they differ in proportions"
        )
    if (stored.rows, stored.columns) == (rows, columns):
        return found
    return np.asarray(Image.fromarray(found).resize((columns, rows), Image.Resampling.LANCZOS))


class _Lens:
    """How images of a camera become those of a pinhole camera, with so many rows and columns."""

    def __init__(self, camera: Camera, rows: int, columns: int):
        across, down = columns / camera.width, rows / camera.height
        self.pinhole = camera.undistorted().scaled(across, down)
        self._sources: tuple[np.ndarray, np.ndarray] | None = None
        if camera.is_distorted:
            fx, fy, cx, cy = self.pinhole
            x, y = np.meshgrid((np.arange(columns) + 0.5 - cx) / fx, (np.arange(rows) + 0.5 - cy) / fy)
            u, v = camera.distorted(x, y)
            self._sources = u * across - 0.5, v * down - 0.5

    def undistorted(self, pixels: np.ndarray) -> np.ndarray:
        """An image of the camera without distortion."""
        return pixels if self._sources is None else _sampled(pixels, *self._sources)


def _sampled(pixels: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The image (rows, columns, 3) u8 at positions counted in pixels from the first, by linear interpolation."""
    rows, columns = pixels.shape[:2]
    x, y = np.clip(x, 0.0, columns - 1.0), np.clip(y, 0.0, rows - 1.0)
    left, top = np.minimum(x.astype(int), max(columns - 2, 0)), np.minimum(y.astype(int), max(rows - 2, 0))
    right, bottom = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    a, b = (x - left)[..., None], (y - top)[..., None]
    upper = pixels[top, left] * (1.0 - a) + pixels[top, right] * a
    lower = pixels[bottom, left] * (1.0 - a) + pixels[bottom, right] * a
    return np.round(upper * (1.0 - b) + lower * b).astype(np.uint8)
