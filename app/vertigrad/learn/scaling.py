"""Scaling of losses, so that small gradients are not lost in f16."""

from __future__ import annotations

import numpy as np

from ..closing import Closing
from ..deprecation import renamed_arguments
from ..errors import ParameterError
from ..gpu import Kernel
from ..tensor import Tensor

MOST = 2.0**24


class LossScale(Closing):
    """A factor for a loss that keeps its gradients within f16 (Micikevicius et al. 2018, Mixed precision training).

    Call `backward` of `scaled(loss)`, then `Optimizer.step(scaling=...)`, which divides by the factor. Where a
    gradient is infinite or NaN that step changes nothing and the factor is multiplied by `backoff_factor`; after
    `growth_interval` steps without one, by `growth_factor`. All of it is decided on the GPU: nothing is read back, and
    a step can be recorded. A step that changes nothing still counts as taken, for schedules and Adam's corrections.
    Close it. Raises `ParameterError`.
    """

    @renamed_arguments(start="init_scale", growth="growth_factor", backoff="backoff_factor", patience="growth_interval")
    def __init__(
        self,
        init_scale: float = 65536.0,
        *,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        if not 1.0 <= init_scale <= MOST:
            raise ParameterError(f"loss scale: init_scale is {init_scale}; it must be 1 to 2^24")
        if not (growth_factor >= 1.0 and 0.0 < backoff_factor < 1.0 and 1 <= growth_interval <= MOST):
            raise ParameterError(
                f"loss scale: growth_factor {growth_factor}, backoff_factor {backoff_factor}, growth_interval "
                f"{growth_interval}; growth_factor must be 1 or more, backoff_factor between 0 and 1, growth_interval "
                "1 to 2^24 steps"
            )
        self._fields = {
            "growth_factor": growth_factor,
            "backoff_factor": backoff_factor,
            "growth_interval": float(growth_interval),
        }
        self._state = Tensor.from_numpy(np.array([init_scale, 0.0], np.float32), "loss_scale")
        self._value = self._state[0]

    @property
    def value(self) -> Tensor:
        """The factor as it is now, a view without axes."""
        return self._value

    @property
    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must store: the factor, and the steps since it changed."""
        return {"loss_scale": self._state}

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss times the factor, which multiplies its gradients by the factor too."""
        return loss * self._value

    def update(self, squares: Tensor, clip: float | None) -> Tensor:
        """For `Optimizer.step`: the factor of the gradients, below 0 if the step is to be skipped; updates the scale.

        `squares` is the sum of their squares, one element; `clip` the norm that they may have without the factor.
        """
        factor = Tensor.empty(1, name="factor", temporary=True)
        kernel = Kernel.load("learn/loss_scale.wgsl")
        kernel(
            1, overwrites=("factor",), total=squares, state=self._state, factor=factor, clip=clip or 0.0, **self._fields
        )
        return factor

    def close(self) -> None:
        """Release its memory. Idempotent."""
        self._value.close()
        self._state.close()
