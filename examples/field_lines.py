"""Streamlines of the field of two charges, which handles in the viewport move."""

import numpy as np

import vertigrad as vg

SIDE = 28
line = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1  # centers of cells in a box from -1 to 1
z, y, x = np.meshgrid(line, line, line, indexing="ij")
grid = np.stack([x, y, z], axis=-1)
random = np.random.default_rng(1)
around = random.normal(size=(90, 3))
around /= np.linalg.norm(around, axis=1, keepdims=True)


def field(charges: dict[tuple[float, ...], float]) -> np.ndarray:
    """Electric field (SIDE, SIDE, SIDE, 3) of point charges, softened near them."""
    total = np.zeros_like(grid)
    for position, charge in charges.items():
        off = grid - np.array(position)
        total += charge * off / (np.sum(off**2, axis=-1, keepdims=True) + 0.01) ** 1.5
    return total


viewer = vg.Viewer("Field lines")
plus = viewer.vector("plus", (-0.4, 0.05, 0.0), gizmo=True, min=-0.9, max=0.9)
minus = viewer.vector("minus", (0.4, -0.05, 0.0), gizmo=True, min=-0.9, max=0.9)
strength = viewer.slider("strength", -1.0, min=-2.0, max=2.0, doc="of the second charge, relative to the first")
viewer.gizmo(plus)  # the button at "minus" shows the other handles
lines = viewer.streamlines(
    "lines", vectors=np.ones_like(grid), seeds=around, length=2.5, width=0.008, direction="forward", colormap="batlow"
)
charges = viewer.points("charges", position=np.zeros((2, 3)), color=[[0.9, 0.35, 0.25], [0.3, 0.5, 0.95]], size=0.06)
viewer.camera(position=(0.9, 1.1, 2.6))

shown = None
for _ in viewer.frames():
    chosen = plus.value, minus.value, strength.value
    if chosen != shown:
        shown = chosen
        lines.set(
            vectors=field({plus.value: 1.0, minus.value: strength.value}), seeds=0.1 * around + np.array(plus.value)
        )
        charges.position = np.array([plus.value, minus.value])
