"""Models written in Python, in a file next to the scene: `type = "rings.py:Rings"`.

A file is run once for each version of it. Exceptions from it, then or later, become a `CodeError` with file and line.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import CodeError, DeviceLost, OutOfMemory, ParameterError
from ..models.base import Model
from ..params import Params, unknown
from . import trust
from .files import find

PATTERN = re.compile(r"(.+\.py):(\w+)")
MAX_BYTES = 1 << 20

_PREFIX = "vertigrad_scene_"  # of the names of their modules
_modules: dict[Path, tuple[bytes, ModuleType]] = {}


def named_files(values: Mapping[str, Any], folder: Path, opened: Collection[str] = ()) -> list[Path]:
    """The existing files with code that the models of a scene in `folder` name: of Python, or models of PyTorch."""
    models = values.get("models")
    found = []
    for table in models.values() if isinstance(models, dict) else ():
        name = _named_file(table) if isinstance(table, dict) else ""
        try:
            found += [find(name, folder, opened)] if name else []
        except ParameterError:
            continue  # reported when the model is read
    return found


def _named_file(table: Mapping[str, Any]) -> str:
    matched = PATTERN.fullmatch(str(table.get("type")))
    if matched is not None:
        return matched[1]
    return str(table.get("file", "")) if table.get("type") == "torch" else ""


class SceneFiles:
    """The files in a scene's folder, as models look them up, and run the Python in them."""

    def __init__(self, folder: Path, opened: Collection[str] = ()):
        self._folder, self._opened = folder, opened

    def __call__(self, text: str) -> Path:
        """The file of this name. Raises `ParameterError` if there is none."""
        return find(text, self._folder, self._opened)

    def entry(self, file: Path, name: str) -> Any:
        """The function or class `name` of a Python file. Raises `CodeError`, `UntrustedCode`."""
        module = _module(file)
        if name not in vars(module):
            own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
            raise CodeError(f"{file.name}: {unknown('function or class', name, own)}")
        return vars(module)[name]

    def guarded(self, function: Callable[..., Any], file: Path) -> Callable[..., Any]:
        """The function with exceptions turned into a `CodeError` that names the line of the file."""
        return _guarded(function, file)

    def require_trust(self, file: Path) -> None:
        """Raise `UntrustedCode` unless the file, which may run code, may be loaded with its current content."""
        trust.require(file, [file])


def model_class(file: Path, name: str) -> type[Model]:
    """The class of model that a file defines, cached while its text is the same. Raises `CodeError`."""
    module = _module(file)
    kind = vars(module).get(name)
    own = [key for key, value in vars(module).items() if _is_model(value) and value.__module__ == module.__name__]
    if kind is None:
        raise CodeError(f"{file.name}: {unknown('class', name, own)}")
    where = f"{file.name}:{_line(kind)}: {name}"
    if not _is_model(kind):
        raise CodeError(
            f"{where} is not a model; derive it from vertigrad.models.CustomModel or vertigrad.models.Model"
        )
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise CodeError(f"{where} lacks {', '.join(missing)}")
    if not (isinstance(getattr(kind, "Params", None), type) and issubclass(kind.Params, Params)):
        raise CodeError(f"{where} needs a class Params, derived from vertigrad.params.Params")
    try:
        kind.Params.specs()
    except TypeError as error:
        raise CodeError(f"{where}.Params: {error}") from error
    return kind


def source(kind: type) -> Path | None:
    """The file that a class of model was loaded from, or whose code it runs; None for those of Vertigrad."""
    if issubclass(kind, Model) and kind.code_file is not None:
        return kind.code_file
    if not kind.__module__.startswith(_PREFIX):
        return None
    return Path(str(sys.modules[kind.__module__].__file__))


def _module(file: Path) -> ModuleType:
    text = _text(file)
    known = _modules.get(file)
    if known is None or known[0] != text:
        trust.require_text(file, text)
        known = _modules[file] = text, _run(file, text)
    return known[1]


def _text(file: Path) -> bytes:
    try:
        text = file.read_bytes()
    except OSError as error:
        raise CodeError(f"{file.name}: cannot be read: {error.strerror}") from error
    if len(text) > MAX_BYTES:
        raise CodeError(f"{file.name}: is larger than {MAX_BYTES >> 20} MiB")
    return text


def _run(file: Path, text: bytes) -> ModuleType:
    """Run the text as a module. If it raises, the last good module of this file remains in `sys.modules`."""
    name = f"{_PREFIX}{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    module, before = ModuleType(name), sys.modules.get(name)
    module.__file__ = str(file)
    sys.modules[name] = module  # annotations are looked up there
    try:
        exec(compile(text, str(file), "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise code_error(error, file) from error
    for value in list(vars(module).values()):
        if _is_model(value) and value.__module__ == name:
            _guard(value, file)
    return module


def code_error(error: BaseException, file: Path) -> CodeError:
    """An exception from the Python of `file` as a `CodeError`, with the line."""
    if isinstance(error, CodeError):
        return error
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return CodeError(f"{file.name}:{error.lineno or 1}: {error.msg}", file)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    message = str(error) or "no message"
    kind = "" if type(error).__module__.startswith("vertigrad.") else f"{type(error).__name__}: "
    return CodeError(f"{file.name}:{lines[-1] if lines else 1}: {kind}{message}", file)


def _guard(kind: type[Model], file: Path) -> None:
    for name, value in list(vars(kind).items()):
        if isinstance(value, classmethod):
            setattr(kind, name, classmethod(_guarded(value.__func__, file)))
        elif inspect.isfunction(value):
            setattr(kind, name, _guarded(value, file))


def _guarded(function: Callable[..., Any], file: Path) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (DeviceLost, OutOfMemory):
            raise
        except (Exception, SystemExit) as error:
            raise code_error(error, file) from error

    return call


def _is_model(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Model)


def _line(thing: Any) -> int:
    try:
        return inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return 1
