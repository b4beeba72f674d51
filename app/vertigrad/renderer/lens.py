"""Samples of a lens and of a pixel, whose mean is an image with depth of field and smooth edges. No GPU.

A thin lens shows what is at its focus distance sharp. A point at another distance is seen from each position of the
lens at another position of the image: together a disc, the circle of confusion (Potmesil and Chakravarty 1981, "A Lens
and Aperture Camera Model for Synthetic Image Generation").
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .camera import Lens, OrbitCamera
from .view import View

BASES = (2, 3, 5, 7)  # of the sequences: lens and pixel are independent of each other and of the order of the samples
PERIOD = 16  # samples of a moving image, which has no end
NEAREST = 1e-3  # of the target's distance: what is in focus is not nearer


class Sample(NamedTuple):
    """Number `index`, from 0, of the samples whose mean is an image; the mean so far is shown if `shown`.

    If `moving`, the samples before were of an image that has changed since: they are reprojected, and weigh less.
    """

    index: int
    shown: bool
    moving: bool = False


def sample_count(view: View) -> int:
    """How many samples an image of this view has."""
    return view.samples if view.aperture > 0.0 or view.shutter > 0.0 else 1


def still_samples(view: View) -> list[Sample] | list[None]:
    """The samples of an image in which nothing moves; a single None if the lens is a pinhole."""
    if view.aperture == 0.0:
        return [None]
    return [Sample(index, index == view.samples - 1) for index in range(view.samples)]


def focus_distance(view: View, camera: OrbitCamera) -> float:
    """Distance of what is sharp along the direction of view, in world units."""
    if isinstance(view.focus, str):
        return camera.distance
    away = np.asarray(view.focus) - np.asarray(camera.position)
    return max(float(away @ -camera.rotation()[:, 2]), NEAREST * camera.distance)


def sampled(camera: OrbitCamera, view: View, sample: Sample, height: int) -> OrbitCamera:
    """The camera of one sample of an image `height` pixels high.

    The eye is moved over the lens, unless it is orthographic or the image moves, and the image within a pixel. No
    sample has the middle of the lens; they fill its disc evenly, with any number of them.
    """
    index = sample.index % PERIOD if sample.moving else sample.index
    radius, turn, right, up = (_radical_inverse(index + 1, base) for base in BASES)
    focus = focus_distance(view, camera)
    length = 0.0 if camera.orthographic or sample.moving else 0.5 * view.aperture * focus * math.sqrt(radius)
    offset = length * math.cos(math.tau * turn), length * math.sin(math.tau * turn)
    jitter = 2.0 * (right - 0.5) / height, 2.0 * (up - 0.5) / height
    return replace(camera, lens=Lens(*offset, focus, *jitter))


def _radical_inverse(index: int, base: int) -> float:
    """The digits of a number in a base, mirrored at the point: evenly distributed from 0 to 1 (van der Corput)."""
    found, weight = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        found += digit * weight
        weight /= base
    return found
