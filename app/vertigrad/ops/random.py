"""Counter-based random numbers: number i of a stream depends on seed, name of the stream and i alone (Philox4x32-10).

So a part of a stream is what a whole one has there, streams of different names do not overlap, and nothing is stored
between calls. Uniform numbers and integers have the same bits on every adapter; normal ones differ by rounding (WGSL
leaves `log` and `sqrt` some), and have the same bits on one.

In WGSL of your own, include common/philox.wgsl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..deprecation import renamed_arguments
from ..errors import DtypeError, ParameterError
from ..gpu import Kernel
from ..tensor import DType, Tensor, dtype_of, f32, i32, u32
from ..tensor.shape import checked
from . import launch
from .philox import key_of, stream_words

Shape = int | Sequence[int]


def uniform(
    shape: Shape,
    seed: int,
    stream: str = "",
    offset: int = 0,
    *,
    low: float = 0.0,
    high: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """Numbers of `shape`, evenly spread over [low, high), f32; in [0, 1) they are multiples of 2⁻²⁴.

    Other limits than 0 and 1 are reached by a multiplication and an addition, which may round up to `high`.
    `offset` is the index in the stream of the first. A plan makes the same numbers at each replay. Raises
    `ParameterError` for a seed or offset beyond 64 bits.
    """
    return _fill("uniform", shape, f32, seed, stream, offset, out, low=low, high=high)


@renamed_arguments(deviation="std")  # up to version 0.1
def normal(
    shape: Shape,
    seed: int,
    stream: str = "",
    offset: int = 0,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """Normally distributed numbers of `shape`, f32; none is beyond 5.8 standard deviations. As `uniform`."""
    return _fill("normal", shape, f32, seed, stream, offset, out, low=mean, high=std)


def integers(
    shape: Shape,
    seed: int,
    stream: str = "",
    offset: int = 0,
    *,
    low: int = 0,
    high: int,
    dtype: Any = i32,
    out: Tensor | None = None,
) -> Tensor:
    """Integers of `shape` from `low` to `high` − 1, each as often as any other to within (high − low) / 2³².

    Raises `ParameterError` if there are none between them or they do not fit `dtype`, i32 or u32. As `uniform`.
    """
    kind = dtype_of(dtype)
    if kind not in (i32, u32):
        raise DtypeError(f"random integers are i32 or u32, not {kind}")
    least = -(1 << 31) if kind is i32 else 0
    if not least <= low < high <= least + (1 << 32):
        raise ParameterError(f"random integers from {low} to {high} - 1: none, or they do not fit {kind}")
    numbers = {"least": low & 0xFFFFFFFF, "range": (high - low) & 0xFFFFFFFF}
    return _fill("integers", shape, kind, seed, stream, offset, out, **numbers)


def _fill(
    kind: str, shape: Shape, dtype: DType, seed: int, stream: str, offset: int, out: Tensor | None, **numbers: float
) -> Tensor:
    if not 0 <= offset < 1 << 64:
        raise ParameterError(f"the offset in a stream of random numbers is from 0 to 2^64 - 1, not {offset!r}")
    out = launch.prepare_output(f"random {kind}", checked(shape), dtype, out)
    kernel = Kernel.load("ops/random.wgsl", defines={"KIND": kind})
    fields = {"low": 0.0, "high": 0.0, "least": 0, "range": 0} | numbers
    with launch.packed(out) as target:
        if out.size:
            kernel(
                (out.size + offset % 4 + 3) // 4,
                overwrites=("out",),
                out=target.bitcast(u32) if kind == "integers" else target,
                count=out.size,
                key=key_of(seed),
                stream=stream_words(stream),
                first=(offset & 0xFFFFFFFF, offset >> 32),
                **fields,
            )
    return out
