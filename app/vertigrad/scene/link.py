"""References such as `"galaxy.position"` and `"net:/encoder/3/attn"`: what they name, and the order of the models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ..errors import InputError
from ..models.base import OutputSpec
from ..models.inside import InnerTensor, resolved
from ..params import shown, unknown
from .locate import KeyPath
from .problems import SceneProblems
from .schema import InnerRef, OutputRef

_REFERENCE = re.compile(r"([^.:]+)\.([^.]+)")
_INNER = re.compile(r"([^.:]+):(.+)", re.DOTALL)  # of a tensor inside a model
EXPECTED = 'expected "MODEL.OUTPUT", such as "galaxy.position"'

Inner = Callable[[str], Mapping[str, InnerTensor] | None]


class Links:
    """The targets of references: every model in the file, and the outputs of models of known type.

    `inner` returns the tensors inside a model; None if they are known only when it runs.
    """

    def __init__(
        self,
        names: Sequence[str],
        outputs: Mapping[str, Mapping[str, OutputSpec]],
        inner: Inner,
        problems: SceneProblems,
    ):
        self._names = names
        self._outputs = outputs
        self._inner = inner
        self._problems = problems

    def reference(self, text: str, path: KeyPath) -> OutputRef | None:
        """The output or inner tensor that `text`, the value at `path`, names.

        None if there is none, which is reported as a problem.
        """
        inner = _INNER.fullmatch(text)
        found = inner or _REFERENCE.fullmatch(text)
        if not found:
            self._problems.at_value(path, f"{EXPECTED}, got {shown(text)}")
            return None
        model, output = found.groups()
        if model not in self._names:
            self._problems.at_value(path, unknown("model", model, self._names))
            return None
        if inner:
            return self._inner_reference(model, output, path)
        outputs = self._outputs.get(model)
        if outputs is not None and output not in outputs:
            self._problems.at_value(path, f"{model}: {unknown('output', output, outputs)}")
            return None
        return OutputRef(model, output)

    def _inner_reference(self, model: str, name: str, path: KeyPath) -> OutputRef | None:
        try:
            known = self._inner(model)
            return InnerRef(model, name if known is None else resolved(name, known))
        except InputError as error:
            self._problems.at_value(path, f"{model}: {error}")
            return None

    def spec(self, reference: OutputRef) -> OutputSpec | None:
        """The spec of an output; None if its model has problems."""
        return self._outputs.get(reference.model, {}).get(reference.output)


def order(inputs: Mapping[str, Mapping[str, OutputRef]], problems: SceneProblems) -> tuple[str, ...]:
    """The models' names, each after those whose outputs it reads. Cycles are reported as problems."""
    before = {name: dict.fromkeys(ref.model for ref in taken.values()) for name, taken in inputs.items()}
    while True:
        try:
            return tuple(TopologicalSorter(before).static_order())
        except CycleError as error:
            cycle = _from_first(error.args[1][:0:-1], list(inputs))
            _report_cycle(cycle, inputs, problems)
            del before[cycle[0]][cycle[1]]


def _from_first(cycle: list[str], names: list[str]) -> list[str]:
    """The cycle, rotated so that it starts and ends with the model that comes first in the file."""
    start = cycle.index(min(cycle, key=names.index))
    turned = cycle[start:] + cycle[:start]
    return [*turned, turned[0]]


def _report_cycle(cycle: list[str], inputs: Mapping[str, Mapping[str, OutputRef]], problems: SceneProblems) -> None:
    steps = ", ".join(f"{reader} reads from {source}" for reader, source in pairwise(cycle))
    name = next(name for name, ref in inputs[cycle[0]].items() if ref.model == cycle[1])
    problems.at_value(("models", cycle[0], "inputs", name), f"the inputs form a cycle: {steps}")
