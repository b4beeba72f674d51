"""Random batches of examples."""

from __future__ import annotations

from ...gpu import Kernel, Plan
from ...ops.philox import key_of, stream_words
from ...tensor import Tensor, u32


def record_choice(plan: Plan, batch: Tensor, count: int, seed: int, name: str) -> None:
    """Record random numbers below `count` into `batch` (n,), i32, from a stream that the seed and the name identify.

    Step s takes those from s·n on; the field `first` of the plan stays open for that.
    """
    plan.dispatch(
        Kernel.load("ops/random.wgsl", defines={"KIND": "integers"}),
        (batch.size + 3) // 4 + 1,
        overwrites=("out",),
        out=batch.bitcast(u32),
        count=batch.size,
        key=key_of(seed),
        stream=stream_words(f"{name}.batch"),
        low=0.0,
        high=0.0,
        least=0,
        range=count,
    )
