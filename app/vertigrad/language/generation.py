"""`Generator`: a text continued token by token, without waiting for the GPU between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..closing import Closing
from ..errors import InputError
from ..gpu import Traffic, gpu
from ..tensor import Tensor
from ..tensor.transfer import Readback
from .sampling import Sampler, Sampling


class Decoder(Protocol):
    """What makes logits of tokens: `Transformer`, or a network from ONNX.

    `tokens` (at least context + 1,), u32; `logits` (at least vocabulary,), f32; `chunk`, tokens in a call of `prefill`.
    """

    context: int
    vocabulary: int
    chunk: int
    tokens: Tensor
    logits: Tensor

    def state(self) -> dict[str, Tensor]:
        """Every tensor that tokens change, by name."""
        ...

    def decode(self, position: int) -> None:
        """Record the token at `position`: its logits are there then."""
        ...

    def prefill(self, position: int, count: int) -> None:
        """Record `count` tokens from `position` on, without logits."""
        ...


class Generator(Closing):
    """Continues the text in the tokens of a decoder, by `start` and `advance`, or by `generate`."""

    def __init__(self, decoder: Decoder):
        self._decoder = decoder
        self._logits = decoder.logits[: decoder.vocabulary]
        try:
            self._sampler = Sampler(self._logits, decoder.tokens)
        except BaseException:
            self._logits.close()
            raise
        self.length = 0  # tokens of the text, those that were recorded included

    @property
    def full(self) -> bool:
        """Whether the context has no room for another token."""
        return self.length >= self._decoder.context

    def start(self, tokens: Sequence[int] | np.ndarray) -> None:
        """Begin with the tokens of a prompt. Raises `InputError` for none, too many, and tokens that do not exist."""
        prompt, decoder = np.asarray(tokens), self._decoder
        if prompt.ndim != 1 or not len(prompt):
            raise InputError("the prompt has no tokens; one at least is needed")
        if len(prompt) > decoder.context:
            raise InputError(f"the prompt has {len(prompt)} tokens; the context has room for {decoder.context}")
        if prompt.dtype.kind not in "iu" or prompt.min() < 0 or prompt.max() >= decoder.vocabulary:
            raise InputError(f"tokens are integers from 0 to {decoder.vocabulary - 1}; the prompt has others")
        decoder.tokens[: len(prompt)] = prompt.astype(np.uint32)
        for position in range(0, len(prompt) - 1, decoder.chunk):
            decoder.prefill(position, min(decoder.chunk, len(prompt) - 1 - position))
        decoder.decode(len(prompt) - 1)
        self.length = len(prompt)

    def advance(self, sampling: Sampling) -> None:
        """Record the choice of the next token and, if the context has room for it, its logits."""
        if self.full:
            raise InputError(f"the text fills the context of {self._decoder.context} tokens")
        self._sampler.choose(self.length - 1, sampling)
        self._decoder.decode(self.length)
        self.length += 1

    def read(self, first: int) -> Readback:
        """Start reading the tokens from number `first` on; they arrive later."""
        with self._decoder.tokens[first : self.length] as part:
            return part.read_async(Traffic.DIAGNOSTICS)

    def generate(
        self,
        prompt: Sequence[int] | np.ndarray,
        count: int,
        sampling: Sampling = Sampling(),  # noqa: B008  frozen
        ends: Sequence[int] = (),
        batch: int = 1,
        ahead: int = 2,
    ) -> Iterator[int]:
        """Tokens that continue `prompt`, at most `count` or until one of `ends`, which is not given.

        They are read back `batch` at a time, while the GPU works on the next ones: `ahead` batches may be in flight.
        Raises `InputError` as `start` does.
        """
        self.start(prompt)
        gpu().submit()
        end = min(self._decoder.context, self.length + count)
        arriving: deque[Readback] = deque()
        while self.length < end or arriving:
            while self.length < end and len(arriving) < ahead:
                first = self.length
                for _ in range(min(batch, end - first)):
                    self.advance(sampling)
                arriving.append(self.read(first))
                gpu().submit()
            for token in arriving.popleft().result().tolist():
                if token in ends:
                    return
                yield token

    def close(self) -> None:
        """Release tensors and plans; those of the decoder are the caller's. Idempotent."""
        self._sampler.close()
        self._logits.close()
