"""A kernel of Taichi turns a galaxy, through a view of PyTorch: in the vertex buffer itself, where there is CUDA."""

import numpy as np
import taichi as ti

import vertigrad as vg

COUNT = 100_000

random = np.random.default_rng(0)
radius, arm = 0.15 + random.gamma(2.0, 0.3, COUNT), random.integers(0, 2, COUNT)
angle = np.pi * arm + 3.0 * np.log(radius) + random.normal(0, 0.5, COUNT)
start = np.stack([radius * np.cos(angle), random.normal(0, 0.03, COUNT), radius * np.sin(angle)], axis=1)
points = vg.Tensor.empty((COUNT, 3), "f32", shared=True)
points[...] = start.astype(np.float32)
view = points.torch()  # the same memory where there is CUDA, elsewhere a copy on the host
ti.init(arch=ti.cuda if view.is_cuda else ti.cpu, log_level=ti.ERROR, verbose=False)


@ti.kernel
def orbit(position: ti.types.ndarray(dtype=ti.f32, ndim=2), dt: ti.f32, halo: ti.f32):
    """Circles around the y axis, at the speed of a point mass within an isothermal halo."""
    for i in range(position.shape[0]):
        x, z = position[i, 0], position[i, 2]
        r = ti.sqrt(x * x + z * z)
        turn = dt * ti.sqrt(0.2 / (r * r * r) + halo / (r * r))
        position[i, 0] = ti.cos(turn) * x - ti.sin(turn) * z
        position[i, 2] = ti.sin(turn) * x + ti.cos(turn) * z


viewer = vg.Viewer("A galaxy, by Taichi")
viewer.marks(
    "stars", position=points, size=0.004, color=radius.astype(np.float32), colormap="plasma", range=(-0.3, 2.0)
)
halo = viewer.slider("halo", 0.3, min=0.0, max=1.0)
viewer.camera(position=(1.2, 1.9, 2.4), target=(0, 0, 0))
for frame in viewer.frames():
    orbit(view, frame.dt, halo.value)
    if not view.is_cuda:
        points[...] = vg.from_dlpack(view)
