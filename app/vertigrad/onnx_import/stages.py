"""`Stages`: the plans of a program. Between two plans numbers are read that decide shapes, or units are set to zero."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import ops
from ..gpu import Computed, Plan, Traffic
from ..ops.mask import Mask
from ..tensor import Tensor


class Decision(NamedTuple):
    """Numbers of the GPU that the rest of a program was recorded for; `node` needed them."""

    node: str
    tensor: Tensor
    numbers: np.ndarray


@dataclass
class Stage:
    """A plan, and what is read after it. One with a `mask` is replayed only while that sets anything to zero."""

    plan: Plan
    mask: Mask | None = None
    decision: Decision | None = None

    @property
    def is_due(self) -> bool:
        """Whether its plan has anything to do."""
        return self.mask is None or bool(self.mask.units)


class Stages:
    """Plans that are replayed one after another.

    `upload` fills the inputs, so that a plan can be replayed while the network is still being recorded; without it
    nothing can be read.
    """

    def __init__(self, name: str, upload: Callable[[], None] | None):
        self.name = name
        self._stages: list[Stage] = []
        self._replayed = 0  # so many of them were, while the rest was being recorded
        self._upload = upload
        self._computed = Computed()
        self._factors: list[Mask] = []  # of tensors through which gradients flow
        self._open = ExitStack()  # the recording of the last plan

    @property
    def can_read(self) -> bool:
        """Whether numbers of the GPU can be had before the whole network is recorded."""
        return self._upload is not None

    @property
    def plans(self) -> list[Plan]:
        """All plans, in their order."""
        return [stage.plan for stage in self._stages]

    @property
    def decisions(self) -> list[Decision]:
        """What is read between plans."""
        return [stage.decision for stage in self._stages if stage.decision is not None]

    @property
    def masks(self) -> dict[str, Mask]:
        """The tensors of which units can be set to zero, by name."""
        found = {stage.mask.name: stage.mask for stage in self._stages if stage.mask is not None}
        return found | {mask.name: mask for mask in self._factors}

    def __len__(self) -> int:
        return sum(len(stage.plan) for stage in self._stages)

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
        for stage in self._stages[self._replayed :]:
            if stage.is_due:
                stage.plan.replay()
        self._replayed = len(self._stages)
        decision = Decision(node, tensor[...], _numbers(tensor))  # a view of its own: the caller closes his
        self._stages[-1].decision = decision
        self._begin()
        return decision.numbers

    def add_mask(self, name: str, tensor: Tensor, axis: int, units: Iterable[int]) -> None:
        """Multiply `tensor`, which the last plan computes, by a mask along `axis`, in a plan of its own.

        These `units` of it are zero to begin with. Raises `InputError` if there are none of these numbers.
        """
        self._open.close()
        mask = Mask(name, tensor.shape, tensor.dtype, axis, units)
        self._begin(mask)
        ops.multiply(tensor, mask.factors, out=tensor)
        self._open.close()
        self._begin()

    def with_mask(self, name: str, tensor: Tensor, axis: int, units: Iterable[int]) -> Tensor:
        """As `add_mask`, in the last plan: the product is a result of its own, so that gradients pass it."""
        mask = Mask(name, tensor.shape, tensor.dtype, axis, units)
        self._factors.append(mask)
        return tensor * mask.factors

    def replay(self) -> Decision | None:
        """Replay the plans; returns the first decision that these inputs change, after which nothing is replayed.

        Waits for the GPU where there are decisions.
        """
        for stage in self._stages:
            if stage.is_due:
                stage.plan.replay()
            found = stage.decision
            if found is not None and not np.array_equal(_numbers(found.tensor), found.numbers, equal_nan=True):
                return found
        return None

    def update(self) -> Decision | None:
        """As `replay`, but only if that could compute anything else than the last `update`."""
        due = [stage.plan for stage in self._stages if stage.is_due]
        if self._computed.holds(due):
            return None
        changed = self.replay()
        if changed is None:
            self._computed.note(due)
        return changed

    def replay_as_recorded(self) -> None:
        """Replay the plans without a look at what decided their shapes."""
        for stage in self._stages:
            stage.plan.replay()

    def close(self) -> None:
        """Give back plans and tensors. Idempotent."""
        for stage in self._stages:
            stage.plan.close()
            if stage.decision is not None:
                stage.decision.tensor.close()
        for mask in self.masks.values():
            mask.close()

    def _begin(self, mask: Mask | None = None) -> None:
        plan = Plan(self.name)
        self._stages.append(Stage(plan, mask))
        self._open.enter_context(plan.recording())


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.read_async(Traffic.DIAGNOSTICS).result()
