"""Philox4x32-10 in NumPy: the reference of shaders/common/philox.wgsl, and what a stream's name is to it.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ..errors import ParameterError

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
STEPS = 0x9E3779B9, 0xBB67AE85  # added to the key before each further round
ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Four random words (u32) for each counter of four words, shape (..., 4), and a key of two."""
    x = [np.asarray(counter, np.uint64)[..., i] for i in range(4)]
    k = list(key)
    for _ in range(ROUNDS):
        even, odd = x[0] * np.uint64(MULTIPLIERS[0]), x[2] * np.uint64(MULTIPLIERS[1])
        first, third = (odd >> np.uint64(32)) ^ x[1] ^ np.uint64(k[0]), (even >> np.uint64(32)) ^ x[3] ^ np.uint64(k[1])
        x = [first, odd & _LOW, third, even & _LOW]
        k = [(word + step) & 0xFFFFFFFF for word, step in zip(k, STEPS, strict=True)]
    return np.stack(x, axis=-1).astype(np.uint32)


def stream_words(name: str) -> tuple[int, int]:
    """Two words for the name of a stream, which are the upper half of its counters."""
    digest = hashlib.blake2s(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def key_of(seed: int) -> tuple[int, int]:
    """The key of a seed of 64 bits. Raises `ParameterError` for others."""
    if not 0 <= seed < 1 << 64:
        raise ParameterError(f"a seed of random numbers is an integer from 0 to 2^64 - 1, not {seed!r}")
    return seed & 0xFFFFFFFF, seed >> 32


def stream(count: int, seed: int, name: str, offset: int = 0) -> np.ndarray:
    """Words number `offset`, `offset` + 1, ... of a named stream, shape (count,): what the kernels make numbers of."""
    first, last = offset // 4, (offset + count + 3) // 4
    numbers = np.arange(first, max(last, first), dtype=np.uint64)
    low, high = stream_words(name)
    counter = np.empty((len(numbers), 4), np.uint64)
    counter[:, 0], counter[:, 1], counter[:, 2], counter[:, 3] = numbers & _LOW, numbers >> np.uint64(32), low, high
    words = philox(counter, key_of(seed)).reshape(-1)
    return words[offset - 4 * first :][:count]
