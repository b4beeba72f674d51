"""`Nozzle`: a fluid pumped from all over itself to where the tool emits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...gpu import Kernel
from ..interaction import Interaction
from ..parts import Parts
from .fluid_start import Start

SHADER = "models/fluid_pour.wgsl"
SPEED = 2.0  # m/s, at which it comes out of a nozzle of strength 1
MOST = 0.01  # of all particles, in one layer
SCATTER = 7919  # a prime: which particles are taken changes from layer to layer


class Nozzle:
    """Puts out one layer of particles after the other: each as soon as the last has moved on by a spacing.

    `poured` is how far the last layer has moved, in spacings, and `layers` how many there were; both belong to what a
    model's `scalar_state` contains.
    """

    def __init__(self, parts: Parts, start: Start, state: Mapping[str, Any]):
        self.poured, self.layers = 0.0, 0
        self._start, self._most = start, max(1, int(MOST * start.count))
        fixed: dict[str, Any] = {"count": start.count, "spacing": start.spacing}
        self._plan = parts.plan("pour")
        self._plan.dispatch(Kernel.load(SHADER), self._most, tank_low=start.low, tank_high=start.high, **fixed, **state)

    def pour(self, interaction: Interaction, time_step: float) -> None:
        """Record what comes out in a step of `time_step` seconds, if it is time for a layer."""
        speed, spacing = SPEED * max(interaction.strength, 0.1), self._start.spacing
        self.poured += speed * time_step / spacing
        if self.poured < 1.0:
            return
        self.poured = min(self.poured - 1.0, 1.0)
        self.layers += 1
        layer = min(max(1, int(math.pi * (interaction.radius / spacing) ** 2)), self._most)
        stride = self._start.count // layer
        velocity = tuple(speed * along for along in interaction.direction)
        first = self.layers * SCATTER % stride
        nozzle = interaction.inside(self._start.low, self._start.high)  # what is under the mouse may be behind the tank
        self._plan.replay(layer=layer, first=first, stride=stride, nozzle=nozzle, velocity=velocity)
