"""Every error Vertigrad raises, in one tree.

VertigradError                    exit code
├── InputError                        2     input of the user that cannot be used
│   ├── SceneError                          a scene file, with every problem in it
│   ├── ParameterError                      a value outside a parameter's type or range
│   ├── FileChanged                         a scene file that was changed since it was read
│   ├── FileProtected                       a scene file that may not be written at its path
│   ├── CodeError                           a scene's own Python, with file and line
│   ├── UntrustedCode                       a scene's own Python that the user has not allowed to run
│   ├── UnsupportedOp                       a network with nodes that cannot be run, with a list of them
│   ├── Redecided                           numbers that decide shapes in a network have changed
│   └── Beyond32Bits                        64-bit integers in a network that its program holds in 32 bits
├── RequirementError                  3     a requirement of the user was not met
├── NoAdapter                         4     no usable GPU
├── GpuError                          1
│   ├── OutOfMemory
│   ├── LimitError                          larger than the adapter allows
│   ├── ShaderError                         WGSL that does not compile or fit its bindings
│   ├── WrongThread                         called from another thread than the one that opened the GPU
│   └── DeviceLost
├── LifetimeError                     1     memory used at the wrong time
│   ├── UseAfterFree
│   ├── StillInUse
│   └── BorrowInUse
└── TensorError                       1
    ├── ShapeError
    ├── DtypeError
    ├── GradientError                       there is no gradient, or values that it needs were freed
    └── LayoutError                         cannot be bound in its layout

A message says what was wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .deprecation import renamed_attribute


class VertigradError(Exception):
    """Root of the tree. `exit_code` is what the command line returns for it."""

    exit_code = 1


class InputError(VertigradError):
    """Input of the user (file, option, value) cannot be used."""

    exit_code = 2


@dataclass(frozen=True)
class SceneProblem:
    """A problem in a scene file: its position, the key and a message.

    `line` and `column` count from 1. `key` is the dotted path of the entry, empty if it concerns the whole file.
    """

    line: int
    column: int
    key: str
    message: str


class SceneError(InputError):
    """A scene file that cannot be used; carries all of its problems, in file order."""

    def __init__(self, path: str, problems: Sequence[SceneProblem]):
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(self._line(problem) for problem in self.problems))

    mistakes = renamed_attribute("mistakes", "problems")

    def _line(self, problem: SceneProblem) -> str:
        where = f"{self.path}:{problem.line}:{problem.column}"
        return f"{where}  {problem.key}: {problem.message}" if problem.key else f"{where}  {problem.message}"


class ParameterError(InputError):
    """A value has the wrong type or is outside of its parameter's limits, or the parameter does not exist."""


class UnsupportedOp(InputError):
    """A network has nodes that cannot be run here; carries a line for each of them, in the order of the graph."""

    def __init__(self, source: str, reasons: Sequence[str]):
        self.source = source
        self.reasons = tuple(reasons)
        super().__init__("\n".join([f"{source}: {len(self.reasons)} unsupported", *(f"  {r}" for r in self.reasons)]))


class Redecided(InputError):
    """Numbers that decide shapes in a network are others than those that a program was recorded for."""


class Beyond32Bits(InputError):
    """Numbers of 64-bit integers do not fit the 32 bits that a program of a network has for them.

    `names` are the inputs and nodes that they come from.
    """

    def __init__(self, message: str, names: frozenset[str]):
        self.names = names
        super().__init__(message)


class FileChanged(InputError):
    """A scene file was changed by another program since it was read; writing it would undo that."""


class FileProtected(InputError):
    """A scene file comes with Vertigrad, or its permissions forbid that it is written; another name is needed."""


class CodeError(InputError):
    """The Python of a scene's own model, in `file`, cannot be run or raised an exception; has file and line."""

    def __init__(self, message: str, file: Path | None = None):
        self.file = file
        super().__init__(message)


class UntrustedCode(InputError):
    """A scene would run Python that the user has not allowed to run; nothing of it ran.

    `files` are those that need permission, `texts` the digests of their contents.
    """

    def __init__(self, message: str, texts: Mapping[Path, str]):
        self.files, self.texts = tuple(texts), dict(texts)
        super().__init__(message)


class RequirementError(VertigradError):
    """A requirement stated by the user (`--require-zero-copy`) was not met."""

    exit_code = 3


class NoAdapter(VertigradError):
    """No usable GPU, or none that matches the request."""

    exit_code = 4


class GpuError(VertigradError):
    """The device reported an error."""


class OutOfMemory(GpuError):
    """An allocation failed, although all unused memory had been released."""


class LimitError(GpuError):
    """A buffer, binding or dispatch is larger than the adapter allows."""


class ShaderError(GpuError):
    """WGSL that does not compile, or a kernel called with bindings or fields that do not fit it."""


class WrongThread(GpuError):
    """The GPU was called from another thread than the one that opened it; the call changed nothing."""


class DeviceLost(GpuError):
    """The device was lost; commands recorded on it cannot be finished."""


class LifetimeError(VertigradError):
    """Memory was used at the wrong time."""


class UseAfterFree(LifetimeError):
    """A handle was used after it was closed or its block was freed."""


class StillInUse(LifetimeError):
    """Memory should have been freed or reused while it was still needed."""


class BorrowInUse(LifetimeError):
    """Borrowed host memory should have been released while a tensor still needs it, or was moved while borrowed."""


class TensorError(VertigradError):
    """A tensor does not fit an operation."""


class ShapeError(TensorError):
    """Shapes that do not match, or an index outside of a shape."""


class DtypeError(TensorError):
    """An element type that is unknown, unsupported here, or out of range for a value."""


class GradientError(TensorError):
    """A gradient that cannot be computed: there is no graph, or values that it needs were freed or written."""


class LayoutError(TensorError):
    """A tensor cannot be bound in its layout; names the tensor, the value that does not fit, and the fix."""
