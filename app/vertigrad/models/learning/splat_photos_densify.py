"""Adaptive density control of splats that are trained on photos: copied, divided, removed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from ... import ops
from ...gpu import Kernel, Traffic
from ...ops.philox import key_of
from ...ops.scans import scan
from ...tensor import Tensor, u32
from ...tensor.graph import no_grad

SHADER = "models/splat_photos_densify.wgsl"
HARDER = 1.2  # factor of the threshold where there would be too many splats
UNBOUNDED = 3e38


class Rule(NamedTuple):
    """What is done: splats whose mean gradient is `threshold` or more are copied, those with a standard deviation above
    `divided` divided; those above `largest`, or with an opacity below `least`, removed. `seed` and `step` decide where
    parts are.
    """

    threshold: float
    divided: float
    largest: float
    least: float
    seed: int
    step: int


class Densified(NamedTuple):
    """The rows that there will be: `origin`, the old row of each, and `part`, above 0 for those that are new."""

    count: int
    origin: Tensor
    part: Tensor


def densified(
    learned: Mapping[str, Tensor], moves: Tensor, count: int, most: int, rule: Rule, held: ExitStack
) -> Densified:
    """Decide what becomes of `count` splats, at most `most` of them, and wait for how many they are.

    If they were more, the threshold is raised until they are not. `held` closes the tensors of the result.
    """
    rows = len(moves)
    copies, starts = (held.enter_context(Tensor.empty(rows, u32)) for _ in range(2))
    fields = {**_fields(rule), "rows": rows, "count": count}
    tensors = {"moves": moves, "opacity": learned["opacity"], "scale": learned["scale"]}
    while True:
        Kernel.load(SHADER, "decide")(rows, overwrites=("copies",), copies=copies, **tensors, **fields)
        scan("sum", copies, exclusive=True, out=starts)
        total = sum(_last(tensor) for tensor in (starts, copies))
        if total <= most:
            break
        fields["threshold"] *= HARDER
    origin, part = (held.enter_context(Tensor.empty(max(total, 1), u32)) for _ in range(2))
    places = {"counted": copies, "starts": starts, "origin": origin, "part": part}
    Kernel.load(SHADER, "fill_rows")(count, scale=learned["scale"], **places, **fields)
    return Densified(total, origin, part)


def rearrange(
    found: Densified,
    old: Mapping[str, Tensor],
    new: Mapping[str, Tensor],
    old_memory: Mapping[str, Tensor],
    memory: Mapping[str, Tensor],
    rule: Rule,
) -> None:
    """Write the new rows of what is trained and of what optimizers remember, which is 0 of new splats.

    `new` and `memory` may be `old` and `old_memory` themselves, or have more rows.
    """
    with no_grad():
        is_new = ops.greater(found.part, 0)
        for name, tensor in old.items():
            with ops.take(tensor, found.origin, 0) as rows:
                _put(new[name], rows, found.count)
        for name, tensor in old_memory.items():
            with ops.take(tensor, found.origin, 0) as rows:
                mask = is_new.reshape(len(found.origin), *[1] * (rows.ndim - 1))
                _put(memory[name], ops.where(mask, 0.0, rows), found.count)
        names = ("position", "scale", "rotation")
        fields = {**_fields(rule), "rows": found.count, "count": found.count}
        tensors = {name: new[name] for name in names}
        Kernel.load(SHADER, "divide")(found.count, known=found.part, **tensors, **fields)


def _last(tensor: Tensor) -> int:
    with tensor[-1:] as element:
        return int(element.read_async(Traffic.DIAGNOSTICS).result()[0])


def _put(target: Tensor, rows: Tensor, count: int) -> None:
    with target[:count] as begin, rows[:count] as found:
        ops.assign(begin, found)


def _fields(rule: Rule) -> dict[str, Any]:
    return {
        "step": rule.step,
        "key": key_of(rule.seed),
        "threshold": rule.threshold,
        "divided": math.log(rule.divided),
        "largest": math.log(rule.largest) if rule.largest < UNBOUNDED else UNBOUNDED,
        "least": math.log(rule.least / (1.0 - rule.least)) if rule.least > 0.0 else -UNBOUNDED,
    }
