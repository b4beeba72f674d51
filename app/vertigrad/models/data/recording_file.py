"""Recordings: tensors of each frame of a run in a Zarr group, in a .vgz file (a zip archive) or a .zarr folder."""

from __future__ import annotations

import math
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError

ARCHIVE, FOLDER = ".vgz", ".zarr"
SUFFIXES = (ARCHIVE, FOLDER)
DESCRIPTION = "zarr.json"  # of a folder
VERSION, ENTRY = 1, "vertigrad"  # of the description, and its key in the attributes of the group
KINDS = {"float32": "f32", "uint32": "u32", "int32": "i32", "float16": "f16"}
LARGEST = 1 << 30  # bytes of a frame of a tensor
MOST = 1 << 24  # frames
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\.[A-Za-z_][A-Za-z0-9_-]*")  # model.output
MISSING = "recordings are Zarr, which is not installed; install it with pip install 'vertigrad[record]'"


@dataclass(frozen=True)
class Recorded:
    """What was recorded: `start` [s] is the time of the first frame, `interval` [s] that between two of them.

    `scene` is the text of the scene's file, `sets` and `seed` are those of the command line.
    """

    title: str
    start: float
    interval: float
    scene: str = ""
    sets: Sequence[str] = ()
    seed: int | None = None
    vertigrad: str = ""


@dataclass(frozen=True)
class RecordedTensor:
    """Shape and dtype, f32, f16, i32 or u32, of a tensor in each frame."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of one frame."""
        return math.prod(self.shape) * (2 if self.dtype == "f16" else 4)


class RecordingWriter:
    """Writes at most `frames` frames, each as soon as it is added: nothing is kept in memory.

    An archive gets its name when it is closed; a folder can be read up to the last frame if the program ends before.
    Raises `InputError` if Zarr is not installed, and if it cannot be written.
    """

    def __init__(self, path: Path, tensors: Mapping[str, RecordedTensor], recorded: Recorded, frames: int):
        zarr = require_zarr()
        self._path, self._count = path, 0
        is_folder = path.suffix.lower() == FOLDER
        self._written = path if is_folder else path.with_name(f".{path.name}.part")
        if is_folder and path.exists() and not (path / DESCRIPTION).is_file():
            raise InputError(f"{path}: is there already and no recording; choose another name")
        try:
            _remove(self._written)
            storage = zarr.storage
            self._store = storage.LocalStore(path) if is_folder else storage.ZipStore(self._written, mode="w")
            description = {"version": VERSION, **asdict(recorded), "sets": list(recorded.sets)}
            group = zarr.create_group(store=self._store, zarr_format=3, attributes={ENTRY: description})
            self._arrays = {name: _array(zarr, group, name, one, frames) for name, one in tensors.items()}
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error

    def add(self, values: Mapping[str, np.ndarray]) -> None:
        """Write the next frame. Raises `InputError`."""
        try:
            for name, array in self._arrays.items():
                array[self._count] = values[name]
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror or error})") from error
        self._count += 1

    def close(self) -> None:
        """Complete it; without a frame there will be no recording. Idempotent. Raises `InputError`."""
        if self._store is None:
            return
        if not self._count:
            return self.discard()
        self._store.close()
        self._store = None
        try:
            if self._written != self._path:
                os.replace(self._written, self._path)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror or error})") from error

    def discard(self) -> None:
        """End without a recording."""
        if self._store is not None:
            self._store.close()
            self._store = None
        _remove(self._written)


@dataclass
class Recording:
    """A recording that is open: `tensors` by name, such as "galaxy.position", and `count` frames. Close it."""

    path: Path
    recorded: Recorded
    tensors: Mapping[str, RecordedTensor]
    count: int
    _group: Any = field(repr=False)
    _keys: frozenset[str] | None = field(repr=False)  # of an archive

    def frame(self, name: str, index: int) -> np.ndarray:
        """A tensor of a frame from 0. Raises `InputError` if that is damaged."""
        key = f"{name}/c/{index}" + "/0" * len(self.tensors[name].shape)
        there = key in self._keys if self._keys is not None else (self.path / key).is_file()
        if not there:
            raise InputError(f"{self.path}: frame {index} of {name} is missing")
        if self._keys is None and not _is_own(self.path / key, self.path):
            raise InputError(f"{self.path}: frame {index} of {name} is a link out of its folder")
        try:
            return np.ascontiguousarray(self._group[name][index])
        except Exception as error:  # of Zarr, of codecs, of zipfile
            raise InputError(f"{self.path}: frame {index} of {name} is damaged ({_reason(error)})") from error

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._group.store.close()


def open_recording(path: Path) -> Recording:
    """Open a recording; its frames are read when they are asked for. Raises `InputError`.

    A folder may also be named by its file `DESCRIPTION`.
    """
    zarr = require_zarr()
    path = path.parent if path.name == DESCRIPTION else path
    if not path.exists():
        raise InputError(f"{path}: there is no such recording")
    store = None
    try:
        is_folder = path.is_dir()
        keys = None if is_folder else _keys_of(path)
        if is_folder and not all(_is_own(file, path) for file in _descriptions(path)):
            raise ValueError("it has a link out of its folder")
        store = zarr.storage.LocalStore(path, read_only=True) if is_folder else zarr.storage.ZipStore(path, mode="r")
        group = zarr.open_group(store=store, mode="r", zarr_format=3, use_consolidated=False)
        recorded = _recorded(group.attrs.asdict().get(ENTRY))
        tensors, counts = {}, []
        for name in _names(group):
            tensors[name], frames = _tensor(name, group[name])
            counts.append(_written(path, keys, name, tensors[name], frames))
        if not tensors or not min(counts):
            raise ValueError("it has no frames")
        return Recording(path, recorded, tensors, min(counts), group, keys)
    except Exception as error:
        if store is not None:
            store.close()
        raise InputError(f"{path}: is no readable recording ({_reason(error)})") from error


def require_zarr() -> Any:
    """The library. Raises `InputError` if it is not installed."""
    try:
        return import_module("zarr")
    except ImportError as error:
        raise InputError(MISSING) from error


def is_recording(path: Path) -> bool:
    """Whether a file of this suffix is a recording."""
    return path.suffix.lower() in SUFFIXES


def _array(zarr: Any, group: Any, name: str, tensor: RecordedTensor, frames: int) -> Any:
    """A chunk for each frame, compressed, with a checksum."""
    dtype = next(numpy for numpy, own in KINDS.items() if own == tensor.dtype)
    codecs = zarr.codecs
    compressors = [codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"), codecs.Crc32cCodec()]
    shape = frames, *tensor.shape
    config = {"write_empty_chunks": True}  # a frame of zeros is not one that is missing
    return group.create_array(
        name, shape=shape, chunks=(1, *shape[1:]), dtype=dtype, compressors=compressors, config=config
    )


def _recorded(entry: Any) -> Recorded:
    if not isinstance(entry, dict):
        raise ValueError("it was not written by Vertigrad")
    if entry.get("version") != VERSION:
        raise ValueError(f"it has version {entry.get('version')}; this Vertigrad reads {VERSION}")
    values = {key: value for key, value in entry.items() if key != "version"}
    found = Recorded(**{**values, "sets": tuple(map(str, values.get("sets", ())))})
    numbers = found.start, found.interval
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in numbers) or found.interval <= 0:
        raise ValueError("the times of its frames are no numbers")
    if not isinstance(found.scene, str) or not isinstance(found.title, str):
        raise ValueError("its scene is no text")
    return found


def _names(group: Any) -> list[str]:
    found = sorted(name for name, _ in group.arrays())
    wrong = next((name for name in found if not NAME.fullmatch(name)), "")
    if wrong:
        raise ValueError(f"{wrong!r} is no name of an output")
    return found


def _tensor(name: str, array: Any) -> tuple[RecordedTensor, int]:
    """Shape and dtype of a frame, and how many frames there are at most. Allocates nothing."""
    frames, *shape = array.shape
    kind = KINDS.get(str(array.dtype))
    if kind is None:
        raise ValueError(f"{name} has elements of {array.dtype}")
    found = RecordedTensor(tuple(shape), kind)
    if array.chunks != (1, *shape) or min(shape, default=1) < 1:
        raise ValueError(f"{name} has chunks of the shape {array.chunks}")
    if found.nbytes > LARGEST or frames > MOST:
        raise ValueError(f"{name} claims {frames:,} frames of {found.nbytes:,} bytes")
    return found, frames


def _keys_of(path: Path) -> frozenset[str]:
    with zipfile.ZipFile(path) as archive:
        return frozenset(archive.namelist())


def _descriptions(folder: Path) -> Iterator[Path]:
    """The JSON files that Zarr reads of a folder."""
    yield folder / DESCRIPTION
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield Path(entry.path) / DESCRIPTION


def _is_own(file: Path, folder: Path) -> bool:
    """Whether a file is in the folder, and not behind a link that leads out of it."""
    return file.resolve().is_relative_to(folder.resolve())


def _written(path: Path, keys: frozenset[str] | None, name: str, tensor: RecordedTensor, frames: int) -> int:
    """How many of the frames were written: up to the last one that is there."""
    if keys is not None:
        prefix = f"{name}/c/"
        numbers = (key[len(prefix) :].split("/")[0] for key in keys if key.startswith(prefix))
    else:
        numbers = (entry.name for entry in os.scandir(path / name / "c")) if (path / name / "c").is_dir() else iter(())
    return min(frames, max((int(number) + 1 for number in numbers if number.isdecimal()), default=0))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
