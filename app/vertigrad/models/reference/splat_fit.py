"""The splats of `SplatFit` in NumPy, float64: their image, and the gradients by what they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST, MOST, OPAQUE = 1.0 / 255.0, 0.99, 1e-4  # alpha that is not visible, alpha at most, too little to continue
BLUR, REACH = 1.0 / 12.0, 1.3


class Eye(NamedTuple):
    """A camera's rows (3, 4), pixels along each side, focal length [pixels], what is too near, and what is behind all:
    a linear color (3,).
    """

    rows: np.ndarray
    side: int
    focal: float
    near: float
    background: np.ndarray


class Flat(NamedTuple):
    """Splats as a camera sees them: `middle` (n, 2) [pixels], `covariance` (n, 2, 2) [pixels²], and the `order`
    of those that are visible, the nearest first; and what the backward pass needs: positions in view space (n, 3), axes
    on the image (n, 2, 3), in the camera's space (n, 3, 3) and in the world (n, 3, 3), columns being axes.
    """

    middle: np.ndarray
    covariance: np.ndarray
    order: np.ndarray
    view_position: np.ndarray
    axes: np.ndarray
    turned: np.ndarray
    world: np.ndarray


def axes_of(rotation: np.ndarray) -> np.ndarray:
    """The axes (n, 3, 3), in columns, that quaternions x, y, z, w (n, 4) of any length turn to."""
    x, y, z, w = (rotation / np.linalg.norm(rotation, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def flattened(splats: list[np.ndarray], eye: Eye) -> Flat:
    """Position, scale, rotation, opacity and light as an eye sees them."""
    position, scale, rotation, opacity, _ = splats
    turn = eye.rows[:, :3]
    view_position = position @ turn.T + eye.rows[:, 3]
    z = view_position[:, 2]
    slope = view_position[:, :2] / z[:, None]
    world = axes_of(rotation)
    turned = turn @ world * scale[:, None, :]
    axes = (eye.focal / z)[:, None, None] * (turned[:, :2] - slope[:, :, None] * turned[:, 2:])
    covariance = axes @ axes.transpose(0, 2, 1) + BLUR * np.eye(2)
    is_outside = (np.abs(slope) >= REACH * 0.5 * eye.side / eye.focal).any(1)
    order = np.flatnonzero((z > eye.near) & ~is_outside & (opacity > LEAST))
    order = order[np.argsort(z[order], kind="stable")]
    return Flat(eye.focal * slope + 0.5 * eye.side, covariance, order, view_position, axes, turned, world)


def image(splats: list[np.ndarray], eye: Eye) -> np.ndarray:
    """The image (side, side, 3), linear: one ellipse after the other, the nearest first."""
    return _blended(flattened(splats, eye), splats, eye)[0]


def _blended(flat: Flat, splats: list[np.ndarray], eye: Eye) -> tuple[np.ndarray, np.ndarray, list[tuple]]:
    """The image, the transmittance (side, side), and of each ellipse its box, offsets, alpha and whether it is
    held there at the most.
    """
    side, steps = eye.side, []
    image, through = np.zeros((side, side, 3)), np.ones((side, side))
    for i in flat.order:
        box, away = _box(flat, splats, i, side)
        inverse = np.linalg.inv(flat.covariance[i])
        raw = splats[3][i] * np.exp(-0.5 * np.einsum("yxi,ij,yxj->yx", away, inverse, away))
        alpha = np.where((raw >= LEAST) & (through[box] > OPAQUE), np.minimum(raw, MOST), 0.0)
        image[box] += (through[box] * alpha)[..., None] * splats[4][i]
        through[box] = through[box] * (1.0 - alpha)
        steps.append((i, box, away, inverse, alpha, raw > MOST))
    return image + through[..., None] * eye.background, through, steps


def _box(flat: Flat, splats: list[np.ndarray], i: int, side: int) -> tuple[tuple[slice, slice], np.ndarray]:
    """The pixels that ellipse i can reach, and their offsets from its middle (rows, columns, 2)."""
    reach = np.sqrt(2.0 * np.log(splats[3][i] / LEAST) * np.diagonal(flat.covariance[i])) + 1.0
    low = np.clip(np.floor(flat.middle[i] - reach), 0, side).astype(int)
    high = np.clip(np.ceil(flat.middle[i] + reach), 0, side).astype(int)
    x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
    return (slice(low[1], high[1]), slice(low[0], high[0])), np.stack([x, y], axis=-1) - flat.middle[i]


def gradients(gradient: np.ndarray, splats: list[np.ndarray], eye: Eye) -> list[np.ndarray]:
    """The gradients by all five arrays of `splats` from that by the image (side, side, 3)."""
    flat = flattened(splats, eye)
    _, through, steps = _blended(flat, splats, eye)
    count = len(splats[0])
    by_middle, by_covariance = np.zeros((count, 2)), np.zeros((count, 2, 2))
    by_opacity, by_light = np.zeros(count), np.zeros((count, 3))
    behind = through[..., None] * eye.background  # light from behind an ellipse, from the farthest to the nearest
    for i, box, away, inverse, alpha, held in reversed(steps):
        before = through[box] / (1.0 - alpha)
        own = np.einsum("yxc,yx,yxc->yx", gradient[box], before, np.broadcast_to(splats[4][i], gradient[box].shape))
        by_alpha = own - np.einsum("yxc,yxc->yx", gradient[box], behind[box]) / (1.0 - alpha)
        by_light[i] = np.einsum("yxc,yx->c", gradient[box], before * alpha)
        by_power = np.where(held, 0.0, by_alpha * alpha)
        by_opacity[i] = by_power.sum() / splats[3][i]
        by_middle[i] = inverse @ np.einsum("yx,yxi->i", by_power, away)
        by_covariance[i] = 0.5 * inverse @ np.einsum("yx,yxi,yxj->ij", by_power, away, away) @ inverse
        behind[box] = behind[box] + (before * alpha)[..., None] * splats[4][i]
        through[box] = before
    by_position, by_scale, by_rotation = _unprojected(flat, splats, eye, by_middle, by_covariance)
    return [by_position, by_scale, by_rotation, by_opacity, by_light]


def _unprojected(
    flat: Flat, splats: list[np.ndarray], eye: Eye, by_middle: np.ndarray, by_covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By positions, scales and rotations from what is known by middles (n, 2) and covariances (n, 2, 2)."""
    z, scale = flat.view_position[:, 2], splats[1]
    slope, size = flat.view_position[:, :2] / z[:, None], eye.focal / z
    by_axes = 2.0 * by_covariance @ flat.axes
    by_slope = eye.focal * by_middle - size[:, None] * np.einsum("nik,nk->ni", by_axes, flat.turned[:, 2])
    by_size = np.einsum("nik,nik->n", by_axes, flat.axes) / size
    by_depth = -((by_slope * slope).sum(1) + by_size * size) / z
    by_position = np.concatenate([by_slope / z[:, None], by_depth[:, None]], axis=1)
    last = -np.einsum("ni,nik->nk", slope, by_axes)
    by_turned = size[:, None, None] * np.concatenate([by_axes, last[:, None]], axis=1)
    by_world = eye.rows[:, :3].T @ by_turned
    by_scale = np.einsum("nij,nij->nj", by_world, flat.world)
    return by_position @ eye.rows[:, :3], by_scale, _by_rotation(splats[2], by_world * scale[:, None, :])


def _by_rotation(rotation: np.ndarray, by_axes: np.ndarray) -> np.ndarray:
    """By quaternions, from the gradient by the axes (n, 3, 3): R = 1 + 2 w [v] + 2 [v]² of the unit quaternion v, w."""
    length = np.linalg.norm(rotation, axis=1, keepdims=True)
    unit = rotation / length
    v, w = unit[:, :3], unit[:, 3]
    crosses = np.zeros((3, 3, 3))  # crosses[k] is the matrix of the product with axis k
    for k in range(3):
        crosses[k, (k + 2) % 3, (k + 1) % 3], crosses[k, (k + 1) % 3, (k + 2) % 3] = 1.0, -1.0
    cross = np.einsum("nk,kij->nij", v, crosses)
    by_w = 2.0 * np.einsum("nij,nij->n", by_axes, cross)
    by_v = [
        2.0 * np.einsum("nij,nij->n", by_axes, w[:, None, None] * one + one @ cross + cross @ one) for one in crosses
    ]
    by_unit = np.stack([*by_v, by_w], axis=1)
    return (by_unit - unit * (unit * by_unit).sum(1, keepdims=True)) / length
