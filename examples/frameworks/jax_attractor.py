"""A function compiled by JAX moves points, which are copied once, on the GPU where memory is shared with CUDA."""

import jax
import jax.numpy as jnp

import vertigrad as vg

COUNT = 50_000


def velocity(p: jax.Array) -> jax.Array:
    """Halvorsen's attractor: velocities (n, 3) at positions (n, 3)."""
    q, r = jnp.roll(p, -1, axis=1), jnp.roll(p, -2, axis=1)
    return -1.4 * p - 4.0 * q - 4.0 * r - q * q


@jax.jit
def step(p: jax.Array, dt: float) -> tuple[jax.Array, jax.Array]:
    """A step of the midpoint method, and speeds."""
    v = velocity(p + 0.5 * dt * velocity(p))
    return p + dt * v, jnp.linalg.norm(v, axis=1)


state = jax.random.normal(jax.random.PRNGKey(0), (COUNT, 3)) - 2.0
viewer = vg.Viewer("Halvorsen's attractor, by JAX")
cloud = viewer.marks(
    "cloud",
    position=vg.Tensor.empty((COUNT, 3), "f32", shared=True).fill_(0),
    color=vg.Tensor.empty((COUNT,), "f32", shared=True).fill_(0),
    size=0.02,
    range=(0.0, 60.0),
)
pace = viewer.slider("pace", 0.3, min=0.0, max=1.0)
viewer.camera(position=(10, 12, 16), target=(-2, -2, -2))
for frame in viewer.frames():
    state, speed = step(state, pace.value * frame.dt)
    cloud.position[...] = vg.from_dlpack(state)  # JAX's arrays are constants: one copy, on the GPU where there is CUDA
    cloud.color[...] = vg.from_dlpack(speed)
