"""Waves on a pond, computed with NumPy. Each frame uploads the heights; drops fall where the slider says."""

import numpy as np

import vertigrad as vg

SIZE = 160
x, z = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE))
height, rising = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
random = np.random.default_rng(0)

viewer = vg.Viewer("Pond")
pond = viewer.surface("pond", position=np.stack([x, height, z], axis=-1), color=(0.1, 0.35, 0.5), roughness=0.15)
speed = viewer.slider("speed", 0.4, min=0.1, max=0.6, doc="of the waves, in cells per step")
drops = viewer.slider("drops", 0.05, min=0.0, max=0.3, doc="chance of a drop in each step")
damping = viewer.slider("damping", 0.004, min=0.0, max=0.05)
viewer.camera(position=(0, 1.4, 2.2))

for step in viewer.frames():
    if step.dt == 0.0:  # the user has paused
        continue
    if step.number == 0 or random.random() < drops.value:
        at = random.uniform(-0.9, 0.9, 2)
        height -= 0.2 * np.exp(-200 * ((x - at[0]) ** 2 + (z - at[1]) ** 2))
    for _ in range(2):
        padded = np.pad(height, 1, mode="edge")
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        rising += speed.value**2 * (around - 4 * height)
        rising *= 1 - damping.value
        height += rising
    pond.position = np.stack([x, height, z], axis=-1)
