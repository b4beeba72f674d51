"""Gaussian splats by the published formulas, in float64: Kerbl et al. 2023, with the projection of Zwicker et al. 2001.

Front to back, pixel by pixel, with the constants of the reference implementation: variance 0.3 pixels² added on the
screen, alpha at most 0.99 and not blended below 1/255, and an end at a transmittance of 1e-4.
"""

from __future__ import annotations

import numpy as np
from scipy.special import sph_harm_y

BLUR, MOST, LEAST, END, ASIDE = 0.3, 0.99, 1 / 255, 1e-4, 1.3


def view_dependent(colors, harmonics, directions):
    """Colors (n, 3) with harmonics (n, 3 k) of degree 1 and above, seen along unit vectors (n, 3)."""
    x, y, z = directions.T
    polar, azimuth = np.arccos(np.clip(z, -1, 1)), np.arctan2(y, x)
    found = np.array(colors, float)
    degree = int(np.sqrt(harmonics.shape[1] // 3 + 1)) - 1
    orders = [(n, m) for n in range(1, degree + 1) for m in range(-n, n + 1)]
    for (n, m), part in zip(orders, np.split(harmonics, len(orders), axis=1) if orders else [], strict=True):
        wave = sph_harm_y(n, abs(m), polar, azimuth)
        real = wave.real if m == 0 else np.sqrt(2) * (wave.imag if m < 0 else wave.real)
        found += real[:, None] * part
    return np.maximum(found, 0)


def turns(q):
    """Matrices (n, 3, 3) of quaternions x, y, z, w."""
    x, y, z, w = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def projected(camera, size, position, scale, rotation):
    """Centers on the screen [pixels], their covariances [pixels²] and depths, by the Jacobian at the center."""
    width, height = size
    view, focal = camera.view(), 1 / camera.pixel(height)
    x, y, z = (position @ view[:3, :3].T + view[:3, 3]).T
    depth = -z
    side, up = (ASIDE * 0.5 * count / focal for count in size)
    slope, rise = np.clip(x / depth, -side, side), np.clip(y / depth, -up, up)
    zero = np.zeros_like(depth)
    jacobian = np.array([[focal / depth, zero, focal * slope / depth], [zero, -focal / depth, -focal * rise / depth]])
    axes = view[:3, :3] @ turns(rotation) * scale[:, None, :]
    flat = np.moveaxis(jacobian, -1, 0) @ axes
    centers = np.stack([0.5 * width + focal * x / depth, 0.5 * height - focal * y / depth], axis=1)
    return centers, flat @ np.swapaxes(flat, 1, 2) + BLUR * np.eye(2), depth


def image(camera, size, splats, solid=None):
    """The colors (h, w, 3), sRGB, premultiplied, and the transmittance (h, w); `solid` (h, w) are depths that hide."""
    width, height = size
    arrays = {name: np.asarray(array, float) for name, array in splats.items()}
    position = arrays["position"]
    centers, covariances, depth = projected(camera, size, position, arrays["scale"], arrays["rotation"])
    eye = np.linalg.inv(camera.view())[:3, 3]
    sight = (position - eye) / np.linalg.norm(position - eye, axis=1, keepdims=True)
    colors = view_dependent(arrays["color"], arrays.get("harmonics", np.empty((len(sight), 0))), sight)
    pixels = np.stack(np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5), axis=-1)
    shown, left, going = np.zeros((height, width, 3)), np.ones((height, width)), np.ones((height, width), bool)
    for row in np.argsort(depth, kind="stable"):
        if depth[row] <= camera.near:
            continue
        offset = pixels - centers[row]
        power = np.einsum("...i,ij,...j", offset, np.linalg.inv(covariances[row]), offset)
        alpha = np.minimum(MOST, arrays["opacity"][row] * np.exp(-0.5 * power))
        alpha = np.where(alpha < LEAST, 0.0, alpha)
        if solid is not None:
            alpha = np.where(depth[row] < solid, alpha, 0.0)
        going &= left * (1 - alpha) >= END
        alpha = np.where(going, alpha, 0.0)
        shown += (left * alpha)[..., None] * colors[row]
        left = left * (1 - alpha)
    return shown, left
