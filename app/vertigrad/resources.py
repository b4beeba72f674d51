"""Where shaders, scenes and assets lie: the only file that knows.

In a source tree they are folders beside `app/`; in an installed package they are under `vertigrad/_data/`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .errors import InputError

_PACKAGE = Path(__file__).resolve().parent


@cache
def root() -> Path:
    """The folder that holds `shaders/`, `scenes/` and `assets/`."""
    packaged = _PACKAGE / "_data"
    return packaged if packaged.is_dir() else _PACKAGE.parent.parent


def path(*parts: str) -> Path:
    """Path of a resource, e.g. `path("scenes", "nbody.toml")`. Raises `InputError` if there is none."""
    found = root().joinpath(*parts)
    if not found.exists():
        raise InputError(f"{found}: no such resource; is the installation complete?")
    return found


def shader(name: str) -> str:
    """Text of the shader file `name`, relative to `shaders/`."""
    return path("shaders", name).read_text(encoding="utf-8")


def scenes() -> list[Path]:
    """All packaged scene files, by name."""
    return sorted(path("scenes").glob("*.toml"))
