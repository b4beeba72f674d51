"""`Stages`: the plans of a program. Where a shape depends on numbers of the GPU, they are read between two plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from ..gpu import Plan
from ..tensor import Tensor


class Decision(NamedTuple):
    """Numbers of the GPU that the rest of a program was recorded for; `node` needed them."""

    node: str
    tensor: Tensor
    numbers: np.ndarray


class Stages:
    """Plans that are replayed one after another; after each but the last, numbers are read that decide what follows.

    `upload` fills the inputs, so that a plan can be replayed while the network is still being recorded; without it
    nothing can be read.
    """

    def __init__(self, name: str, upload: Callable[[], None] | None):
        self.name = name
        self.plans: list[Plan] = []
        self.decisions: list[Decision] = []
        self._upload = upload
        self._open = ExitStack()  # the recording of the last plan

    @property
    def can_read(self) -> bool:
        """Whether numbers of the GPU can be had before the whole network is recorded."""
        return self._upload is not None

    def __len__(self) -> int:
        return sum(len(plan) for plan in self.plans)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is called inside; if something is raised, nothing of it is left."""
        try:
            self._begin()
            yield
            self._open.close()
        except BaseException:
            self._open.__exit__(*sys.exc_info())
            self.close()
            raise

    def read(self, node: str, tensor: Tensor) -> np.ndarray:
        """The numbers of a tensor that the plans recorded so far make. Waits for the GPU."""
        self._open.close()
        if not self.decisions and self._upload is not None:
            self._upload()
        self.plans[-1].replay()
        self.decisions.append(Decision(node, tensor[...], tensor.numpy()))  # a view of its own: the caller closes his
        self._begin()
        return self.decisions[-1].numbers

    def replay(self) -> Decision | None:
        """Replay the plans; returns the first decision that these inputs change, after which nothing is replayed.

        Waits for the GPU where there are decisions.
        """
        for plan, decision in zip_longest(self.plans, self.decisions):
            plan.replay()
            if decision is not None and not np.array_equal(decision.tensor.numpy(), decision.numbers, equal_nan=True):
                return decision
        return None

    def replay_as_recorded(self) -> None:
        """Replay the plans without a look at what decided their shapes."""
        for plan in self.plans:
            plan.replay()

    def close(self) -> None:
        """Give back plans and tensors. Idempotent."""
        for plan in self.plans:
            plan.close()
        for decision in self.decisions:
            decision.tensor.close()

    def _begin(self) -> None:
        plan = Plan(self.name)
        self.plans.append(plan)
        self._open.enter_context(plan.recording())
