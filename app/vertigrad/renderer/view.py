"""`View`: what the picture looks like as a whole, and the uniforms made from it and a camera."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from ..params import Params, angle, color, number
from .camera import OrbitCamera
from .moment import Moment

VIEW_SIZE = 224  # bytes of `View` in shaders/common/view.wgsl
TIME_AT = 172  # byte of `View` that holds the time
LAYER_AT = 204  # and the number of the layer
DEVELOP_SIZE = 32  # bytes of `Develop` in shaders/draw/develop.wgsl


class View(Params):
    """Background, light and development of the picture. Colours are as a screen shows them (sRGB)."""

    background: tuple[float, float, float] = color("#0b0d12", doc="color behind everything")
    exposure: float = number(1.0, min=1e-3, max=1e3, soft_min=0.1, soft_max=10.0, scale="log", doc="gain of the light")
    sun: float = number(2.2, min=0.0, max=1e3, soft_max=10.0, doc="strength of the sun")
    sun_color: tuple[float, float, float] = color("#fff1dc", doc="color of the sun")
    sun_azimuth: float = angle(-50.0, min=-360.0, max=360.0, doc="direction of the sun, around the upward axis")
    sun_elevation: float = angle(38.0, min=-90.0, max=90.0, doc="height of the sun above the horizon")
    sky: float = number(0.8, min=0.0, max=1e3, soft_max=4.0, doc="strength of the light from the sky")
    bloom: float = number(0.05, min=0.0, max=1.0, soft_max=0.3, doc="share of the light scattered in the lens")
    vignette: float = number(0.25, min=0.0, max=1.0, doc="how much darker the corners are")


SKY = (0.42, 0.58, 0.90)
HORIZON = (0.66, 0.70, 0.76)
GROUND = (0.17, 0.15, 0.135)


def linear(encoded: Sequence[float]) -> tuple[float, ...]:
    """sRGB components as amounts of light (IEC 61966-2-1); a fourth component is kept."""
    decoded = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in encoded[:3])
    return (*decoded, *encoded[3:])


def sun_in_world(view: View, camera: OrbitCamera) -> np.ndarray:
    """Toward the sun, in world space. Azimuth 0 is where a camera with yaw 0 stands, and grows to its right."""
    azimuth, elevation = math.radians(view.sun_azimuth), math.radians(view.sun_elevation)
    level = OrbitCamera(yaw=azimuth, up=camera.up).rotation()[:, 2]
    return math.cos(elevation) * level + math.sin(elevation) * camera.up_direction


def sun_direction(view: View, camera: OrbitCamera) -> np.ndarray:
    """Toward the sun, in eye space."""
    return camera.rotation().T @ sun_in_world(view, camera)


def moment_of(view: View, camera: OrbitCamera, time: float) -> Moment:
    """What layers are told before the picture, such as where light comes from."""
    directions = sun_in_world(view, camera), camera.up_direction
    sun, up = ((float(x), float(y), float(z)) for x, y, z in directions)
    return Moment(sun, up, time)


def view_uniform(view: View, camera: OrbitCamera, size: tuple[int, int], time: float) -> bytes:
    """The bytes of `View` in shaders/common/view.wgsl."""
    width, height = size
    to_eye = camera.rotation().T
    # Matrices lie column by column in WGSL.
    matrices = np.stack((camera.view().T, camera.projection(width / height).T)).astype("<f4")
    lights = struct.pack(
        "<24f",
        *sun_direction(view, camera),
        camera.pixel(height),
        *(view.sun * c for c in linear(view.sun_color)),
        camera.near,
        *(to_eye @ camera.up_direction),
        time,
        *(view.sky * c for c in SKY),
        float(camera.orthographic),
        *(value for tint in (HORIZON, GROUND) for value in (*(view.sky * c for c in tint), 0.0)),
    )
    return matrices.tobytes() + lights


def develop_uniform(view: View, size: tuple[int, int]) -> bytes:
    """The bytes of `Develop` in shaders/draw/develop.wgsl."""
    width, height = size
    return struct.pack("<8f", *linear(view.background), view.exposure, view.bloom, view.vignette, width / height, 0.0)


class PictureUniforms:
    """The uniforms of a picture, worked out anew only when camera, view or size have changed since the last one."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._view = bytearray()
        self._develop = b""
        self.moment = Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))  # of the picture that was packed last

    def pack(self, view: View, camera: OrbitCamera, size: tuple[int, int], time: float) -> tuple[bytearray, bytes]:
        """The bytes of `View` and of `Develop`."""
        key = (size, *vars(view).values(), *vars(camera).values())
        if key != self._key:
            self._view = bytearray(view_uniform(view, camera, size, time))
            self._develop = develop_uniform(view, size)
            self.moment = moment_of(view, camera, time)
            self._key = key
        elif time != self.moment.time:
            self.moment = self.moment._replace(time=time)
        struct.pack_into("<f", self._view, TIME_AT, time)
        return self._view, self._develop
