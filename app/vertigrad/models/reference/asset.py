"""Animation, skinning and morphing of assets in NumPy: the reference of shaders/models/asset.wgsl, in float64.

By the glTF 2.0 specification, sections 3.7 (skins and morph targets) and 3.11 and Appendix C (interpolation).
"""

from __future__ import annotations

import numpy as np

from ..data.assets.content import CUBIC, NONE, POSE, STEP, Asset, Channel, Clip, Skeleton


def pose(asset: Asset, clip: Clip | None, time: float) -> np.ndarray:
    """The poses of all nodes and the weights of morph targets at `time` [s] of a clip; at rest without one."""
    found = asset.skeleton.rest.astype(np.float64)
    for row in asset.motion.channels[clip.first : clip.first + clip.count] if clip else ():
        channel = Channel(*map(int, row))
        found[channel.target : channel.target + channel.width] = _sample(asset, channel, time)
    return found


def _sample(asset: Asset, channel: Channel, time: float) -> np.ndarray:
    keys = asset.motion.keys[channel.first_key : channel.first_key + channel.keys].astype(np.float64)
    each = 3 if channel.interpolation == CUBIC else 1
    end = channel.first_value + channel.keys * channel.width * each
    values = asset.motion.values[channel.first_value : end].astype(np.float64).reshape(-1, each, channel.width)
    time = min(max(time, keys[0]), keys[-1])
    at = int(np.clip(np.searchsorted(keys, time, side="right") - 1, 0, max(channel.keys - 2, 0)))
    if channel.keys == 1:
        return values[0, each // 2]
    span = keys[at + 1] - keys[at]
    part = (time - keys[at]) / span
    one, other = values[at], values[at + 1]
    if channel.interpolation == STEP:
        return other[0] if part >= 1.0 else one[0]
    if channel.interpolation == CUBIC:
        found = _hermite(one[1], one[2] * span, other[1], other[0] * span, part)
    elif channel.rotates:
        found = _slerp(one[0], other[0], part)
    else:
        found = one[0] + part * (other[0] - one[0])
    return found / max(float(np.linalg.norm(found)), 1e-20) if channel.rotates else found


def _hermite(start: np.ndarray, leaving: np.ndarray, end: np.ndarray, arriving: np.ndarray, t: float) -> np.ndarray:
    t2, t3 = t * t, t * t * t
    return (2 * t3 - 3 * t2 + 1) * start + (t3 - 2 * t2 + t) * leaving + (3 * t2 - 2 * t3) * end + (t3 - t2) * arriving


def _slerp(one: np.ndarray, other: np.ndarray, t: float) -> np.ndarray:
    cosine = float(one @ other)
    other, cosine = (-other, -cosine) if cosine < 0 else (other, cosine)
    if cosine > 0.9995:
        return one + t * (other - one)
    angle = np.arccos(cosine)
    return (np.sin((1 - t) * angle) * one + np.sin(t * angle) * other) / np.sin(angle)


def palette(skeleton: Skeleton, pose: np.ndarray) -> np.ndarray:
    """The matrices (p, 3, 4) that the parts need."""
    count = len(skeleton.parents)
    poses = pose[: count * POSE].reshape(count, POSE)
    local = product(skeleton.fixed.reshape(count, 3, 4), _matrices(poses))
    world = np.empty_like(local)
    for node, parent in enumerate(skeleton.parents):  # parents come first
        world[node] = local[node] if parent == NONE else product(world[parent], local[node])
    return product(world[skeleton.nodes], skeleton.binds.reshape(-1, 3, 4))


def product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of matrices (..., 3, 4), whose last row is 0 0 0 1."""
    found = one[..., :3] @ other
    found[..., 3] += one[..., 3]
    return found


def _matrices(poses: np.ndarray) -> np.ndarray:
    x, y, z, w = poses[:, 3:7].T
    columns = [
        [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
        [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
        [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
    ]
    turn = np.array(columns).transpose(2, 1, 0)
    return np.concatenate([turn * poses[:, None, 7:10], poses[:, :3, None]], axis=2)


def vertices(asset: Asset, clip: Clip | None = None, time: float = 0.0) -> np.ndarray:
    """Positions, normals, tangents and their handedness in the scene, (n, 10)."""
    at_time = pose(asset, clip, time)
    matrices = palette(asset.skeleton, at_time)
    found = np.empty((len(asset.vertices), 10))
    for palette_first, sets, influences, first, count, deltas, targets, weights in asset.parts.astype(np.int64):
        rows = asset.vertices[first : first + count].astype(np.float64)
        for target in range(targets):
            start = deltas + target * count
            rows[:, :9] += at_time[weights + target] * asset.deltas[start : start + count]
        matrix = matrices[palette_first][None]
        if sets:
            words = asset.influences[influences : influences + count * sets * 8].reshape(count, sets, 2, 4)
            joints, shares = words[:, :, 0].reshape(count, -1), words[:, :, 1].copy().view(np.float32)
            matrix = np.einsum("nk,nkij->nij", shares.reshape(count, -1), matrices[palette_first + joints])
        found[first : first + count] = _transformed(rows, matrix)
    return found


def _transformed(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Vertices moved by matrices (1 or n, 3, 4); normals by the inverse transpose."""
    linear = matrix[:, :, :3]
    a, b, c = np.moveaxis(linear, 2, 0)
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=2)
    sign = np.where(np.einsum("ni,ni->n", a, cofactors[:, :, 0]) < 0.0, -1.0, 1.0)[:, None]
    position = _applied(linear, rows[:, 0:3]) + matrix[:, :, 3]
    normal = _applied(cofactors, rows[:, 3:6]) * sign
    tangent = _applied(linear, rows[:, 6:9])
    return np.concatenate([position, _unit(normal), _unit(tangent), rows[:, 9:10] * sign], axis=1)


def _applied(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    if len(matrix) == 1:
        return vectors @ matrix[0].T
    return np.einsum("nij,nj->ni", matrix, vectors)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 1e-20, vectors / np.maximum(length, 1e-20), 0.0)
