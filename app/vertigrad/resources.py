"""Paths of shaders, scenes and assets, which are defined only here.

In a source tree they are folders next to `app/`; in an installed package they are under `vertigrad/_data/`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .errors import InputError

_PACKAGE = Path(__file__).resolve().parent


@cache
def root() -> Path:
    """The folder that holds `shaders/`, `scenes/`, `assets/` and `docs/`."""
    packaged = _PACKAGE / "_data"
    return packaged if packaged.is_dir() else _PACKAGE.parent.parent


def path(*parts: str) -> Path:
    """Path of a resource, e.g. `path("scenes", "nbody.toml")`. Raises `InputError` if there is none."""
    found = root().joinpath(*parts)
    if not found.exists():
        raise InputError(f"{found}: no such resource; is the installation complete?")
    return found


def state_folder() -> Path:
    """The folder for saved state: VERTIGRAD_CONFIG_DIR, or the system's folder for state of programs."""
    from platformdirs import user_state_path

    folder = os.environ.get("VERTIGRAD_CONFIG_DIR")
    return Path(folder) if folder else user_state_path("vertigrad", appauthor=False)


def cache_folder() -> Path:
    """The folder for what can be made again: VERTIGRAD_CACHE, or the system's folder for caches of programs."""
    from platformdirs import user_cache_path

    folder = os.environ.get("VERTIGRAD_CACHE")
    return Path(folder) if folder else user_cache_path("vertigrad")


def log_file() -> Path:
    """The folder of the window's log: VERTIGRAD_CONFIG_DIR, or the system's folder for logs of programs."""
    from platformdirs import user_log_path

    folder = os.environ.get("VERTIGRAD_CONFIG_DIR")
    return (Path(folder) if folder else user_log_path("vertigrad", appauthor=False)) / "vertigrad.log"


def shader(name: str) -> str:
    """Text of the shader file `name`, relative to `shaders/`."""
    return path("shaders", name).read_text(encoding="utf-8")


def scenes() -> list[Path]:
    """All packaged scene files, by name."""
    return sorted(path("scenes").glob("*.toml"))


def documentation() -> Path:
    """The start page of the documentation. Raises `InputError` if it is missing."""
    return path("README.md")


def font() -> Path:
    """The font of text in images: that of the GUI, which comes with imgui_bundle. Does not import that."""
    found = find_spec("imgui_bundle")
    if found is None or found.origin is None:
        raise InputError("imgui_bundle is not there; is the installation complete?")
    return Path(found.origin).parent / "assets" / "fonts" / "Roboto" / "Roboto-Regular.ttf"
