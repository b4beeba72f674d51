"""The uniforms of an image: `View` and `PostProcess` of the shaders, from a view and a camera."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from ..params.color_space import linear
from .area_lights import AreaLight, LightCamera, light_cameras, packed
from .camera import OrbitCamera
from .moment import Moment
from .quality import HIGH, Level, drawn_size
from .sun import OpacityCamera, SunCamera, reaches_of, shadow_texels
from .view import UNIT_HEIGHT, View, has_occlusion, sun_color, sun_direction, sun_in_world

VIEW_SIZE = 1280  # bytes of `View` in shaders/common/view.wgsl
OPACITY_AT, LIGHTS_AT = 432, 500  # bytes of `View` from which on it has the map of optical depths, and area lights
EXPOSURE_AT, EACH_LIGHT_AT = 508, 512  # that hold the exposure, and from which on each area light
TEXEL_AT = 348  # byte of `View` that holds the width of a texel of the first shadow map
SCALE_AT = 416  # and from which on `scale` and `march`
TIME_AT = 172  # byte of `View` that holds the time
LAYER_AT = 204  # byte of `View` that holds the index of the layer, from 1
OPACITY_MARCH = 0.5  # steps through a volume along the sun, to those along the line of sight
POST_PROCESS_SIZE = 80  # bytes of `PostProcess` in shaders/draw/post_process.wgsl


def moment_of(view: View, camera: OrbitCamera, time: float) -> Moment:
    """The values that layers get before the image is drawn, such as the direction of light."""
    directions = sun_in_world(view, camera), camera.up_direction, -camera.rotation()[:, 2]
    sun, up, forward = ((float(x), float(y), float(z)) for x, y, z in directions)
    return Moment(sun, up, time, forward)


def view_uniform(view: View, camera: OrbitCamera, size: tuple[int, int], time: float, level: Level = HIGH) -> bytes:
    """The bytes of `View` in shaders/common/view.wgsl, of an image that is shown with `size` in pixels."""
    width, height = size
    drawn = drawn_size(size, level)
    to_eye = camera.rotation().T
    # Matrices are stored by columns in WGSL.
    matrices = np.stack((camera.view().T, camera.projection(width / height).T)).astype("<f4")
    lights = struct.pack(
        "<24f",
        *sun_direction(view, camera),
        camera.pixel(drawn[1]),
        *(view.sun * c for c in sun_color(view)),
        camera.near,
        *(to_eye @ camera.up_direction),
        time,
        *(view.sky * c for c in linear(view.sky_color)),
        float(camera.orthographic),
        *(view.sky * c for c in linear(view.horizon_color)),
        0.0,
        *(view.sky * c for c in linear(view.ground_color)),
        0.0 if view.environment == "gradient" else view.sky,
    )
    cost = struct.pack("<3fI", drawn[0] / width, drawn[1] / height, level.march, level.sun_maps)
    lights += clip_planes(view, camera) + shadow_maps(view, camera, drawn[1], level)
    written = matrices.tobytes() + lights + ambient_occlusion(view, camera, level) + cost
    written += bytes(EXPOSURE_AT - len(written)) + struct.pack("<f", view.exposure)
    return written + bytes(VIEW_SIZE - len(written))


def sun_camera(view: View, camera: OrbitCamera, height: int, level: Level) -> SunCamera:
    """The camera of the shadow maps of an image of which `height` rows of pixels are drawn."""
    texels = shadow_texels(view.shadow_resolution, height, level)
    return SunCamera(camera, sun_in_world(view, camera), texels, reaches_of(level))


def shadow_maps(view: View, camera: OrbitCamera, height: int, level: Level) -> bytes:
    """The fields of shaders/common/shadows.wgsl about the sun."""
    if view.shadows == 0.0:
        return bytes(128)
    sun = sun_camera(view, camera, height, level)
    to_map = (sun.to_largest() @ np.linalg.inv(camera.view())).T.astype("<f4").tobytes()
    maps = [(*sun.placement(number), sun.texel(number)) for number in range(level.sun_maps)]
    return to_map + struct.pack(
        "<12f3fI",
        *np.resize(np.array(maps), 12),
        view.shadows,
        sun.spread(view.sun_angle),
        sun.search(view.sun_angle),
        level.sun_taps,
    )


def ambient_occlusion(view: View, camera: OrbitCamera, level: Level) -> bytes:
    """The fields of shaders/common/shadows.wgsl about the sky."""
    reach = 2.0 * camera.half_height * view.occlusion_radius
    return struct.pack("<2fIf", view.occlusion, reach, 4 if has_occlusion(view, level) else 0, camera.distance)


def sun_uniforms(view: View, camera: OrbitCamera, height: int, level: Level = HIGH) -> tuple[bytes, ...]:
    """The bytes of `View` with which layers draw each shadow map; none without shadows."""
    if view.shadows == 0.0:
        return ()
    sun = sun_camera(view, camera, height, level)
    maps = range(level.sun_maps)
    return tuple(_along_sun(view, sun, sun.projection(number), sun.texel(number), level.march) for number in maps)


def opacity_uniforms(view: View, camera: OrbitCamera, sun: OpacityCamera, level: Level) -> tuple[bytes, bytes]:
    """The bytes of `View` from `OPACITY_AT` on, and all of them with which the map of optical depths is drawn."""
    to_map = (sun.to_map() @ np.linalg.inv(camera.view())).T.astype("<f4").tobytes()
    along = _along_sun(view, sun, sun.projection(), sun.texel, OPACITY_MARCH * level.march)
    return to_map + struct.pack("<I", 1), along


def light_uniforms(view: View, maps: Sequence[LightCamera], march: float) -> tuple[bytes, ...]:
    """The bytes of `View` with which layers draw the shadow map of each light."""
    return tuple(_along_light(view, one, one.projection(), one.texel_at_target, march, one.near) for one in maps)


def _along_sun(view: View, sun: SunCamera | OpacityCamera, projection: np.ndarray, texel: float, march: float) -> bytes:
    """The bytes of `View` of an eye in the sun; the near plane is infinitely far behind it."""
    return _along_light(view, sun, projection, texel, march, -3e38)


def _along_light(
    view: View,
    light: SunCamera | OpacityCamera | LightCamera,
    projection: np.ndarray,
    texel: float,
    march: float,
    near: float,
) -> bytes:
    """The bytes of `View` of an eye in a light; below 0, `near` is that of an orthographic projection.

    Spheres of any size are drawn as spheres: its `pixel` is next to nothing, and `texel` is in the place of a map.
    """
    written = np.stack((light.view().T, projection.T)).astype("<f4").tobytes()
    parallel = float(near < 0.0)
    written += struct.pack("<24f", 0.0, 0.0, 1.0, 1e-20, 0.0, 0.0, 0.0, near, *([0.0] * 7), parallel, *([0.0] * 8))
    written += clip_planes(view, light)
    written += bytes(TEXEL_AT - len(written)) + struct.pack("<f", texel)
    written += bytes(SCALE_AT - len(written)) + struct.pack("<3f", 1.0, 1.0, march)
    return written + bytes(VIEW_SIZE - len(written))


NO_CLIP = np.array((0.0, 0.0, 0.0, -1.0))  # a plane that cuts nothing off
NO_CLIPS = np.tile(NO_CLIP, (3, 1)).astype("<f4").tobytes()


def clip_planes(view: View, camera: OrbitCamera | SunCamera | OpacityCamera | LightCamera) -> bytes:
    """Three planes in eye space, (3, 4) f32: positions with `dot(plane, (position, 1)) > 0` are cut off."""
    clips = (
        (view.clip_normal, view.clip_origin),
        (view.clip_normal_2, view.clip_origin_2),
        (view.clip_normal_3, view.clip_origin_3),
    )
    if all(isinstance(normal, str) for normal, _ in clips):
        return NO_CLIPS
    planes = np.tile(NO_CLIP, (3, 1))
    to_world = np.linalg.inv(camera.view())
    for plane, (normal, origin) in zip(planes, clips, strict=True):
        length = 0.0 if isinstance(normal, str) else math.hypot(*normal)
        if length > 0.0:
            plane[:3] = np.array(normal) / length
            plane[3] = -plane[:3] @ origin
            plane[:] = plane @ to_world
    return planes.astype("<f4").tobytes()


def post_process_uniform(view: View, size: tuple[int, int], parallel: bool = False, level: Level = HIGH) -> bytes:
    """The bytes of `PostProcess` in shaders/draw/post_process.wgsl."""
    width, height = size
    edge_width = view.edge_width * max(height / UNIT_HEIGHT, 1.0)
    return struct.pack(
        "<20f",
        *(*linear(view.background), view.exposure, view.bloom, view.vignette, width / height, view.edges),
        *(*linear(view.edge_color), edge_width if level.scale == 1.0 else max(edge_width * level.scale, 1.0)),
        *(*linear(view.tint_light), view.tint, *linear(view.tint_dark), parallel),
    )


_TIME = struct.Struct("<f")


class FrameUniforms:
    """The uniforms of an image, recomputed only when camera, view or size have changed."""

    def __init__(self) -> None:
        self.key: tuple[object, ...] = ()  # what they are of, but for time and the map of optical depths
        self._view, self._over = bytearray(), bytearray()
        self._post_process = b""
        self.maps: tuple[bytes, ...] = ()  # the bytes of `View` for each shadow map: those of the sun, then of lights
        self.moment = Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))  # of the last packed image

    def set_opacity(self, view: View, camera: OrbitCamera, sun: OpacityCamera | None, level: Level) -> bytes:
        """Set the map of optical depths of the packed image; returns the bytes of `View` to draw it."""
        received, drawn = (
            (bytes(LIGHTS_AT - OPACITY_AT), b"") if sun is None else opacity_uniforms(view, camera, sun, level)
        )
        self._view[OPACITY_AT:LIGHTS_AT] = received
        if self._over is not self._view:
            self._over[OPACITY_AT:LIGHTS_AT] = received
        return drawn

    def pack(
        self,
        view: View,
        camera: OrbitCamera,
        size: tuple[int, int],
        time: float,
        level: Level = HIGH,
        lights: tuple[AreaLight, ...] = (),
    ) -> tuple[bytearray, bytearray, bytes]:
        """The bytes of `View` for the layers, of `View` for overlays, and of `PostProcess`."""
        key = (size, level, lights, *vars(view).values(), *vars(camera).values())
        if key != self.key:
            self._view = bytearray(view_uniform(view, camera, size, time, level))
            self._over = self._view if level.scale == 1.0 else bytearray(view_uniform(view, camera, size, time))
            self._post_process = post_process_uniform(view, size, camera.orthographic, level)
            self.moment = moment_of(view, camera, time)._replace(lights=lights)
            rows = drawn_size(size, level)[1]
            self.maps = sun_uniforms(view, camera, rows, level)
            if lights:
                cameras = light_cameras(lights, camera, view.shadow_resolution, rows, level)
                counts, each = packed(lights, camera, cameras, len(self.maps), level)
                self._view[LIGHTS_AT:EXPOSURE_AT], self._view[EACH_LIGHT_AT:] = counts, each
                self.maps += light_uniforms(view, cameras, level.march)
            self.key = key
        elif time != self.moment.time:
            self.moment = self.moment._replace(time=time)
        _TIME.pack_into(self._view, TIME_AT, time)
        if self._over is not self._view:
            _TIME.pack_into(self._over, TIME_AT, time)
        return self._view, self._over, self._post_process
