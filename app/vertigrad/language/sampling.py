"""`Sampler`: the next token from logits, chosen on the GPU: the most probable one, or one at random."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from .. import ops
from ..closing import Closing
from ..errors import InputError
from ..gpu import Kernel, Plan
from ..ops.philox import key_of, philox
from ..tensor import Tensor

PART = 1024  # logits that a workgroup of choose.wgsl compares
STREAM = 0x6C616E67, 0x75616765  # upper words of the counters of random numbers, as in choose.wgsl


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. A `temperature` of 0 takes the most probable token.

    Else token i has the weight e^(logit i / temperature); of the `top_k` most probable (0: all), and of those as many
    as it takes to have `top_p` of all their weight, one is drawn (Holtzman et al., "The Curious Case of Neural Text
    Degeneration", 2020). The same `seed` gives the same text. Raises `InputError` for values outside of their range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature <= 100.0:
            raise InputError(f"temperature {self.temperature}: expected 0 to 100")
        if self.top_k < 0:
            raise InputError(f"top_k {self.top_k}: expected the number of tokens, 0 for all")
        if not 0.0 < self.top_p <= 1.0:
            raise InputError(f"top_p {self.top_p}: expected a fraction above 0, 1 for all")


class Sampler(Closing):
    """Chooses tokens from `logits` (vocabulary,), f32, into `tokens`, u32, by recorded plans."""

    def __init__(self, logits: Tensor, tokens: Tensor):
        count = logits.shape[0]
        groups = -(-count // PART)
        with ExitStack() as stack:
            self._greedy = stack.enter_context(Plan("greedy"))
            self._random = stack.enter_context(Plan("sample"))
            parts = stack.enter_context(Tensor.zeros((groups, 2), name="parts"))
            self._record_greedy(logits, tokens, parts, groups * 256)
            self._record_random(logits, tokens)
            self._stack = stack.pop_all()

    def choose(self, position: int, sampling: Sampling) -> None:
        """Record the choice of the token after `position`, from the logits as they are then."""
        if sampling.temperature == 0.0:
            self._greedy.replay(position=position)
            return
        self._random.replay(
            position=position,
            temperature=sampling.temperature,
            top_k=min(sampling.top_k, 0xFFFFFFFF),
            top_p=sampling.top_p,
            seed=key_of(sampling.seed),
        )

    def close(self) -> None:
        """Release tensors and plans. Idempotent."""
        self._stack.close()

    def _record_greedy(self, logits: Tensor, tokens: Tensor, parts: Tensor, threads: int) -> None:
        unused = {"top_k": 0, "temperature": 1.0, "top_p": 1.0, "seed": (0, 0), "count": logits.shape[0]}
        first, last = (Kernel.load("language/choose.wgsl", entry) for entry in ("largest", "largest_of_all"))
        self._greedy.dispatch(first, threads, overwrites=("parts",), logits=logits, parts=parts, position=0, **unused)
        self._greedy.dispatch(last, 256, parts=parts, tokens=tokens, **unused)

    def _record_random(self, logits: Tensor, tokens: Tensor) -> None:
        count = logits.shape[0]
        weigh, draw = (Kernel.load("language/choose.wgsl", entry) for entry in ("weigh", "draw"))
        with self._random.recording():
            values, order = ops.sort_pairs(logits, descending=True)
            weights = Tensor.empty(count, temporary=True)
            weigh_only = {"position": 0, "top_p": 1.0, "seed": (0, 0)}
            self._random.dispatch(
                weigh, count, overwrites=("weights",), logits=values, weights=weights, count=count, **weigh_only
            )
            totals = ops.cumsum(weights)
            draw_only = {"temperature": 1.0, "top_k": 0, "count": count}
            self._random.dispatch(draw, 256, tokens=tokens, weights=weights, totals=totals, order=order, **draw_only)
            for tensor in (values, order, weights, totals):
                tensor.close()


def choose(logits: np.ndarray, position: int, sampling: Sampling) -> int:
    """The same in NumPy, in f64: the reference of the kernels."""
    if sampling.temperature == 0.0:
        return int(np.argmax(logits))
    order = np.argsort(-logits, kind="stable")
    values = logits[order].astype(np.float64)
    weights = np.exp((values - values[0]) / sampling.temperature)
    if sampling.top_k:
        weights[sampling.top_k :] = 0.0
    totals = np.cumsum(weights)
    in_nucleus = totals - weights < sampling.top_p * totals[-1]
    end = max(int(np.count_nonzero(in_nucleus)), 1) if sampling.top_p < 1.0 else len(weights)
    words = philox(np.array([position, 0, *STREAM], np.uint64), key_of(sampling.seed))
    number = float(words[0] >> 8) * 2.0**-24
    return int(order[min(int(np.searchsorted(totals, number * totals[end - 1], side="right")), end - 1)])
