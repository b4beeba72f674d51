"""The Lorenz attractor: a function as a model, whose typed arguments are sliders in the window."""

import vertigrad as vg
from vertigrad import Tensor, ops
from vertigrad.params import number

COUNT = 20_000


def rate(position: Tensor, sigma: float, rho: float, beta: float) -> Tensor:
    """Time derivatives (n, 3) of positions (n, 3) [Lorenz 1963]."""
    x, y, z = (position[:, axis] for axis in range(3))
    return ops.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], axis=1)


@vg.model(
    position=lambda random: random.normal((0, 0, 25), 3.0, (COUNT, 3)),
    speed=(COUNT,),
    drawn=(COUNT, 3),
)
def lorenz(
    position,
    speed,
    drawn,
    dt,
    sigma: float = number(10.0, min=0.0, max=30.0),
    rho: float = number(28.0, min=0.0, max=60.0, doc="at 28 the attractor is chaotic"),
    beta: float = number(8 / 3, min=0.0, max=8.0),
    pace: float = number(0.5, min=0.0, max=1.0, doc="time units per second"),
):
    """Steps of the midpoint method."""
    step = pace * dt
    middle = position + 0.5 * step * rate(position, sigma, rho, beta)
    velocity = rate(middle, sigma, rho, beta)
    position += step * velocity
    drawn[...] = 0.04 * position
    speed[...] = ops.sqrt(ops.sum(ops.square(velocity), axis=1))


viewer = vg.Viewer("Lorenz")
viewer.add_model(lorenz)
viewer.marks("cloud", position="lorenz.drawn", color="lorenz.speed", size=0.006, range=(0, 250), colorbar="speed")
viewer.camera(position=(2.2, -1.6, 1.7), target=(0, 0, 0.95), up="z")
for _ in viewer.frames():
    pass
