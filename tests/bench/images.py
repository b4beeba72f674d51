"""Images read back from a target, to compare the output of two programs."""

from __future__ import annotations

import numpy as np

from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import Offscreen


def image(gpu: Gpu, offscreen: Offscreen) -> np.ndarray:
    """The drawn image, (height, width, 4) u8; waits for the GPU."""
    images: list[np.ndarray] = []
    offscreen.read(images.append)
    gpu.sync()
    while not images:
        gpu.poll()
    return images[0]


def clear(gpu: Gpu, offscreen: Offscreen) -> None:
    """Make every pixel black and transparent."""
    attachment = {"view": offscreen.view, "load_op": "clear", "store_op": "store", "clear_value": (0, 0, 0, 0)}
    gpu.recorder.encoder.begin_render_pass(color_attachments=[attachment]).end()
    gpu.sync()
    assert image(gpu, offscreen).max() == 0
