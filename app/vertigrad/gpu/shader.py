"""WGSL files as templates: `//%` line statements and `${}` expressions, rendered with Jinja2."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import jinja2.bccache
import jinja2.meta

from .. import resources
from ..errors import ShaderError

_LINE_STATEMENT = "//%"
_MARK = re.compile("\x01(.*?):(\\d+)\x02")  # put before each line to learn where it went
_POSITION = re.compile(r"error: (.*)\n\s*┌─ .*?:(\d+):\d+\n")  # in compiler messages
_REASON = re.compile(r"^\s*= (.*)", re.MULTILINE)

_texts: dict[str, str] = {}  # of every file that was used; those that are edited wrongly stay as they were
_shipped: dict[str, str] = {}  # the same, as they were read first


class _CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Templates as Python compiled them, on disk: Jinja2 takes a tenth of a second for ten of them.

    A file is for a name and a text, and for the versions in its name; `OPTIONS` counts up when those of the environment
    change.
    """

    OPTIONS = 1

    def __init__(self) -> None:
        version = f"{self.OPTIONS}-{metadata.version('jinja2')}"
        super().__init__(str(resources.cache_folder() / "templates"), f"{version}-%s")

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # a damaged file: unpickling raises anything
            bucket.reset()

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with suppress(OSError):  # it is compiled again next time
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_load),
        line_statement_prefix=_LINE_STATEMENT,
        variable_start_string="${",
        variable_end_string="}",
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        undefined=jinja2.StrictUndefined,
        bytecode_cache=_CompiledTemplates(),
        keep_trailing_newline=True,  # an included file must not swallow the line after it into its last comment
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, defines: Mapping[str, Any] | None = None) -> str:
    """The WGSL of the shader file `name` (relative to `shaders/`), its template values taken from `defines`.

    Raises `ShaderError` naming file and line if the template is wrong or a value is missing.
    """
    try:
        return _environment().get_template(name).render(defines or {})
    except jinja2.TemplateSyntaxError as error:
        raise ShaderError(f"shaders/{error.name or name}:{error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise ShaderError(f"{_where(name, error)}: {error.message}; give it in defines") from error
    except (ArithmeticError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        message = str(error).replace("'StrictUndefined' object", "a value that is not given")
        raise ShaderError(f"{_where(name, error)}: {message}") from error


def with_origin(message: str, name: str, defines: Mapping[str, Any] | None = None) -> str:
    """A compiler message about the rendered file `name`, with the file and the line that it came from.

    The line may be one of a file that is included. A message without a line is returned as it is.
    """
    first_line, line = parse_message(message)
    if line is None:
        return message
    lines = _origins(name, defines)
    origin = lines[min(line, len(lines)) - 1]  # what is missing at the end is reported on the line after it
    text = _texts[origin.file].splitlines()[origin.line - 1].strip()
    return f"shaders/{origin.file}:{origin.line}: {first_line}\n{origin.line} | {text}"


def parse_message(message: str) -> tuple[str, int | None]:
    """A compiler message as one line, and its line number in the WGSL; None if it has none."""
    match = _POSITION.search(message)
    if match is None:
        return message, None
    return ": ".join([match[1].strip(), *_REASON.findall(message)]), int(match[2])


def used() -> Mapping[str, str]:
    """The files that were rendered or included so far, with their text as it is in use."""
    return _texts


def is_as_shipped(name: str) -> bool:
    """Whether neither the file nor what it includes was edited since it was read first, and so is as it was tested."""
    edited = {file for file, text in _texts.items() if text != _shipped[file]}
    return name not in dependents(edited)


def dependents(names: Collection[str]) -> set[str]:
    """`names` and every file in use that includes one of them, directly or not."""
    found = set(names)
    while more := {name for name in _texts.keys() - found if found and _included(_texts[name]) & found}:
        found |= more
    return found


@contextmanager
def replaced(texts: Mapping[str, str]) -> Iterator[None]:
    """Files in use have another text from here on; the old one is restored if the block raises."""
    before = {name: _texts[name] for name in texts}
    _set(texts)
    try:
        yield
    except BaseException:
        _set(before)
        raise


def forget() -> None:
    """Clear the cache: files are read again when they are needed."""
    for texts in (_texts, _shipped):
        texts.clear()
    _environment.cache_clear()


class _SourceLine(NamedTuple):
    file: str
    line: int


def _origins(name: str, defines: Mapping[str, Any] | None) -> list[_SourceLine]:
    """Where each line of the rendered file `name` came from: rendered once more, with every line marked."""
    marked = _environment().overlay(loader=jinja2.FunctionLoader(_load_marked), bytecode_cache=None)
    lines, last = [], _SourceLine(name, 1)
    for line in marked.get_template(name).render(defines or {}).splitlines():
        for mark in _MARK.finditer(line):
            last = _SourceLine(mark[1], int(mark[2]))
        lines.append(last)
    return lines


def _load(name: str) -> tuple[str, str, None]:
    """Text and path of a template; Jinja2 gives its traceback that path."""
    if name not in _texts:
        _texts[name] = _shipped[name] = resources.shader(name)
    return _texts[name], f"shaders/{name}", None


def _load_marked(name: str) -> tuple[str, str, None]:
    lines = _load(name)[0].splitlines(keepends=True)
    marked = (f"\x01{name}:{number}\x02{line}" if _is_rendered(line) else line for number, line in enumerate(lines, 1))
    return "".join(marked), f"shaders/{name}", None


def _is_rendered(line: str) -> bool:
    """Whether a line is one of the result in any case: statements are not, nor are empty lines that follow them."""
    return bool(line.strip()) and not line.lstrip().startswith(_LINE_STATEMENT)


@lru_cache
def _included(text: str) -> frozenset[str | None]:
    try:
        return frozenset(jinja2.meta.find_referenced_templates(_environment().parse(text)))
    except jinja2.TemplateSyntaxError:
        return frozenset()


def _set(texts: Mapping[str, str]) -> None:
    _texts.update(texts)
    if (templates := _environment().cache) is not None:
        templates.clear()


def _where(name: str, error: Exception) -> str:
    """File and line of the template expression that raised `error`."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("shaders/")]
    return f"{lines[-1].filename}:{lines[-1].lineno}" if lines else f"shaders/{name}"
