"""Counter-based random numbers: number i of a stream depends on seed, name of the stream and i alone (Philox4x32-10).

So a part of a stream is what a whole one has there, streams of different names do not overlap, and nothing is kept
between calls. Uniform numbers and integers have the same bits on every adapter; normal ones differ by rounding (WGSL
leaves `log` and `sqrt` some), and have the same bits on one.

In WGSL of your own, include common/philox.wgsl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..deprecation import renamed_arguments
from ..errors import DtypeError, ParameterError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, f32, i32, u32
from .lines import Launch, words
from .philox import key_of, stream_words

Shape = int | Sequence[int]


def uniform(
    shape: Shape, seed: int, stream: str = "", offset: int = 0, *, low: float = 0.0, high: float = 1.0
) -> Tensor:
    """Numbers of `shape`, evenly spread over [low, high), f32; in [0, 1) they are multiples of 2⁻²⁴.

    Other limits than 0 and 1 are reached by a multiplication and an addition, which may round up to `high`.
    `offset` is the index in the stream of the first. Raises `ParameterError` for a seed or offset beyond 64 bits.
    """
    out = Tensor.empty(shape, f32, temporary=True)
    _fill(Kernel.__call__, "uniform", out, seed, stream, offset, low=low, high=high)
    return out


@renamed_arguments(deviation="std")  # up to version 0.1
def normal(
    shape: Shape, seed: int, stream: str = "", offset: int = 0, *, mean: float = 0.0, std: float = 1.0
) -> Tensor:
    """Normally distributed numbers of `shape`, f32; none is beyond 5.8 standard deviations. As `uniform`."""
    out = Tensor.empty(shape, f32, temporary=True)
    _fill(Kernel.__call__, "normal", out, seed, stream, offset, low=mean, high=std)
    return out


def integers(
    shape: Shape, seed: int, stream: str = "", offset: int = 0, *, low: int = 0, high: int, dtype: Any = i32
) -> Tensor:
    """Integers of `shape` from `low` to `high` − 1, each as often as any other to within (high − low) / 2³².

    Raises `ParameterError` if there are none between them or they do not fit `dtype`, i32 or u32. As `uniform`.
    """
    out = Tensor.empty(shape, dtype, temporary=True)
    _integers(Kernel.__call__, out, seed, stream, offset, low, high)
    return out


def record_uniform(
    plan: Plan, out: Tensor, seed: int, stream: str = "", offset: int = 0, *, low: float = 0.0, high: float = 1.0
) -> None:
    """Add to `plan` what `uniform` does, into contiguous `out`: the same numbers at each replay."""
    _fill(plan.dispatch, "uniform", out, seed, stream, offset, low=low, high=high)


@renamed_arguments(deviation="std")
def record_normal(
    plan: Plan, out: Tensor, seed: int, stream: str = "", offset: int = 0, *, mean: float = 0.0, std: float = 1.0
) -> None:
    """Add to `plan` what `normal` does, into contiguous `out`: the same numbers at each replay."""
    _fill(plan.dispatch, "normal", out, seed, stream, offset, low=mean, high=std)


def record_integers(
    plan: Plan, out: Tensor, seed: int, stream: str = "", offset: int = 0, *, low: int = 0, high: int
) -> None:
    """Add to `plan` what `integers` does, into contiguous `out` (i32 or u32): the same numbers at each replay."""
    _integers(plan.dispatch, out, seed, stream, offset, low, high)


def _integers(launch_: Launch, out: Tensor, seed: int, stream: str, offset: int, low: int, high: int) -> None:
    if out.dtype not in (i32, u32):
        raise DtypeError(f"random integers are i32 or u32, not {out.dtype}")
    least = -(1 << 31) if out.dtype is i32 else 0
    if not least <= low < high <= least + (1 << 32):
        raise ParameterError(f"random integers from {low} to {high} - 1: none, or they do not fit {out.dtype}")
    with words(out) as bits:
        _fill(launch_, "integers", bits, seed, stream, offset, least=low & 0xFFFFFFFF, range=(high - low) & 0xFFFFFFFF)


def _fill(launch_: Launch, kind: str, out: Tensor, seed: int, stream: str, offset: int, **parameters: float) -> None:
    if not 0 <= offset < 1 << 64:
        raise ParameterError(f"the offset in a stream of random numbers is from 0 to 2^64 - 1, not {offset!r}")
    if out.dtype is not (u32 if kind == "integers" else f32):
        raise DtypeError(f"random {kind} numbers are f32, not {out.dtype}")
    if not out.size:
        return
    fields = {"low": 0.0, "high": 0.0, "least": 0, "range": 0} | parameters
    launch_(
        Kernel.load("ops/random.wgsl", defines={"KIND": kind}),
        (out.size + offset % 4 + 3) // 4,
        overwrites=("out",),
        out=out,
        count=out.size,
        key=key_of(seed),
        stream=stream_words(stream),
        first=(offset & 0xFFFFFFFF, offset >> 32),
        **fields,
    )
