"""What facets reflect of light from everywhere, for shaders/common/trace_material.wgsl."""

from __future__ import annotations

from functools import cache

import numpy as np

SIDE = 32
SAMPLES = 32  # along each of two axes
NARROWEST = 0.005  # of a GGX distribution, as in shaders/common/material.wgsl


@cache
def table() -> np.ndarray:
    """By roughness and facing, each from 0 to 1: for each unit of f0, and in addition; f32 (32, 32, 2).

    The split sum of Karis 2013, "Real Shading in Unreal Engine 4": GGX with height-correlated Smith visibility,
    integrated over visible facets (Heitz 2018), so that it converges also where they are narrow and seen edge-on.
    """
    steps = (np.arange(SAMPLES) + 0.5) / SAMPLES
    u, v = (axis.reshape(-1) for axis in np.meshgrid(steps, steps))
    facing = np.maximum(np.linspace(0.0, 1.0, SIDE), 1e-3)
    widths = np.maximum(np.linspace(0.0, 1.0, SIDE) ** 2, NARROWEST)
    return np.stack([_reflected(width, facing, u, v) for width in widths]).astype(np.float32)


def _reflected(width: float, facing: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """For each of `facing` (n,) the two numbers, (n, 2)."""
    w2, eye = width * width, np.stack([np.sqrt(1.0 - facing**2), np.zeros_like(facing), facing], axis=1)
    facet = _visible_facets(width, eye, u, v)
    across = np.maximum(np.einsum("nsi,ni->ns", facet, eye), 0.0)
    facing = facing[:, None]
    toward = 2.0 * across * facet[..., 2] - facing
    lit = toward > 0.0
    toward = np.where(lit, toward, 1.0)
    before = np.sqrt(facing**2 * (1.0 - w2) + w2)
    after = np.sqrt(toward**2 * (1.0 - w2) + w2)
    # What passes both ways for each that passes one way: G2 / G1.
    passed = np.where(lit, toward * (facing + before) / (toward * before + facing * after), 0.0)
    fresnel = (1.0 - across) ** 5
    return np.stack([(passed * (1.0 - fresnel)).mean(axis=1), (passed * fresnel).mean(axis=1)], axis=1)


def _visible_facets(width: float, eye: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Normals (n, s, 3) of facets as often as each of `eye` (n, 3) sees them, by two numbers (s,) from 0 to 1."""
    view = eye * (width, 1.0, 1.0)
    view /= np.linalg.norm(view, axis=1, keepdims=True)
    radius, angle = np.sqrt(u), 2.0 * np.pi * v
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    height = 0.5 * (1.0 + view[:, 2:])
    y = (1.0 - height) * np.sqrt(np.maximum(1.0 - x * x, 0.0)) + height * y
    z = np.sqrt(np.maximum(1.0 - x * x - y * y, 0.0))
    # Two axes across the view: y, and one in the plane of x and z.
    along_x = -view[:, 2:] * y + view[:, :1] * z
    along_z = view[:, :1] * y + view[:, 2:] * z
    facet = np.stack([width * along_x, np.broadcast_to(width * x, along_x.shape), np.maximum(along_z, 0.0)], axis=2)
    return facet / np.linalg.norm(facet, axis=2, keepdims=True)
