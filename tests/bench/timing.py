"""Comparable CPU times of several programs, and how many instructions of Python they are."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import vertigrad

ATTEMPTS = 8
PAUSE = 2.0  # seconds between them, for other processes to finish


def quiet_quartiles(
    *programs: Callable[[int], object], rounds: int, warm_up: int, percentile: float = 25.0
) -> list[float]:
    """Main-thread CPU seconds of each program, which gets the number of the round.

    They alternate, so that drift of the machine affects all equally, each with an idle GPU at the start. The lower
    quartile is used, since other processes can only add to a time; for many rounds a lower percentile, which is less
    affected.
    """
    times: list[list[float]] = [[] for _ in programs]
    gc.disable()
    try:
        for round_ in range(warm_up + rounds):
            for program, samples in zip(programs, times, strict=True):
                vertigrad.gpu().sync()
                start = time.thread_time()
                program(round_)
                if round_ >= warm_up:
                    samples.append(time.thread_time() - start)
    finally:
        gc.enable()
    return [float(np.percentile(samples, percentile)) for samples in times]


def lowest(measure: Callable[[], float], bound: float) -> float:
    """The lowest of a few measurements, none after the first within `bound`.

    Another process that uses the caches slows the program with more memory accesses down by more: that can
    only add to a ratio.
    """
    found = measure()
    for _ in range(ATTEMPTS - 1):
        if found <= bound:
            break
        time.sleep(PAUSE)
        found = min(found, measure())
    return found


def instructions(program: Callable[[], object]) -> int:
    """Bytecode instructions of Python that one call of `program` executes, with all that it calls.

    They are the same in every run, whatever else the machine does; what extension modules do is not in them.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    vertigrad.gpu().sync()
    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(before)
        gc.enable()
    return count
