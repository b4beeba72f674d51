"""`Bundle`: the files of a scene as bytes, for workers that do not see the folder of the scene."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from .job import Work
from .outcomes import Function

FOLDER = "vertigrad-sweeps"  # in the folder for temporary files, on a worker


@dataclass(frozen=True)
class Bundle:
    """Contents by their path relative to the scene's folder, in the order of `Work.files`; `scene` is the name of the
    scene's file, `measures` are the Python files of own functions by their full path, `trusted` files that may run.
    """

    scene: str
    files: Mapping[str, bytes]
    measures: Mapping[Path, bytes]
    trusted: frozenset[str]

    @classmethod
    def of(cls, work: Work) -> Bundle:
        """The files of a sweep. Raises `InputError` if one is outside of the scene's folder, or cannot be read."""
        folder = work.scene.parent
        files = {_relative(path, folder): _content(path) for path in work.files}
        functions = [outcome.path for outcome in work.outcomes if isinstance(outcome, Function) and outcome.path]
        trusted = frozenset(_relative(path, folder) for path in work.trusted if path.is_relative_to(folder))
        return cls(work.scene.name, files, {path: _content(path) for path in functions}, trusted)

    @property
    def digest(self) -> str:
        """The digest of all contents."""
        found = hashlib.sha256()
        for name, content in sorted({**self.files, **{str(k): v for k, v in self.measures.items()}}.items()):
            found.update(f"{name}\0".encode() + hashlib.sha256(content).digest())
        return found.hexdigest()[:24]

    def unpacked(self, work: Work) -> Work:
        """Write the files into a folder of this machine, once, and return the work that runs from there."""
        folder = Path(tempfile.gettempdir()) / f"{FOLDER}-{os.getuid() if hasattr(os, 'getuid') else 0}" / self.digest
        measures = {path: folder / "measures" / path.name for path in self.measures}
        contents = {folder / "scene" / name: content for name, content in self.files.items()}
        contents |= {measures[path]: content for path, content in self.measures.items()}
        for path, content in contents.items():
            if not path.is_file() or path.read_bytes() != content:
                _write(path, content)
        outcomes = tuple(
            replace(outcome, path=measures[outcome.path]) if isinstance(outcome, Function) and outcome.path else outcome
            for outcome in work.outcomes
        )
        digests = {
            (folder / "scene" / name).resolve(): hashlib.sha256(self.files[name]).hexdigest() for name in self.trusted
        }
        scene = folder / "scene"
        files = tuple(scene / name for name in self.files)
        return replace(work, scene=scene / self.scene, outcomes=outcomes, trusted=digests, files=files)


def _write(path: Path, content: bytes) -> None:
    """Write it in one step: another worker of this machine may do the same."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(name, path)


def _relative(path: Path, folder: Path) -> str:
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        raise InputError(f"{path}: is outside of the scene's folder {folder}, so workers cannot have it") from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
