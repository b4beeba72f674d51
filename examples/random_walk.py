"""A million random walkers in a NumPy loop; their mean squared displacement is plotted with 6Dt."""

import numpy as np

import vertigrad as vg

COUNT = 1_000_000
random = np.random.default_rng(0)
sources = np.float32([[-0.5, -0.3, 0], [0.5, -0.3, 0], [0, 0.55, 0]])
kind = np.arange(COUNT) % 3
start = sources[kind]
position = start.copy()
color = np.array([[0.95, 0.4, 0.3], [0.35, 0.8, 0.5], [0.35, 0.55, 0.95]])[kind]

viewer = vg.Viewer("Random walk")
walkers = viewer.marks("walkers", position=position, color=color, shape="pixel")
diffusion = viewer.slider("D", 0.1, min=0.001, max=0.5, scale="log", unit="m²/s", doc="diffusion coefficient")
drift = viewer.slider("drift", 0.0, min=-1.0, max=1.0, unit="m/s", doc="velocity along x")
spread = viewer.plot("mean squared displacement", x_unit="s", unit="m²")
again = viewer.button("Begin again", doc="all walkers back to their sources")
viewer.camera(position=(0, 0, 3.5))

time = 0.0
for step in viewer.frames():
    if again.clicked:
        position[:], time = start, 0.0
        spread.clear()
    time += step.dt
    position += np.sqrt(2 * diffusion.value * step.dt) * random.standard_normal(position.shape, np.float32)
    position[:, 0] += drift.value * step.dt
    walkers.position = position
    if step.number % 5 == 0:
        squared = np.mean(np.sum((position - start)[:10_000] ** 2, axis=1))
        spread.append(measured=squared, theory=6 * diffusion.value * time, x=time)
