"""Images and videos generated for the tests: distinguishable frames, and files of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

ROWS, COLUMNS = 24, 32
CODECS = {".mp4": ("libx264", "yuv420p"), ".webm": ("libvpx-vp9", "yuv420p"), ".gif": ("gif", "rgb8")}
Show = Callable[[Any, int], None]


def frames(count: int, rows: int = ROWS, columns: int = COLUMNS) -> list[np.ndarray]:
    """Images whose brightness increases with their number; the upper left is light, the lower right dark."""
    light = np.linspace(40, 0, rows)[:, None] + np.linspace(20, 0, columns)[None, :]
    return [np.uint8(light[..., None] + [6 * n + 8, 4 * n, 5 * n + 20]) for n in range(count)]


def film(path: Path, images: Sequence[np.ndarray], rate: int = 10, **options: str) -> Path:
    """A video in the format of the file's suffix, with a key frame every 6 frames."""
    codec, layout = CODECS[path.suffix]
    with av.open(str(path), "w", options={"movflags": "+faststart"} if path.suffix == ".mp4" else {}) as container:
        stream: Any = container.add_stream(codec, rate=rate, options={"g": "6", **options} if codec != "gif" else {})
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = layout
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def stills(folder: Path, images: Sequence[np.ndarray], names: str = "{}.png") -> Path:
    """A file for each image, numbered from 1; returns the first."""
    folder.mkdir(exist_ok=True)
    for number, image in enumerate(images, start=1):
        Image.fromarray(image).save(folder / names.format(number))
    return folder / names.format(1)


def levels(images: Sequence[np.ndarray]) -> list[float]:
    return [float(image.mean()) for image in images]


def nearest(image: np.ndarray, known: Sequence[np.ndarray]) -> int:
    """Which of the known images a decoded one is, by its mean."""
    away = [abs(level - float(image.mean())) for level in levels(known)]
    assert min(away) == pytest.approx(0.0, abs=2.0)
    return int(np.argmin(away))
