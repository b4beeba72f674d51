"""A kernel of NVIDIA Warp moves grains in the vertex buffer itself, where there is CUDA."""

import numpy as np
import warp as wp

import vertigrad as vg

COUNT = 60_000


@wp.kernel
def fall(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), dt: float, swirl: float):
    """Gravity, a vortex, and a floor from which grains bounce."""
    i = wp.tid()
    p = position[i]
    v = velocity[i]
    w = v + dt * (wp.vec3(-p[0], -2.0, -p[2]) + swirl * wp.vec3(-p[2], 0.0, p[0]) - 0.3 * v)
    q = p + dt * w
    if q[1] < 0.0:
        position[i] = wp.vec3(q[0], -q[1], q[2])
        velocity[i] = wp.vec3(w[0], -0.9 * w[1], w[2])
    else:
        position[i] = q
        velocity[i] = w


wp.config.quiet = True
wp.init()
random = np.random.default_rng(0)
start = random.normal(0.0, 0.8, (COUNT, 3)).astype(np.float32) + np.float32([0, 1.5, 0])
points = vg.Tensor.empty((COUNT, 3), "f32", shared=True)
points[...] = start
view = wp.from_dlpack(points, dtype=wp.vec3)  # the same memory where there is CUDA, elsewhere a copy on the host
velocity = wp.zeros(COUNT, dtype=wp.vec3, device=view.device)

viewer = vg.Viewer("Grains, by Warp")
viewer.points("grains", position=points, size=0.006, color="#d9a441")
swirl = viewer.slider("swirl", 2.0, min=0.0, max=6.0)
viewer.camera(position=(2.2, 1.8, 3.0), target=(0, 0.6, 0))
for frame in viewer.frames():
    wp.launch(fall, COUNT, [view, velocity, frame.dt, swirl.value], device=view.device)
    if not view.device.is_cuda:
        points[...] = vg.from_dlpack(view)
