"""Every error Vertigrad raises, in one tree.

VertigradError                    exit code
├── InputError                        2     what the user gave cannot be used
│   ├── SceneError                          a scene file, with every problem in it
│   ├── ParameterError                      a value outside a parameter's type or range
│   ├── FileChanged                         a scene file that somebody wrote since it was read
│   ├── FileProtected                       a scene file that may not be written at its path
│   ├── CodeError                           a scene's own Python, with file and line
│   ├── UntrustedCode                       a scene's own Python that nobody has allowed to run
│   └── UnsupportedOp                       a network with nodes that cannot be run, every one of them
├── RequirementError                  3     a requirement asked for was not met
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
    ├── GradientError                       there is no gradient, or what it needs is gone
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
    """Something the user gave (file, option, value) cannot be used."""

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
    """A parameter was given a value of the wrong type or outside its limits, or does not exist."""


class UnsupportedOp(InputError):
    """A network has nodes that cannot be run here; carries a line for each of them, in the order of the graph."""

    def __init__(self, source: str, reasons: Sequence[str]):
        self.source = source
        self.reasons = tuple(reasons)
        super().__init__("\n".join([f"{source}: {len(self.reasons)} unsupported", *(f"  {r}" for r in self.reasons)]))


class FileChanged(InputError):
    """A scene file is not what it was when it was read; writing it would undo what somebody else did."""


class FileProtected(InputError):
    """A scene file comes with Vertigrad, or its permissions forbid that it is written; another name is needed."""


class CodeError(InputError):
    """The Python of a scene's own model, in `file`, cannot be run, or raised something; says file and line."""

    def __init__(self, message: str, file: Path | None = None):
        self.file = file
        super().__init__(message)


class UntrustedCode(InputError):
    """A scene would run Python that the user has not allowed to run; nothing of it ran.

    `files` are those asked for, `texts` the digests of what they said.
    """

    def __init__(self, message: str, texts: Mapping[Path, str]):
        self.files, self.texts = tuple(texts), dict(texts)
        super().__init__(message)


class RequirementError(VertigradError):
    """A requirement stated by the user (`--require-zero-copy`) was not met."""

    exit_code = 3


class NoAdapter(VertigradError):
    """No usable GPU, or none that fits what was asked for."""

    exit_code = 4


class GpuError(VertigradError):
    """The device refused something."""


class OutOfMemory(GpuError):
    """An allocation failed after everything that could be given back was."""


class LimitError(GpuError):
    """A buffer, binding or dispatch is larger than the adapter allows."""


class ShaderError(GpuError):
    """WGSL that does not compile, or a kernel called with bindings or fields that do not fit it."""


class WrongThread(GpuError):
    """The GPU belongs to the thread that opened it; nothing was recorded or changed by this call from another one."""


class DeviceLost(GpuError):
    """The device is gone; nothing recorded on it can be finished."""


class LifetimeError(VertigradError):
    """Memory was used at a time at which it must not be."""


class UseAfterFree(LifetimeError):
    """A handle was used after it was closed or its block was freed."""


class StillInUse(LifetimeError):
    """Something was to be freed or handed out while it was still needed."""


class BorrowInUse(LifetimeError):
    """Borrowed host memory was to be given back while a tensor still needs it, or changed under the borrow."""


class TensorError(VertigradError):
    """A tensor does not fit what was asked of it."""


class ShapeError(TensorError):
    """Shapes that do not go together, or an index outside of one."""


class DtypeError(TensorError):
    """An element type that is unknown, unsupported here, or out of range for a value."""


class GradientError(TensorError):
    """A gradient that cannot be worked out: nothing made it, or what it needs was freed or written."""


class LayoutError(TensorError):
    """A tensor cannot be bound in its layout; names the tensor, the number that does not fit, and the fix."""
