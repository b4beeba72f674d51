"""`Output`: what the images of a run are written to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

NUMBER = re.compile(r"%(0?\d{0,2})d(?![A-Za-z])")  # in a file's name: which frame it is; not in "100%done"


class LightImage(NamedTuple):
    """Linear light, f16 or f32 (height, width, 4) multiplied by its alpha, and perhaps the depth, f32 (height, width).

    The depth is the distance from the eye along the direction of view, infinite where nothing opaque is.
    """

    light: np.ndarray
    depth: np.ndarray | None = None


Image = TypeVar("Image", contravariant=True)


class Output(ABC, Generic[Image]):
    """Writes the images of a run in order: arrays of what a screen shows, (height, width, 4) u8, or if `is_linear`
    `LightImage`s. Raises `InputError` if they cannot be written.
    """

    is_linear = False

    @abstractmethod
    def wants(self, frame: int, last: int) -> bool:
        """Whether `frame` (from 0) must be passed to `put`; the run ends with the frame `last`."""

    @abstractmethod
    def put(self, frame: int, image: Image) -> None:
        """Write the image of `frame`."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file after the last image."""

    @abstractmethod
    def discard(self) -> None:
        """End without `close`, and remove what was written of an unfinished file."""


def numbered(path: Path, frame: int) -> Path:
    """The file of one frame, for a name with a number such as %04d in it."""
    return path.with_name(NUMBER.sub(lambda found: f"{frame:{found[1]}d}", path.name))
