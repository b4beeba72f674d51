"""`read_prepared`: a network's model, read, checked and ready to be lowered; files that were read lately are cached."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import onnx

from . import reader
from .doubles import as_floats
from .graph import opset_versions, prepared
from .registry import is_lowered

CACHED = 2  # models
LARGEST = 64 << 20  # bytes of a file whose model is cached


class Prepared(NamedTuple):
    """A model that the caller may change, and the versions of the opsets that its file names."""

    model: onnx.ModelProto
    versions: dict[str, int]


def read_prepared(path: Path, float64_as_f32: bool) -> Prepared:
    """The model of a file. A scene that is opened asks for it five times. Raises `InputError`, `UnsupportedOp`."""
    try:
        status = path.stat()
    except OSError:
        return _read(path, float64_as_f32)  # which reports it
    if status.st_size > LARGEST:
        return _read(path, float64_as_f32)
    found = _cached(path, float64_as_f32, status.st_mtime_ns, status.st_size)
    model = onnx.ModelProto()
    model.CopyFrom(found.model)
    return Prepared(model, dict(found.versions))


def prepare(model: onnx.ModelProto, source: str, float64_as_f32: bool) -> Prepared:
    """A checked model, made ready. Raises `InputError` if types clash."""
    model = as_floats(model, source) if float64_as_f32 else model
    return Prepared(prepared(model, source, is_lowered), opset_versions(model))


@lru_cache(CACHED)
def _cached(path: Path, float64_as_f32: bool, mtime: int, nbytes: int) -> Prepared:
    return _read(path, float64_as_f32)


def _read(path: Path, float64_as_f32: bool) -> Prepared:
    return prepare(reader.read(path), str(path), float64_as_f32)
