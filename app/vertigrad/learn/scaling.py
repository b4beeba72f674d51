"""Scaling of losses, so that small gradients are not lost in f16."""

from __future__ import annotations

from types import TracebackType

import numpy as np

from ..errors import ParameterError
from ..gpu import Kernel
from ..tensor import Tensor

MOST = 2.0**24


class LossScale:
    """A factor for a loss that keeps its gradients within f16 (Micikevicius et al. 2018, Mixed precision training).

    Call `backward` of `scaled(loss)`, then `Optimizer.step(scaling=...)`, which takes the factor out again. Where a
    gradient is infinite or NaN that step changes nothing and the factor is multiplied by `backoff`; after `patience`
    steps without one, by `growth`. All of it is decided on the GPU: nothing is read back, and a step can be recorded.
    A step that changes nothing still counts as taken, for schedules and Adam's corrections. Close it. Raises
    `ParameterError`.
    """

    def __init__(
        self, start: float = 65536.0, *, growth: float = 2.0, backoff: float = 0.5, patience: int = 2000
    ) -> None:
        if not 1.0 <= start <= MOST:
            raise ParameterError(f"a loss scale starts at {start}; it must be 1 to 2^24")
        if not (growth >= 1.0 and 0.0 < backoff < 1.0 and 1 <= patience <= MOST):
            raise ParameterError(
                f"loss scale: growth {growth}, backoff {backoff}, patience {patience}; growth must be 1 or more, "
                "backoff between 0 and 1, patience 1 to 2^24 steps"
            )
        self._fields = {"growth": growth, "backoff": backoff, "patience": float(patience)}
        self._state = Tensor.from_numpy(np.array([start, 0.0], np.float32), "loss_scale")
        self._value = self._state[0]

    @property
    def value(self) -> Tensor:
        """The factor as it is now, a view without axes."""
        return self._value

    @property
    def state(self) -> dict[str, Tensor]:
        """What a checkpoint has to keep: the factor, and the steps since it changed."""
        return {"loss_scale": self._state}

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss times the factor: its gradients are so many times as large."""
        return loss * self._value

    def judged(self, squares: Tensor, clip: float | None) -> Tensor:
        """For `Optimizer.step`: what gradients are to be multiplied by, below 0 if not to be used; the next factor.

        `squares` is the sum of their squares, one element; `clip` the norm that they may have without the factor.
        """
        factor = Tensor.empty(1, name="factor", temporary=True)
        kernel = Kernel.load("learn/loss_scale.wgsl")
        kernel(
            1, overwrites=("factor",), total=squares, state=self._state, factor=factor, clip=clip or 0.0, **self._fields
        )
        return factor

    def close(self) -> None:
        """Give back its memory. Idempotent."""
        self._value.close()
        self._state.close()

    def __enter__(self) -> LossScale:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
