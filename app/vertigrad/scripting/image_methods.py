"""`ImageMethods`: images and videos of what a script's viewer shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..headless.video import FASTEST_GIF, VideoOptions
from ..session import FPS
from .content import Content
from .shooting import Camera, Recording


class ImageMethods(ABC):
    """Images without panels. `size` is (width, height) in pixels, by default that of the viewport."""

    _content: Content
    _recordings: list[Recording]

    @abstractmethod
    def _shooting(self) -> Camera:
        """What takes the images. Raises `InputError` if the viewer is closed."""

    @abstractmethod
    def _image_size(self) -> tuple[int, int]:
        """The size of images by default."""

    def image(self, size: tuple[int, int] | None = None) -> np.ndarray:
        """What is shown now, without panels, (height, width, 3) u8. Waits for the GPU. Raises `InputError`."""
        return self._shooting().image(size or self._image_size())[..., :3].copy()

    def screenshot(self, path: str | Path, size: tuple[int, int] | None = None) -> Path:
        """Write what is shown now as a PNG file. Raises `InputError`."""
        path = Path(path)
        if path.suffix.lower() != ".png":
            raise InputError(f"{path}: a screenshot is a .png file; `record` writes videos")
        with Recording(self._shooting(), path, size or self._image_size(), VideoOptions()) as recording:
            recording.add()
        return path

    def export(self, path: str | Path, *layers: str) -> Path:
        """Write what these layers draw now, by default all with geometry, as .ply (one layer), .obj or .glb.

        Waits for the GPU. Raises `InputError`.
        """
        return self._content.export(path, layers)

    def record(
        self,
        path: str | Path,
        size: tuple[int, int] | None = None,
        fps: float | None = None,
        codec: str = "",
        quality: int = 0,
    ) -> Recording:
        """Write every frame from now on, until the recording or the viewer is closed.

        To .mp4 (`codec` "h264", "h265" or "av1") or .webm ("vp9", "av1") with an even width and height, to .gif or
        .webp, or to .png with a number such as %04d in the name. `fps` is how many of these frames are shown in a
        second, by default 60, of a GIF 50. `quality` is from 1 to 100. Raises `InputError`.
        """
        camera = self._shooting()
        path, (width, height) = Path(path), size or self._image_size()
        if path.suffix.lower() in (".mp4", ".webm") and size is None:
            width, height = width - width % 2, height - height % 2
        rate = min(FPS, FASTEST_GIF) if fps is None and path.suffix.lower() == ".gif" else fps or FPS
        self._recordings.append(Recording(camera, path, (width, height), VideoOptions(rate, codec, quality)))
        return self._recordings[-1]
