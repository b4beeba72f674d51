"""`Output`: what the images of a run are written to."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Output(ABC):
    """Writes the images of a run in order. Raises `InputError` if they cannot be written."""

    @abstractmethod
    def wants(self, frame: int, last: int) -> bool:
        """Whether `frame` (from 0) must be passed to `put`; the run ends with the frame `last`."""

    @abstractmethod
    def put(self, frame: int, pixels: np.ndarray) -> None:
        """Write the image of `frame`, (height, width, 4) u8."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file after the last image."""
