"""`Studio`: who takes pictures and videos of a session, if somebody does; and what they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

LARGEST = 1 << 16  # pixels a side that may be asked for; each adapter has a limit of its own


class Shot(NamedTuple):
    """A picture to be taken: of `size` in pixels, or as large as in the window times `scale`.

    With `panels` it is the whole window as it is seen, never larger; else the picture alone, if `transparent` without
    its background. It is written into `folder`, the current one if there is none.
    """

    scale: float = 1.0
    size: tuple[int, int] | None = None
    panels: bool = False
    transparent: bool = False
    folder: Path | None = None


class Film(NamedTuple):
    """A video in progress, as far as it has come: bytes are those in the file."""

    path: Path
    size: tuple[int, int]
    seconds: float
    nbytes: int


class Studio(Protocol):
    """Takes the pictures that are asked for from the next frames, and tells what became of them in the session."""

    @property
    def film(self) -> Film | None:
        """The video that is being recorded."""
        ...

    def shoot(self, shot: Shot) -> None:
        """Take a picture of the next frame. Raises `InputError` if it cannot be."""
        ...

    def start(self, folder: Path | None) -> None:
        """Record every frame from the next one on. Raises `InputError` if the video cannot be written."""
        ...

    def stop(self) -> None:
        """The last frame of the video was the one before this. Raises `InputError` if none is being recorded."""
        ...
