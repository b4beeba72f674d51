"""The floor of a view for shaders/common/trace_floor.wgsl, where the renderer draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..gpu import Gpu
from ..renderer.annotations.axes_bounds import BOX_BYTES, AxesBounds
from ..renderer.annotations.overlay import line_light, unit_of
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.view import View

Box = tuple[np.ndarray, np.ndarray]  # the low and the high corner, f64 (3,)
UNDER = 2e-3  # of the longest edge of the box: how far it is below everything, as in shaders/draw/floor.wgsl

FACTORS = ("floor_height", "floor_size", "floor_light", "floor_line", "floor_shade")


def box_around(gpu: Gpu, layers: Sequence[Layer]) -> Box:
    """The box that the renderer draws axes and floor for, of layers that are prepared; waits for the GPU."""
    bounds = AxesBounds(gpu)
    bounds.record(layers)
    reading = gpu.readback.reading(BOX_BYTES)
    gpu.readback.record(gpu.recorder.encoder, reading, bounds.buffer, 0)
    gpu.submit()
    low, high = np.frombuffer(gpu.readback.wait(reading), np.float32).reshape(2, 4)[:, :3].astype(float)
    return low, high


def floor(gpu: Gpu, layers: Sequence[Layer], view: View, camera: OrbitCamera, size: tuple[int, int]) -> dict[str, Any]:
    """The values of the shader's parameters; `size` is that of the image."""
    if view.floor == "none":
        return {name: 0.0 for name in FACTORS} | {"floor_up": (0.0,) * 3, "floor_middle": (0.0,) * 3}
    box = box_around(gpu, layers)
    low, high = (
        np.array(automatic if own == "auto" else own)
        for own, automatic in zip((view.axes_low, view.axes_high), box, strict=True)
    )
    up = camera.up_direction
    under = float(low @ up - UNDER * (high - low).max())
    return {
        "floor_up": tuple(up),
        "floor_height": view.floor_height if view.floor == "height" else under,
        "floor_middle": tuple(0.5 * (low + high)),
        "floor_size": max(float(np.linalg.norm(high - low)), camera.distance),
        "floor_light": line_light(view),
        "floor_line": unit_of(size),
        "floor_shade": view.shadows,
    }
