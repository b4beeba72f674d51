"""Statistics of a tensor: range, mean and standard deviation, values that are not finite, and a histogram.

The tensor is read once for the numbers and once for the histogram, in place whatever its strides are, and nothing goes
to the host but the result. Of many tensors they are taken by few dispatches: on a GPU one of a small tensor costs more
than its elements. Values that are not finite are counted and otherwise left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimitError
from ..gpu import Kernel, gpu
from ..tensor import DType, Tensor, dtype_of, u32
from . import launch

WORDS = 13  # of a record; as in shaders/ops/summary.wgsl
BINS = 64  # of a histogram
CHUNK = 16384  # elements that a workgroup reads: 64 an invocation
SMALL_CHUNK = 4096  # the same where there are several tensors, most of which are small
MOST_TENSORS = 24  # of which statistics are taken by one dispatch
WORKGROUP = 256


@dataclass(frozen=True)
class Condition:
    """What an element may be that is looked for: NaN, infinite, less than `below` or more than `above`; any of them.

    Limits are held and compared in f32.
    """

    nan: bool = False
    infinite: bool = False
    below: float | None = None
    above: float | None = None

    @property
    def mask(self) -> int:
        """The kernel's bits for what is looked for."""
        return self.nan + 2 * self.infinite + 4 * (self.below is not None) + 8 * (self.above is not None)

    def __str__(self) -> str:
        parts = ("NaN" if self.nan else "", "infinite" if self.infinite else "")
        limits = (
            f"below {self.below:g}" if self.below is not None else "",
            f"above {self.above:g}" if self.above is not None else "",
        )
        return " or ".join(filter(None, parts + limits)) or "nothing"


NEVER = Condition()


class Summary(NamedTuple):
    """Statistics of a tensor of `size` elements; those over finite elements are None where there are none.

    Indices are row-major. `std` is that of the population, as NumPy's. `met` elements meet
    the condition, the first of them at `first`.
    """

    size: int
    finite: int
    nan: int
    positive_infinite: int
    negative_infinite: int
    min: float | None
    max: float | None
    min_at: int | None
    max_at: int | None
    mean: float | None
    std: float | None
    met: int
    first: int | None

    @property
    def infinite(self) -> int:
        """How many elements are infinite, of either sign."""
        return self.positive_infinite + self.negative_infinite

    @property
    def norm(self) -> float | None:
        """Square root of the sum of the squares of the finite elements."""
        if self.mean is None or self.std is None:
            return None
        return math.sqrt(self.finite) * math.hypot(self.mean, self.std)

    @staticmethod
    def of(words: np.ndarray, dtype: DType) -> Summary:
        """The statistics in a record: `WORDS` u32, as `summarize` makes them of a tensor of `dtype`."""
        words = np.ascontiguousarray(words, np.uint32)
        finite, nan, above, below = words[:4].tolist()
        least, most = words[4:6].view(dtype_of(launch.word_type(dtype)).numpy).tolist()
        mean, squares = words[6:8].view(np.float32).tolist()
        first, met, least_at, most_at = words[8:12].tolist()
        mean += float(words[12:13].view(np.float32)[0])
        counts = (finite + nan + above + below, finite, nan, above, below)
        where = (met, first - 1 if first else None)
        if not finite:
            return Summary(*counts, None, None, None, None, None, None, *where)
        return Summary(*counts, least, most, least_at, most_at, mean, math.sqrt(max(squares, 0.0) / finite), *where)


def summarize(a: Tensor, condition: Condition = NEVER, *, out: Tensor | None = None) -> Tensor:
    """The statistics of `a` as a record for `Summary.of`: (13,) u32, in `out` or a new tensor.

    `out` is contiguous. Raises `ShapeError`, `DtypeError` if it does not fit, `LimitError` for 2³² elements or more.
    """
    out = launch.prepare_output("summarize", (WORDS,), u32, out)
    if not a.size:
        return out.fill_(0)
    if a.size >= 1 << 32:
        raise LimitError(f"summarize: {a.size:,} elements; indices have 32 bits")
    chunks = -(-a.size // CHUNK)
    looked_for = {
        "conditions": condition.mask,
        "low": 0.0 if condition.below is None else condition.below,
        "high": 0.0 if condition.above is None else condition.above,
    }
    with Tensor.empty(chunks * WORDS if chunks > 1 else 0, u32, temporary=True) as records:
        first = records if chunks > 1 else out
        kernel, shape = _kernel("elements", a)
        kernel(chunks * WORKGROUP, overwrites=("out",), out=first, chunk=CHUNK, **shape, **looked_for)
        if chunks > 1:
            kernel = Kernel.load("ops/summary.wgsl", defines=_defines("records", a.dtype, 0))
            kernel(WORKGROUP, overwrites=("out",), source=records, out=out, count=chunks, chunk=chunks)
    return out


def summarize_all(tensors: Sequence[Tensor], out: Tensor) -> Tensor:
    """The statistics of contiguous floats, a record in each row of `out`, (tensors, 13) u32: by two dispatches.

    None is empty, and there are no more than a kernel can read. Raises as `summarize`.
    """
    out = launch.prepare_output("summarize_all", (len(tensors), WORDS), u32, out)
    chunks = [-(-one.size // SMALL_CHUNK) for one in tensors]
    first = list(itertools.accumulate(chunks, initial=0))
    sizes = {f"count_{n}": one.size for n, one in enumerate(tensors)}
    sizes |= {f"first_{n}": number for n, number in enumerate(first[:-1])}
    sources = {f"source_{n}": one for n, one in enumerate(tensors)}
    defines = {"FROM": tuple(one.dtype.name for one in tensors), "VALUE": "f32", "RANK": 0, "BINS": BINS}

    def run(step: str, groups: int, out: Tensor, **read: Tensor) -> None:
        kernel = Kernel.load("ops/summary.wgsl", defines={**defines, "PASS": step})
        kernel(groups * WORKGROUP, overwrites=("out",), out=out, chunk=SMALL_CHUNK, **sizes, **read)

    if first[-1] == len(tensors):  # a chunk each
        run("tensors", first[-1], out, **sources)
        return out
    with Tensor.empty((first[-1], WORDS), u32, temporary=True) as records:
        run("tensors", first[-1], records, **sources)
        run("rows", len(tensors), out, source=records)
    return out


def most_tensors() -> int:
    """How many tensors `summarize_all` is to take at once: one on a software adapter, which has no cost of dispatches.

    There each element would be looked for in all of them: branches are masks.
    """
    if gpu().adapter.kind == "software":
        return 1
    return min(gpu().limits["max-storage-buffers-per-shader-stage"] - 1, MOST_TENSORS)


def spread(a: Tensor, record: Tensor) -> Tensor:
    """How many finite elements of `a` are in each of `BINS` equal bins from its least to its greatest one, (64,) u32.

    `record` is the result of `summarize(a)`: its ends are taken from there on the GPU. Bins hold their lower end, the
    last one both. If all elements are equal they are counted in the middle.
    """
    counts = Tensor.zeros(BINS, u32, "histogram")
    if a.size:
        kernel, shape = _kernel("bins", a)
        kernel(-(-a.size // CHUNK) * WORKGROUP, record=record, out=counts, chunk=CHUNK, **shape)
    return counts


def _kernel(reads: str, a: Tensor) -> tuple[Kernel, dict[str, Any]]:
    rank, fields = launch.merged(a.shape, source=launch.element_strides(a))
    arguments = {"source": a, "count": a.size, **fields}
    return Kernel.load("ops/summary.wgsl", defines=_defines(reads, a.dtype, rank)), arguments


def _defines(reads: str, dtype: DType, rank: int) -> dict[str, Any]:
    name = "" if reads == "records" else dtype.name
    return {"PASS": reads, "FROM": name, "VALUE": launch.word_type(dtype), "RANK": rank, "BINS": BINS}
