"""What a network learns from: examples and their targets, read from the files that a scene's table names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from ...errors import InputError
from ..data import array_file
from ..data.file_cache import cached
from ..data.footage import STILLS
from ..data.mesh_file import MeshFile, read
from ..data.stored_array import stored_array
from . import solid_samples
from .train_tables import Classes, Plane, Solid

MOST_CLASSES = 64
CREASE = 40.0  # degrees from which on an edge of a mesh is sharp


class Examples(NamedTuple):
    """`inputs` (n, ...) f32 and `targets`: classes (n,) i32, or numbers (n, outputs) f32.

    `shown` are all examples that are drawn, none of them moved; the last `tests` of them are held out: `inputs` have
    none of these. Where there is nothing to keep back, as in a plane, all of `shown` are tests. Inputs are the file's
    less `mean`, divided by `std`.
    """

    inputs: np.ndarray
    targets: np.ndarray
    shown: np.ndarray
    shown_targets: np.ndarray
    tests: int
    mean: float = 0.0
    std: float = 1.0


class Kind(NamedTuple):
    """The shape of an example, how many numbers the network is to give, and the shape of all that is shown."""

    input_shape: tuple[int, ...]
    outputs: int
    shown: tuple[int, ...]


def kind_of(data: Classes | Plane | Solid) -> Kind:
    """Known without working anything out. Raises `InputError` for a file that cannot be used."""
    match data:
        case Classes():
            inputs, labels = _classes(data.file)
            return Kind(inputs.shape[1:], int(labels.max()) + 1, (len(inputs),))
        case Plane():
            values = plane(data)
            return Kind((2,), values.shape[2], values.shape[:2])
    return Kind((3,), 1, ())


def examples(data: Classes | Plane | Solid, seed: int) -> Examples:
    """All examples, for training and test. Raises `InputError` for a file that cannot be used."""
    random = np.random.default_rng(seed)
    match data:
        case Classes():
            return _of_classes(data, random)
        case Plane():
            values = plane(data)
            positions, target = grid_positions(values.shape[:2]), values.reshape(-1, values.shape[2])
            return Examples(positions, target, positions, target, len(positions))
    return _of_solid(data.file, data.size, data.up, data.samples, data.spread, seed)


def solid(data: Solid) -> MeshFile:
    """The mesh that is learned. Raises `InputError`."""
    return read(data.file, data.size, data.up, CREASE)


def grid_positions(shape: tuple[int, ...]) -> np.ndarray:
    """The nodes of a grid (n, axes), f32: the first axis slowest, the longest from -1 to 1, equal steps along all."""
    longest = max(max(shape) - 1, 1)
    axes = [np.linspace(-1.0, 1.0, size) * (size - 1) / longest for size in shape]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape)).astype(np.float32)


def plane(data: Plane) -> np.ndarray:
    """Values (rows, columns, channels) f32: of a image from 0 to 1, of a plane with mean 0 and variance 1."""
    return _plane(data.file, data.resolution, data.square)


def _of_classes(data: Classes, random: np.random.Generator) -> Examples:
    inputs, labels = _classes(data.file)
    order = random.permutation(len(inputs))
    inputs, labels = inputs[order], labels[order]
    tests = max(round(data.test * len(inputs)), 1)
    learned, target = inputs[:-tests], labels[:-tests]
    if not len(learned):
        raise InputError(f"{data.file}: {len(inputs)} examples, all of which are held out for testing")
    moved = _moved(learned, data.shift, data.file)
    mean, std = (float(learned.mean()), float(learned.std()) or 1.0) if data.normalize else (0.0, 1.0)
    standardized, shown = ((array - np.float32(mean)) / np.float32(std) for array in (moved, inputs))
    return Examples(standardized, np.tile(target, len(moved) // len(learned)), shown, labels, tests, mean, std)


def _moved(images: np.ndarray, shift: int, path: Path) -> np.ndarray:
    """Images (n, rows, columns) and all that are moved by up to `shift` pixels; what comes in is empty."""
    if not shift:
        return images
    if images.ndim != 3:
        reason = f"inputs {images.shape[1:]} are not images (rows, columns) that could be shifted"
        raise InputError(f"{path}: {reason}")
    rows, columns = images.shape[1:]
    padded = np.pad(images, np.array([[0], [shift], [shift]]))
    steps = range(2 * shift + 1)
    return np.concatenate([padded[:, a : a + rows, b : b + columns] for a in steps for b in steps])


@cached(2)  # a scene that is built again wants the same ones
def _of_solid(path: Path, size: float, up: str, samples: int, spread: float, seed: int) -> Examples:
    mesh, random = read(path, size, up, CREASE), np.random.default_rng(seed)
    tests = max(samples // 8, 16)
    positions = solid_samples.sample_positions(mesh.positions, mesh.index, samples + tests, spread, random)
    positions = random.permutation(positions).astype(np.float32)
    inputs = mesh.positions, mesh.index, positions
    target = stored_array(
        "distances",
        solid_samples.VERSION,
        inputs,
        lambda: solid_samples.distances(mesh.positions, mesh.index, positions.astype(float)),
    )[:, None]
    return Examples(positions[:-tests], target[:-tests], positions, target, tests)


@cached(4)  # a scene asks for the shapes before it builds the model
def _classes(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Inputs f32, integers brought to 0 to 1, and labels i32."""
    arrays = array_file.arrays(path)
    missing = {"inputs", "labels"} - set(arrays)
    if missing:
        raise InputError(f"{path}: no array {' and none '.join(sorted(missing))}; it has {', '.join(arrays) or 'none'}")
    inputs, labels = arrays["inputs"], arrays["labels"]
    if inputs.ndim < 2 or labels.shape != inputs.shape[:1] or not inputs.size:
        raise InputError(f"{path}: inputs {inputs.shape} and labels {labels.shape}; they must be (n, ...) and (n,)")
    if inputs.dtype.kind not in "fiu" or labels.dtype.kind not in "iu":
        raise InputError(f"{path}: inputs must be numbers and labels integers, not {inputs.dtype}, {labels.dtype}")
    if not 0 <= labels.min() <= labels.max() < MOST_CLASSES:
        reason = f"labels go from {labels.min()} to {labels.max()}"
        raise InputError(f"{path}: {reason}; classes are numbered from 0, and there may be {MOST_CLASSES}")
    if inputs.dtype.kind in "iu":
        inputs = inputs / max(float(np.abs(inputs).max()), 1.0)
    if not np.isfinite(inputs).all():
        raise InputError(f"{path}: inputs have values that are not finite")
    return inputs.astype(np.float32), labels.astype(np.int32)


@cached(4)
def _plane(path: Path, resolution: int, square: bool) -> np.ndarray:
    if path.suffix.lower() in STILLS:
        return _image(path, resolution, square)
    found = (
        array
        for array in array_file.arrays(path).values()
        if array.ndim == 2 and array.dtype.kind in "fiu" and array.size
    )
    values = next(found, None)
    if values is None:
        raise InputError(f"{path}: no two-dimensional array of numbers")
    rows, columns = (np.linspace(0, a - 1, b).round().astype(int) for a, b in _sizes(values.shape, resolution, square))
    chosen = values[np.ix_(rows, columns)].astype(float)
    if not np.isfinite(chosen).all():
        raise InputError(f"{path}: the array has values that are not finite; fill them in first")
    return ((chosen - chosen.mean()) / max(chosen.std(), 1e-12)).astype(np.float32)[..., None]


def _image(path: Path, resolution: int, square: bool) -> np.ndarray:
    try:
        with Image.open(path) as found:
            size = [b for _, b in _sizes(found.size[::-1], resolution, square)]
            image = found.convert("RGB").resize((size[1], size[0]), Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{path}: not a readable image ({error})") from error
    return np.asarray(image, np.float32) / np.float32(255.0)


def _sizes(shape: tuple[int, ...], resolution: int, square: bool) -> list[tuple[int, int]]:
    longest = max(shape)
    return [(size, resolution if square else max(round(resolution * size / longest), 2)) for size in shape]
