"""Parameters of `SplatPhotos`: photos, the schedule of training, and densification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ... import params
from ...params import choice, color, file, integer, number
from ..quantities import array_size, log_number
from .training_model import learning_rate, steps_per_second, train_switch

SUFFIXES = (".bin", ".txt")
DEGREES = ("0", "1", "2", "3")


def steps(default: int, doc: str, *, min: int = 0, max: int = 1_000_000, slider_max: int = 30_000) -> Any:
    """A number of training steps."""
    return integer(default, min=min, max=max, slider_max=slider_max, doc=doc)


class Params(params.Params):
    """Photos and training; rates and schedule are those of the reference implementation of Kerbl et al. 2023."""

    file: Path = file(..., suffixes=SUFFIXES, doc="cameras.bin or cameras.txt of a sparse model of COLMAP")
    resolution: int = array_size(1600, "longest side of a photo in pixels; larger ones are reduced", min=16, max=8192)
    max_count: int = array_size(500_000, "most splats that there can be", min=64, max=1 << 23)
    degree: str = choice("3", DEGREES, rebuild=True, doc="degree of the spherical harmonics of colors")
    background: tuple[float, float, float] = color("#000000", doc="background of the photos")
    test_interval: int = integer(
        8, min=0, max=1000, slider_max=32, doc="every so many-th photo is held out of training, for tests; 0 or 1: none"
    )
    test_view: int = integer(0, min=0, max=100_000, slider_max=31, doc="held-out photo that is shown, by number")
    position_learning_rate: float = learning_rate(1.6e-4, "positions, relative to the extent of the cameras")
    position_learning_rate_end: float = learning_rate(1.6e-6, "positions after the last step of its schedule")
    position_steps: int = steps(30_000, "steps in which the learning rate of positions falls", min=1)
    scale_learning_rate: float = learning_rate(5e-3, "log scales")
    rotation_learning_rate: float = learning_rate(1e-3, "rotations")
    opacity_learning_rate: float = learning_rate(5e-2, "opacity logits")
    color_learning_rate: float = learning_rate(2.5e-3, "colors")
    harmonics_learning_rate: float = learning_rate(1.25e-4, "spherical harmonics of degree 1 and above")
    degree_interval: int = steps(1000, "steps after which harmonics of one more degree are trained; 0: all at once")
    densify_interval: int = steps(100, "steps between densifications; 0: never", slider_max=1000)
    densify_start: int = steps(500, "step after which splats are densified", slider_max=5000)
    densify_end: int = steps(15_000, "step after which they are not")
    densify_gradient: float = log_number(
        2e-4,
        "mean gradient by a splat's place on the image, in half widths, from which it is densified",
        min=1e-7,
        max=1.0,
    )
    densify_size: float = log_number(
        0.01,
        "size above which a splat is divided and not copied, relative to the extent of the cameras",
        min=1e-6,
        max=10.0,
    )
    min_opacity: float = number(0.005, min=0.0, max=0.5, doc="opacity below which splats are removed")
    max_size: float = log_number(
        0.1, "size above which splats are removed once opacities were reset, relative to the extent", min=1e-4, max=1e4
    )
    opacity_reset_interval: int = steps(3000, "steps after which opacities are lowered to 0.01; 0: never")
    steps_per_second: float = steps_per_second(60.0)
    train: bool = train_switch()
