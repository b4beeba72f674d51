"""Digests of what determines the result of a run, from which its key is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__, resources
from ..errors import InputError
from ..params import Params
from ..scene import Scene, code

FORMAT = 1  # of keys
KEY = 16  # letters of a key
PACKAGES = (
    *("gpu", "headless", "learn", "memory", "models", "onnx_import", "ops", "params", "renderer", "scene", "session"),
    *("sharing", "sweeps", "tensor"),
)


def scene_files(scene: Scene) -> list[Path]:
    """The scene's file, and those that it names: data and Python; but not those that come with Vertigrad."""
    named = [path for spec in scene.models.values() for path in _files(spec.params)]
    named += [path for spec in scene.layers.values() for path in _files(spec.style)]
    named += [path for spec in scene.models.values() if (path := code.source(spec.kind)) is not None]
    own = [path for path in named if not path.is_relative_to(resources.root())]
    return list(dict.fromkeys([scene.path, *own]))


def digest_of(files: Iterable[Path]) -> str:
    """The digest of the names and contents of files. Raises `InputError` if one cannot be read."""
    found = hashlib.sha256()
    for file in files:
        try:
            with file.open("rb") as content:
                found.update(f"{file.name}\0".encode() + hashlib.file_digest(content, "sha256").digest())
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    return found.hexdigest()


@cache
def code_digest() -> str:
    """The digest of the version, the packages that compute and draw, and the shaders."""
    app = Path(__file__).parent.parent
    files = [file for package in PACKAGES for file in sorted((app / package).rglob("*.py"))]
    files += sorted(resources.path("shaders").rglob("*.wgsl"))
    return hashlib.sha256(f"{__version__} {digest_of(files)}".encode()).hexdigest()


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of a run, from the parts that determine its result."""
    text = json.dumps({"format": FORMAT, "code": code_digest(), **parts}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY]


def seed_of(base: int, sets: Iterable[str], repeat: int) -> int:
    """The seed of a run, from 0 to 2³² − 1: from the seed of the sweep, the settings, and the number of the repeat."""
    text = json.dumps([base, sorted(sets), repeat])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _files(params: Params) -> list[Path]:
    values = (getattr(params, spec.name) for spec in params.specs() if spec.kind == "file")
    return [value.absolute() for value in values if isinstance(value, Path)]
