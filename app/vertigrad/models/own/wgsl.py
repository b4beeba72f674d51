"""`Wgsl`: a model with no Python at all: the scene names a shader, its tensors, passes and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import create_model

from ... import params
from ...errors import InputError, ParameterError
from ...params import file
from ..base import Fault, Model
from ..custom_model import CustomModel
from .wgsl_table import KEYS, First, Pass, declared_inputs, declared_params, declared_passes, declared_tensors

MAX_BYTES = 1 << 20

_classes: dict[tuple[str, str], type[Model]] = {}  # one class for equal tables: its models continue then


class Params(params.Params):
    """Which shader. A scene's own parameters are added to these."""

    shader: Path = file(..., suffixes=[".wgsl"], rebuild=False, doc="WGSL file with the kernels")


class Wgsl(CustomModel):
    """A model described by a scene: each step runs its passes in order, a reset those of `start`.

    The class of a scene's model is created by `declare`, since tensors, passes and parameters depend on the scene.
    """

    Params = Params
    tables = frozenset(KEYS)
    tensors: ClassVar[Mapping[str, Any]] = {}
    first: ClassVar[Mapping[str, First]] = {}  # values of the tensors
    passes: ClassVar[Sequence[Pass]] = ()
    starts: ClassVar[Sequence[Pass]] = ()

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Any], seed: int):
        self.shader, self.shader_file = _text(params.shader), params.shader.name
        super().__init__(name, params, inputs, seed)

    def start(self, random: np.random.Generator) -> Mapping[str, Any]:
        return {name: first.values(self._tensors[name].shape, random) for name, first in self.first.items()}

    def reset(self) -> None:
        super().reset()
        self._run(self.starts)

    def advance(self, dt: float) -> None:
        self._run(self.passes)

    def reload_file(self, name: str) -> bool:
        """Take the shader in; the tensors stay as they are."""
        before, self.shader = self.shader, _text(self.params.shader)
        self.forget_kernels()
        try:
            for one in (*self.starts, *self.passes):
                self.prepare(one.entry, one.size(self.params))
        except BaseException:
            self.shader = before
            self.forget_kernels()
            raise
        return True

    def _run(self, passes: Sequence[Pass]) -> None:
        for one in passes:
            self.run(one.entry, one.size(self.params))


def declare(table: Mapping[str, Any], find: Callable[[str], Path]) -> tuple[type[Model], list[Fault]]:
    """The class of model that a scene's table describes, and what is wrong with the table.

    `find` is how the scene's files are looked up; what it raises is left to whoever reads the parameter `shader`.
    """
    faults: list[Fault] = []
    fields = declared_params(table, faults)
    tensors, first = declared_tensors(table, fields, faults)
    inputs = declared_inputs(table)
    text = ""
    try:
        text = _text(find(table["shader"]))
    except (ParameterError, KeyError, TypeError, AttributeError):
        pass
    except InputError as error:
        faults.append(Fault(("shader",), str(error)))
    passes = declared_passes("passes", table, fields, text, faults)
    starts = declared_passes("start", table, fields, text, faults)
    if "passes" not in table:
        faults.append(Fault((), 'needs passes, such as passes = [{ entry = "main", threads = "count" }]', False))
    signature = repr([table.get(key) for key in KEYS]), repr(sorted(inputs))
    if not faults and signature in _classes:
        return _classes[signature], faults
    own = {
        "Params": create_model("Params", __base__=Params, **fields),  # type: ignore[call-overload]
        "tensors": tensors,
        "first": first,
        "passes": passes,
        "starts": starts,
        "inputs": inputs,
        "required_inputs": frozenset(inputs),
        "__doc__": Wgsl.__doc__,
    }
    kind = type("Wgsl", (Wgsl,), own)
    if not faults:
        _classes[signature] = kind
    return kind, faults


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            raise InputError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB")
        return content.decode("utf-8")
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8") from None
