"""The splats of `SplatPhotos` in NumPy, float64: their image, and how it changes with what is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..data.splat_formats.harmonics import basis
from .splat_fit import axes_of

LEAST, MOST, END = 1.0 / 255.0, 0.99, 1e-4
BLUR, ASIDE, FIRST_HARMONIC = 0.3, 1.3, 0.28209479177387814
STEP = 1e-6  # of central differences


class Eye(NamedTuple):
    """`camera` (4, 4) as shaders/models/splat_photos_project.wgsl has it, rows and columns of pixels, the depth below
    which nothing is visible, and the background (3,), sRGB.
    """

    camera: np.ndarray
    rows: int
    columns: int
    near: float
    background: np.ndarray


class _Flat(NamedTuple):
    """Middles (n, 2) [pixels], inverse covariances (n, 2, 2), opacities, colors and depths."""

    middle: np.ndarray
    inverse: np.ndarray
    opacity: np.ndarray
    color: np.ndarray
    depth: np.ndarray


def image(learned: Mapping[str, np.ndarray], eye: Eye, degree: int) -> np.ndarray:
    """The image (rows, columns, 3), sRGB, of splats with the harmonics up to `degree`."""
    flat = _flattened(learned, eye, degree)
    return _blended(flat, eye, _covers(flat, eye))


def slopes(
    learned: Mapping[str, np.ndarray],
    directions: Sequence[Mapping[str, np.ndarray]],
    eye: Eye,
    degree: int,
    weights: np.ndarray,
) -> list[float]:
    """The derivatives of the sum of the image times `weights` as what is trained moves along each of `directions`.

    By central differences, with the order of the splats, and which of them are visible in each pixel, held: these are
    constants in backpropagation.
    """
    covers = _covers(_flattened(learned, eye, degree), eye)

    def value(direction: Mapping[str, np.ndarray], step: float) -> float:
        moved = {name: array + step * direction.get(name, 0.0) for name, array in learned.items()}
        return float(np.sum(weights * _blended(_flattened(moved, eye, degree), eye, covers)))

    return [(value(one, STEP) - value(one, -STEP)) / (2.0 * STEP) for one in directions]


def _flattened(learned: Mapping[str, np.ndarray], eye: Eye, degree: int) -> _Flat:
    position, focal = learned["position"], eye.camera[3, :2]
    turn, away = eye.camera[:3, :3], eye.camera[:3, 3]
    in_view = position @ turn.T + away
    depth = in_view[:, 2]
    slopes = in_view[:, :2] / depth[:, None]
    reach = ASIDE * 0.5 * np.array([eye.columns, eye.rows]) / focal
    bent = np.clip(slopes, -reach, reach)
    axes = turn @ axes_of(learned["rotation"]) * np.exp(learned["scale"])[:, None, :]
    flat = (focal / depth[:, None])[:, :, None] * (axes[:, :2] - bent[:, :, None] * axes[:, 2:])
    covariance = flat @ flat.transpose(0, 2, 1) + BLUR * np.eye(2)
    sight = position + turn.T @ away
    color = 0.5 + FIRST_HARMONIC * learned["color"]
    if degree and "harmonics" in learned:
        weights = basis(sight / np.linalg.norm(sight, axis=1, keepdims=True), degree)
        count = weights.shape[1]
        coefficients = learned["harmonics"].reshape(len(position), -1, 3)[:, :count]
        color = color + np.einsum("nk,nkc->nc", weights, coefficients)
    opacity = 1.0 / (1.0 + np.exp(-learned["opacity"]))
    middle = focal * slopes + eye.camera[3, 2:]
    return _Flat(middle, np.linalg.inv(covariance), opacity, np.maximum(color, 0.0), depth)


def _alphas(flat: _Flat, i: int, eye: Eye) -> np.ndarray:
    x = np.arange(eye.columns) + 0.5 - flat.middle[i, 0]
    y = (np.arange(eye.rows) + 0.5 - flat.middle[i, 1])[:, None]
    (xx, xy), (_, yy) = flat.inverse[i]
    return flat.opacity[i] * np.exp(-0.5 * (xx * x * x + yy * y * y) - xy * y * x)


def _covers(flat: _Flat, eye: Eye) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """The splats by depth, in which pixels each is visible, and in which its alpha is at the limit."""
    found, through = [], np.ones((eye.rows, eye.columns))
    order = np.flatnonzero((flat.depth > eye.near) & (flat.opacity > LEAST))
    for i in order[np.argsort(flat.depth[order], kind="stable")]:
        raw = _alphas(flat, i, eye)
        after = through * (1.0 - np.minimum(raw, MOST))
        ends = (raw >= LEAST) & (after < END)
        visible = (raw >= LEAST) & (after >= END) & (through > 0.0)
        through = np.where(ends, 0.0, np.where(visible, after, through))
        found.append((int(i), visible, raw > MOST))
    return found


def _blended(flat: _Flat, eye: Eye, covers: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
    light, through = np.zeros((eye.rows, eye.columns, 3)), np.ones((eye.rows, eye.columns))
    for i, visible, is_held in covers:
        alpha = np.where(visible, np.where(is_held, MOST, _alphas(flat, i, eye)), 0.0)
        light += (through * alpha)[..., None] * flat.color[i]
        through = through * (1.0 - alpha)
    return light + through[..., None] * eye.background
