"""The light of a view for shaders/common/trace_light.wgsl: the sun, and a table of the light from around."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..gpu import Gpu
from ..params.color_space import linear
from ..renderer import environment_image
from ..renderer.camera import OrbitCamera
from ..renderer.environment import IMAGE, panorama
from ..renderer.view import View, has_backdrop, sun_color, sun_in_world
from .tables import Tables

ROWS = 128  # of the table of a sky
MOST_ROWS = 1024  # of that of an image
NARROWEST_SUN = 0.1  # degrees
DISC = 100.0  # radiance of the sun's visible disc, for that of a white surface: as in draw/environment_maps.wgsl
WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of luminance


def light(gpu: Gpu, view: View, camera: OrbitCamera, tables: Tables) -> dict[str, Any]:
    """The values of the shader's parameters; the tables are added to. Raises `InputError` for an unreadable image.

    A sun narrower than `NARROWEST_SUN` is as wide as that.
    """
    table = view.sky * around(gpu, view, camera)
    columns = _add_distribution(table, tables)
    half = math.radians(max(view.sun_angle, NARROWEST_SUN)) / 2.0
    white = np.array([view.sun * channel for channel in sun_color(view)])
    solid_angle = 4.0 * math.pi * math.sin(half / 2.0) ** 2
    # The irradiance of a white surface that faces it is pi times its radiance.
    radiance = white * math.pi / (math.pi * math.sin(half) ** 2)
    flux = math.pi * float(white @ WEIGHTS)
    spread = _mean_luminance(table) * 2.0 * math.pi
    part = 0.0 if flux <= 0.0 else 1.0 if spread <= 0.0 else min(max(flux / (flux + spread), 0.1), 0.9)
    image = view.environment == IMAGE
    return columns | {
        "sun": tuple(sun_in_world(view, camera)),
        "sun_sine": math.sin(half),
        "sun_light": tuple(radiance),
        "sun_density": 1.0 / solid_angle,
        "sun_white": tuple(white),
        "sun_part": part,
        "up_z": float(camera.up == "z"),
        "turn": math.radians(view.environment_rotation) if image else 0.0,
        "backdrop": float(has_backdrop(view)),
        "blur": view.environment_blur,
        "disc": 0.0 if image or view.environment_blur >= 0.2 else DISC,
    }


def around(gpu: Gpu, view: View, camera: OrbitCamera) -> np.ndarray:
    """Radiance from around for each unit of `view.sky`, f32 (rows, columns, 3), by latitude and longitude."""
    if view.environment == "gradient":
        return _gradient(view)
    if view.environment == IMAGE:
        image = environment_image.read(view.environment_file)
        step = max(1, -(-image.shape[0] // MOST_ROWS))
        rows, columns = (size // step * step for size in image.shape[:2])
        return image[:rows, :columns].reshape(rows // step, step, columns // step, step, 3).mean(axis=(1, 3))
    return panorama(gpu, view, camera, ROWS)


def _gradient(view: View) -> np.ndarray:
    """The sky of three colors, as `gradient_toward` of common/lighting_terms.wgsl has it without roughness."""
    height = np.cos(np.pi * (np.arange(ROWS) + 0.5) / ROWS)
    sky, horizon, ground = (np.array(linear(getattr(view, f"{name}_color"))) for name in ("sky", "horizon", "ground"))
    above, overhead = (_smoothstep(low, high, height)[:, None] for low, high in ((-0.06, 0.06), (0.0, 1.0)))
    colors = ground + (horizon + (sky - horizon) * overhead - ground) * above
    return np.repeat(colors[:, None], 2 * ROWS, axis=1).astype(np.float32)


def _smoothstep(low: float, high: float, x: np.ndarray) -> np.ndarray:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _sines(rows: int) -> np.ndarray:
    return np.sin(np.pi * (np.arange(rows) + 0.5) / rows)[:, None]


def _mean_luminance(table: np.ndarray) -> float:
    sines = _sines(len(table))
    return float((table @ WEIGHTS * sines).mean() / sines.mean())


def _add_distribution(table: np.ndarray, tables: Tables) -> dict[str, Any]:
    """The table, and cumulative distributions of its luminance by solid angle: of rows, and of columns in each."""
    weights = table.astype(np.float64) @ WEIGHTS * _sines(len(table))
    if not weights.sum() > 0.0:
        return {"environment_size": (0, 0), "environment": 0, "marginal": 0, "conditional": 0}
    rows = weights.sum(axis=1)
    marginal = np.cumsum(rows) / rows.sum()
    conditional = np.cumsum(weights, axis=1) / np.where(rows > 0.0, rows, 1.0)[:, None]
    marginal[-1], conditional[:, -1] = 1.0, 1.0
    return {
        "environment_size": table.shape[1::-1],
        "environment": tables.add(table),
        "marginal": tables.add(marginal),
        "conditional": tables.add(conditional),
    }
