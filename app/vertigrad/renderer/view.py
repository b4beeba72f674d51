"""`View`: the settings of a whole image."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import field_validator

from ..params import Params, angle, choice, color, file, integer, number, switch, text, vector
from ..params.color_space import linear
from .camera import OrbitCamera
from .environment_image import SUFFIXES
from .labels import labels
from .quality import AUTO, Level
from .quality import NAMES as QUALITIES
from .sky import sun_tint
from .sun import RESOLUTIONS
from .themes import CUSTOM, NAMES, THEMES

UNIT_HEIGHT = 800.0  # pixels of an image in which widths in pixels are exact; they grow with larger images


Normal = tuple[float, ...] | Literal["none"]


def _clip_normal(doc: str) -> Any:
    return vector("none", words=("none",), slider_min=-1.0, slider_max=1.0, doc=doc)


def _clip_origin(doc: str) -> Any:
    return vector((0.0, 0.0, 0.0), gizmo="position", doc=doc)


TEMPORAL = "taa"
TONE_MAPS = ("film", "none", "agx", "neutral")  # of shaders/common/tone_map.wgsl


class View(Params):
    """Background, light and post-processing of the image. Colors are as a screen shows them (sRGB)."""

    theme: str = choice(
        CUSTOM, NAMES, doc="preset of light, shading, edges and background; custom: the scene's own values"
    )
    quality: str = choice(AUTO, QUALITIES, doc="rendering quality; auto: the highest at which frames come in time")
    background: tuple[float, float, float] = color("#0b0d12", doc="color behind everything")
    exposure: float = number(
        1.0, min=1e-3, max=1e3, slider_min=0.1, slider_max=10.0, scale="log", doc="factor of all light in the image"
    )
    tone_map: str = choice(
        "film",
        TONE_MAPS,
        doc="how light becomes colors of a screen: film: S-shaped, bright colors turn white; none: cut off at 1; agx: "
        "soft, low contrast; neutral: colors of surfaces stay as they are. Colors of data are shown as they are by all",
    )
    sun: float = number(2.2, min=0.0, max=1e3, slider_max=10.0, doc="intensity of the sun")
    sun_color: tuple[float, float, float] = color("#fff1dc", doc="color of the sun")
    sun_azimuth: float = angle(-50.0, min=-360.0, max=360.0, doc="direction of the sun, around the up axis")
    sun_elevation: float = angle(38.0, min=-90.0, max=90.0, doc="angle of the sun above the horizon")
    shadows: float = number(0.0, min=0.0, max=1.0, doc="strength of the sun's shadows; 0: none")
    sun_angle: float = angle(
        2.5, min=0.0, max=30.0, slider_max=12.0, doc="angular diameter of the sun: larger ones give softer shadows"
    )
    shadow_resolution: str = choice(
        "auto",
        RESOLUTIONS,
        doc="texels along each side of the three shadow maps; auto: by the image's height and the quality",
    )
    sky: float = number(0.8, min=0.0, max=1e3, slider_max=4.0, doc="intensity of the light from the sky")
    sky_color: tuple[float, float, float] = color("#aec8f3", doc="color of the sky at the zenith")
    horizon_color: tuple[float, float, float] = color("#d4dae2", doc="color of the sky at the horizon")
    ground_color: tuple[float, float, float] = color("#736c67", doc="color of the light from below")
    environment: str = choice(
        "gradient",
        ("gradient", "sky", "image"),
        doc="light from around: the three colors of the sky, the air in the light of the sun, or an image",
    )
    environment_file: Path = file(
        "assets/data/studio.hdr", suffixes=SUFFIXES, rebuild=False, doc="equirectangular image of light"
    )
    environment_rotation: float = angle(0.0, min=-360.0, max=360.0, doc="rotation of the image around the up axis")
    environment_backdrop: bool = switch(False, doc="show the sky or the image behind everything")
    environment_blur: float = number(0.0, min=0.0, max=1.0, doc="blur of the backdrop")
    occlusion: float = number(0.0, min=0.0, max=1.0, doc="strength of the ambient occlusion; 0: none")
    occlusion_radius: float = number(
        0.15,
        min=0.001,
        max=1.0,
        slider_max=0.5,
        doc="radius of the ambient occlusion, as a fraction of the height of the view at the camera's target",
    )
    edges: float = number(0.0, min=0.0, max=1.0, doc="strength of the outlines at steps in depth; 0: none")
    edge_color: tuple[float, float, float] = color("#000000", doc="color of the outlines")
    edge_width: float = number(1.2, min=0.5, max=8.0, unit="pixels", doc="width of the outlines")
    tint: float = number(
        0.0,
        min=0.0,
        max=1.0,
        doc="how far colors are replaced by shades between tint_dark and tint_light; 0: not at all",
    )
    tint_dark: tuple[float, float, float] = color("#000000", doc="color that replaces black")
    tint_light: tuple[float, float, float] = color("#ffffff", doc="color that replaces white")
    bloom: float = number(
        0.05, min=0.0, max=1.0, slider_max=0.3, doc="fraction of the light that is scattered in the lens"
    )
    vignette: float = number(0.25, min=0.0, max=1.0, doc="how much darker the corners are")
    aperture: float = number(
        0.0,
        min=0.0,
        max=2.0,
        slider_max=0.2,
        doc="diameter of the lens, as a fraction of the distance in focus; 0: everything is sharp",
    )
    focus: tuple[float, ...] | Literal["target"] = vector(
        "target", words=("target",), gizmo="position", doc="a point in focus; target: what the camera looks at"
    )
    shutter: float = number(
        0.0,
        min=0.0,
        max=1.0,
        doc="motion blur of images and videos: fraction of a frame in which the shutter is open; 0: none",
    )
    anti_aliasing: str = choice(
        "msaa",
        ("msaa", TEMPORAL),
        doc="smooth edges: msaa: 4 samples of outlines in each pixel; taa: in windows also the images before, "
        "reprojected, and at rest the mean of all samples, for surfaces and highlights too",
    )
    samples: int = integer(
        32,
        min=1,
        max=4096,
        slider_max=256,
        scale="log",
        doc="samples of lens and shutter in each pixel, of images with an aperture or a shutter, or with taa at rest",
    )
    color_bars: str = choice(
        "named",
        ("none", "named", "all"),
        doc="color bars of no layer, of layers with a colorbar, or of all layers with a colormap",
    )
    scale_bar: bool = switch(False, doc="a scale bar, measured at the camera's target")
    axes: bool = switch(False, doc="a box with axes around everything")
    axis_names: str = text("", doc="titles of the axes, separated by commas; empty: x, y, z")
    unit: str = text("", doc="unit of length, shown at the axes and the scale bar")
    axes_low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), gizmo="position", doc="low corner of the axes' box; auto: it encloses everything"
    )
    axes_high: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), gizmo="position", doc="high corner of the axes' box"
    )
    floor: str = choice(
        "none", ("none", "under", "height"), doc="a floor with a grid: under everything, or at floor_height"
    )
    floor_height: float = number(0.0, slider_min=-2.0, slider_max=2.0, doc="height of the floor, along the up axis")
    labels: str = text("", doc="text at points of the world, such as: summit 0 1.2 0; lake 0.5 0 0.2")
    text_size: float = number(
        14.0, min=6.0, max=64.0, slider_max=32.0, unit="pixels", doc="font size, in an image 800 pixels high"
    )
    clip_normal: Normal = _clip_normal("normal of a clipping plane: the side it points to is cut off")
    clip_origin: tuple[float, ...] = _clip_origin("a point on the clipping plane")
    clip_normal_2: Normal = _clip_normal("normal of a second clipping plane")
    clip_origin_2: tuple[float, ...] = _clip_origin("a point on the second clipping plane")
    clip_normal_3: Normal = _clip_normal("normal of a third clipping plane")
    clip_origin_3: tuple[float, ...] = _clip_origin("a point on the third clipping plane")

    @field_validator("labels")
    @classmethod
    def _readable(cls, value: str) -> str:
        labels(value)
        return value


def themed_view(theme: str) -> View:
    """The view of a theme; for "custom", the defaults."""
    return View(theme=theme, **THEMES.get(theme, {}))


def sun_in_world(view: View, camera: OrbitCamera) -> np.ndarray:
    """Unit vector toward the sun, in world space. Azimuths are measured like the yaw of a camera."""
    azimuth, elevation = math.radians(view.sun_azimuth), math.radians(view.sun_elevation)
    level = OrbitCamera(yaw=azimuth, up=camera.up).rotation()[:, 2]
    return math.cos(elevation) * level + math.sin(elevation) * camera.up_direction


def sun_color(view: View) -> tuple[float, ...]:
    """The sun's color as linear light, behind the air where the sky is computed."""
    color = linear(view.sun_color)
    if view.environment != "sky":
        return color
    return tuple(c * tint for c, tint in zip(color, sun_tint(view.sun_elevation), strict=True))


def sun_direction(view: View, camera: OrbitCamera) -> np.ndarray:
    """Unit vector toward the sun, in eye space."""
    return camera.rotation().T @ sun_in_world(view, camera)


def has_backdrop(view: View) -> bool:
    """Whether the environment is shown behind everything."""
    return view.environment_backdrop and view.environment != "gradient"


def has_occlusion(view: View, level: Level) -> bool:
    """Whether there is ambient occlusion."""
    return view.occlusion > 0.0 and level.sky_planes > 0
