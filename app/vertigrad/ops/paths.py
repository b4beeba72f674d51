"""Which kernels the parallel primitives take: by subgroups or workgroup memory alone, in one pass or in several.

All of them give the same bits. Subgroups are used where all have one size, known before a kernel is compiled. Scans in
one pass read what other workgroups publish; they end on any adapter, but are chosen only where that was
measured to be faster than reading twice: on NVIDIA's (H100, 2^27 elements: 0.44 ms instead of 0.63).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from ..gpu import Kernel, gpu
from ..gpu.device import forgotten_with_the_device
from ..tensor import Tensor, u32

NVIDIA, APPLE = 0x10DE, 0x106B
KNOWN = {NVIDIA: 32, APPLE: 32}  # invocations of a subgroup, by vendor: not all drivers report it
LARGEST = 32  # that the kernels take: a ballot is one word


class Path(NamedTuple):
    """`subgroup` is the number of invocations in one, 0 if none are used; `chained` scans go over the data once."""

    subgroup: int
    chained: bool


_forced: list[Path] = []


def path() -> Path:
    """What is right for this adapter, unless `forced`."""
    if _forced:
        return _forced[-1]
    size = _known_size()
    return Path(size, size > 0 and _vendor() == NVIDIA)


@contextmanager
def forced(subgroups: bool, chained: bool = False) -> Iterator[Path]:
    """Take these kernels inside, for tests and measurements. Raises `ValueError` for what this adapter cannot do."""
    size = subgroup_size() if subgroups else 0
    if (subgroups or chained) and not size:
        raise ValueError(f"{gpu().adapter} has no subgroups of one size up to {LARGEST}; chained scans need them too")
    _forced.append(Path(size, chained))
    try:
        yield _forced[-1]
    finally:
        _forced.pop()


def is_software() -> bool:
    """Whether kernels run on the processor, which other kernels suit."""
    return gpu().adapter.kind == "software"


@cache
def subgroup_size() -> int:
    """Invocations in every subgroup of this adapter; 0 without subgroups, or if they differ or are too large.

    A software adapter is asked by running a kernel, so not while a plan is recording.
    """
    if "subgroup" in gpu().features and is_software():
        with Tensor.empty(1, u32) as size:
            Kernel.load("ops/subgroup_size.wgsl")(1, overwrites=("size",), size=size)
            return int(size.item())
    return _known_size()


forgotten_with_the_device.append(lambda gpu: subgroup_size.cache_clear())


def _known_size() -> int:
    """The same without asking."""
    if "subgroup" not in gpu().features:
        return 0
    least, most = gpu().adapter.subgroup_sizes
    size = least if least == most > 0 else KNOWN.get(_vendor(), 0)
    return size if size <= LARGEST else 0


def _vendor() -> int:
    return gpu().adapter.adapter.info["vendor_id"]
