"""A strange attractor in three lines of arithmetic: a model in a Python file, as `docs/models.md` explains it."""

from vertigrad import ops
from vertigrad.models import CustomModel
from vertigrad.params import Params, integer, number


class Thomas(CustomModel):
    """Thomas' cyclically symmetric attractor, x' = sin(y) - b x and so on in a circle (Thomas 1999).

    Below b = 0.33 points settle on loops, below 0.21 on an attractor that fills more and more of space.
    """

    class Params(Params):
        count: int = integer(60_000, min=1, max=4_000_000, scale="log", rebuild=True, doc="points")
        b: float = number(0.19, min=0.0, max=1.0, slider_min=0.05, slider_max=0.33, doc="how fast all motion dies away")
        rate: float = number(4.0, min=0.0, max=20.0, unit="/s", doc="time that passes in a second")

    replayed = True  # each step does the same
    tensors = {"position": ("count", 3), "velocity": ("count", 3), "speed": ("count",)}

    def start(self, random):
        return {"position": random.uniform(-4.0, 4.0, (self.params.count, 3))}

    def advance(self, dt):
        for axis in range(3):
            self.velocity[:, axis] = ops.sin(self.position[:, (axis + 1) % 3]) - self.params.b * self.position[:, axis]
        self.position += self.params.rate * dt * self.velocity
        self.speed = ops.sqrt(ops.sum(self.velocity * self.velocity, axis=1))
