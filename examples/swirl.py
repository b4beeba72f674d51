"""A hundred thousand points move in the flow of a few vortices. Everything is computed and drawn on the GPU."""

import numpy as np

import vertigrad as vg
from vertigrad import Tensor, ops

COUNT, VORTICES = 100_000, 5
random = np.random.default_rng(4)
centers = random.uniform(-1, 1, (VORTICES, 2))
strengths = random.choice([-1.0, 1.0], VORTICES)
start = np.column_stack([random.uniform(-1.6, 1.6, (COUNT, 2)), np.zeros(COUNT)])
stripes = np.where(np.floor(start[:, :1] * 5) % 2 == 0, [[0.1, 0.45, 0.9]], [[1.0, 0.65, 0.2]])

viewer = vg.Viewer("Vortices")
cloud = viewer.marks("cloud", position=start, color=stripes, size=0.004)
speed = viewer.slider("speed", 0.3, min=0.0, max=2.0, doc="strength of all vortices")
core = viewer.slider("core", 0.15, min=0.02, max=0.5, doc="radius inside which a vortex turns like a solid")
viewer.camera(position=(0, 0, 4))


def velocity(position: Tensor) -> Tensor:
    """Velocities (n, 3) of the flow at positions (n, 3)."""
    found = ops.zeros_like(position)
    for center, strength in zip(centers, strengths, strict=True):
        x, y = position[:, 0] - float(center[0]), position[:, 1] - float(center[1])
        turn = (speed.value * float(strength)) / (ops.square(x) + ops.square(y) + core.value**2)
        found[:, 0] -= turn * y
        found[:, 1] += turn * x
    return found


for step in viewer.frames():  # the midpoint method: without it, points spiral outward
    middle = cloud.position + velocity(cloud.position) * (0.5 * step.dt)
    cloud.position += velocity(middle) * step.dt
