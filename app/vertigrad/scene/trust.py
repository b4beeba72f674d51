"""The Python that a scene may run: files of Vertigrad, and files whose path and contents the user has allowed.

A scene with other Python is not run until the user allows it: the viewer and a terminal ask, `--trust` allows it for
one run. If the contents of an allowed file change, the user is asked about them, unless edits of it are `followed`:
then all its contents may run in this process, so that a model can be edited while it runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import resources
from ..atomic_file import write_state
from ..errors import UntrustedCode

FILE, VERSION = "trusted.json", 2
MOST = 1000  # files that are stored
TEXTS = 20  # latest digests of each

_allowed: set[tuple[Path, str]] = set()  # files and digests of their texts, in this process
_followed: dict[Path, bool] = {}  # files whose edits may run in this process, and whether they are stored


def require(scene: Path, files: Iterable[Path]) -> None:
    """Raises `UntrustedCode` unless the current contents of all of these files of the scene may run."""
    missing = {file: digest(file) for file in dict.fromkeys(files) if not is_trusted(file)}
    if missing:
        names, folder = ", ".join(file.name for file in missing), next(iter(missing)).parent
        known = {file for file, _ in _allowed} | {Path(name) for name in _remembered()}
        changed = ", which changed since it was allowed" if known & missing.keys() else ""
        message = f"{scene.name} runs the Python of {names} in {folder}{changed}: it can do whatever you can"
        raise UntrustedCode(message, missing)


def require_text(file: Path, content: bytes) -> None:
    """Raises `UntrustedCode` unless the file may run with this content, which may have changed since the question."""
    text = hashlib.sha256(content).hexdigest()
    if not is_trusted(file, text):
        raise UntrustedCode(f"{file.name} in {file.parent} was changed by another program just now", {file: text})


def is_trusted(file: Path, text: str | None = None) -> bool:
    """Whether the file comes with Vertigrad, or may run with this digest, by default that of its current contents."""
    if any(file.is_relative_to(resources.root() / folder) for folder in ("scenes", "assets")):
        return True
    text = digest(file) if text is None else text
    if (file, text) in _allowed or text in _remembered().get(str(file), ()):
        return True
    if file in _followed:
        _allow({file: text}, _followed[file])
    return file in _followed


def allow(files: Iterable[Path], remember: bool = False, edits: bool = False) -> None:
    """Allow the current contents of these files; with `remember`, in later runs of the program too.

    With `edits`, later contents in this run are allowed as well, and remembered likewise.
    """
    allow_texts({file: digest(file.resolve()) for file in files}, remember, edits)


def allow_texts(texts: dict[Path, str], remember: bool = False, edits: bool = False) -> None:
    """As `allow`, for files with these digests, even if they have changed since."""
    texts = {file.resolve(): text for file, text in texts.items()}
    _followed.update(dict.fromkeys(texts, remember) if edits else {})
    _allow(texts, remember)


def digest(file: Path) -> str:
    """The digest of the file's bytes; empty if it cannot be read, which is reported when it is run."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def forget() -> None:
    """Forget what was allowed in this process only."""
    _allowed.clear()
    _followed.clear()


def _allow(texts: dict[Path, str], remember: bool) -> None:
    _allowed.update(texts.items())
    if remember:
        known = _remembered()
        for file, text in texts.items():
            before = [other for other in known.pop(str(file), []) if other != text]
            known[str(file)] = [*before, text][-TEXTS:]
        _write(known)


def _remembered() -> dict[str, list[str]]:
    try:
        found: Any = json.loads((resources.state_folder() / FILE).read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            return {}
        return {str(file): [str(text) for text in texts] for file, texts in found["files"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _write(known: dict[str, list[str]]) -> None:
    content = {"version": VERSION, "files": dict(list(known.items())[-MOST:])}
    write_state(resources.state_folder() / FILE, json.dumps(content, indent=1) + "\n", "it will be asked again")
