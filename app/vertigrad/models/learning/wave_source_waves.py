"""Waves on the GPU with a backward pass: the simulation that `WaveSource` is learned through."""

from __future__ import annotations

import numpy as np

from ... import learn, ops
from ...gpu import Kernel
from ...tensor import Tensor, f32
from ..parts import Parts

SHADER = "models/wave_source.wgsl"


class Waves:
    """Water in `side` x `side` cells, and receivers at some of them; closed with `parts`.

    `medium` (side, side, 2) contains for each cell the square of how many cells waves cross in a step, below ½, and how
    much is lost there; `receiver_cells` (receivers,) are the numbers of the cells that are heard, no two the same.

    A state is one row of numbers: heights a step ago, heights now, and what was heard at each step so far.
    """

    def __init__(self, medium: np.ndarray, receiver_cells: np.ndarray, parts: Parts):
        self.side, self.receivers = len(medium), len(receiver_cells)
        receiver_of = np.full(self.side**2, -1, np.int32)
        receiver_of[receiver_cells] = np.arange(len(receiver_cells))
        self._medium = parts.copied("medium", medium)
        self.receiver_of = parts.copied("receiver_of", receiver_of)

    @property
    def cells(self) -> int:
        """How many there are."""
        return self.side**2

    def started(self, start: Tensor, steps: int) -> Tensor:
        """The state of water at rest with the heights `start` (side, side), with room for what is heard in `steps`."""
        flat = start.reshape(-1)
        silence = ops.assign(Tensor.empty(steps * self.receivers, f32, temporary=True), 0.0)
        return ops.concatenate([flat, flat, silence])

    def stepped(self, slot: int, state: Tensor) -> Tensor:
        """The state a step later, what is heard being stored in row `slot`; gradients flow through it."""

        def forward(before: Tensor) -> Tensor:
            return self._launched("step", before, slot)

        def backward(gradient: Tensor, _: Tensor, __: Tensor) -> list[Tensor]:
            return [self._launched("step_backward", gradient, slot)]

        return learn.custom("wave step", forward, backward)(state)

    def heard(self, start: Tensor, steps: int) -> Tensor:
        """Heights (steps, receivers) that receivers hear of water that begins at rest as `start` (side, side).

        In the backward pass √steps stretches of √steps steps are recomputed, and no more states are stored at once.
        """
        state = learn.checkpointed_steps(self.stepped, steps, self.started(start, steps))
        return state[2 * self.cells :].reshape(steps, self.receivers)

    def _launched(self, entry: str, before: Tensor, slot: int) -> Tensor:
        after = Tensor.empty(before.shape, f32, temporary=True)
        slots = (before.size - 2 * self.cells) // self.receivers
        Kernel.load(SHADER, entry)(
            self.cells + slots * self.receivers,
            overwrites=("after",),
            before=before.contiguous(),
            after=after,
            medium=self._medium,
            receiver_of=self.receiver_of,
            side=self.side,
            receivers=self.receivers,
            slots=slots,
            slot=slot,
            **dict.fromkeys(("position_offset", "listener_offset", "wave_offset", "height", "lift"), 0),
        )
        return after
