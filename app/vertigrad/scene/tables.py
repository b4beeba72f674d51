"""Parameters from a table of the scene file; unknown keys and wrong values are reported as problems."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..errors import ParameterError
from ..params import Params, ParamSpec, Problem, accept, described, hint, with_hint
from . import files
from .locate import KeyPath
from .problems import SceneProblems

P = TypeVar("P", bound=Params)

LONGEST_NAME = 60  # characters

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Checked(Generic[P]):
    """Checked parameters. If not `sound`, wrong ones have their default, or `params` is None."""

    params: P | None
    sound: bool


@dataclass(frozen=True)
class Reader:
    """Reads tables of one scene file, whose files are in `folder`, or `opened` by a script: whole paths."""

    folder: Path
    problems: SceneProblems
    opened: Collection[str] = ()

    def table(self, values: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        """The table at the end of `path` in `values`; empty if it is missing or not a table."""
        found = values.get(str(path[-1]), {})
        if isinstance(found, dict):
            return found
        self.problems.at_value(path, f"expected a table, got {described(found)}")
        return {}

    def tables(self, values: Mapping[str, Any], path: KeyPath) -> dict[str, dict[str, Any]]:
        """The tables in the table at the end of `path`, by name; other entries are reported as problems."""
        found = self.table(values, path)
        for name, entry in found.items():
            if not isinstance(entry, dict):
                self.problems.at_value((*path, name), f"expected a table, got {described(entry)}")
        return {name: entry for name, entry in found.items() if isinstance(entry, dict)}

    def named_tables(self, values: Mapping[str, Any], section: str) -> dict[str, dict[str, Any]]:
        """The tables of `models` or `layers`; names that cannot be used in a reference are reported as problems."""
        found = self.tables(values, (section,))
        for name in found:
            if not _NAME.fullmatch(name):
                rule = "a name is made of letters, digits, - and _, and starts with a letter or _"
                self.problems.at_key((section, name), rule)
        return found

    def refuse_unknown(self, names: Iterable[str], known: Iterable[str], path: KeyPath, kind: str) -> None:
        """Report every key that is not known as a problem."""
        known = list(known)
        for name in names:
            if name not in known:
                self.problems.at_key((*path, name), with_hint(f"unknown {kind}", hint(name, known)))

    def section(
        self, kind: type[P], values: Mapping[str, Any], path: KeyPath, ignored: Sequence[str] = ()
    ) -> Checked[P]:
        """Parameters of `kind` from the table at the end of `path`; other keys are reported as problems.

        Keys in `ignored` are allowed and not read.
        """
        table = self.table(values, path)
        self.refuse_unknown(table, (*kind.model_fields, *ignored), path, "key")
        return self.params(kind, table, path)

    def params(self, kind: type[P], values: Mapping[str, Any], path: KeyPath) -> Checked[P]:
        """Parameters of `kind` from the entries of `values` with their names; other entries are ignored."""
        entries = {name: value for name, value in values.items() if name in kind.model_fields}
        usable = self._with_files(kind, entries, path)
        try:
            return Checked(kind.model_validate(usable), sound=len(usable) == len(entries))
        except ValidationError as error:
            problems = kind.problems(error)
        for problem in problems:
            self._report(path, problem, entries=entries, usable=usable)
        return Checked(_rest(kind, usable, {problem.name for problem in problems}), sound=False)

    def value(self, spec: ParamSpec, value: Any, path: KeyPath) -> tuple[Any, ...]:
        """The value of one parameter, in a tuple; an empty tuple if it is wrong, which is reported as a problem."""
        try:
            is_name = spec.kind == "file" and isinstance(value, str)
            return (accept(spec, files.find(value, self.folder, self.opened) if is_name else value),)
        except ParameterError as error:
            self.problems.at_value(path, str(error))
            return ()

    def _report(self, path: KeyPath, problem: Problem, *, entries: Mapping, usable: Mapping) -> None:
        if not problem.name:
            self.problems.at_key(path, problem.message)
        elif problem.name in usable:
            self.problems.at_value((*path, problem.name), problem.message)
        elif problem.name not in entries:  # a file that was not found has been reported already
            self.problems.at_key(path, f"{problem.name} {problem.message}")

    def _with_files(self, kind: type[Params], values: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        """The values with paths of files; files that were not found are omitted."""
        usable = dict(values)
        for spec in kind.specs():
            if spec.kind != "file" or not isinstance(usable.get(spec.name), str):
                continue
            try:
                usable[spec.name] = files.find(usable[spec.name], self.folder, self.opened)
            except ParameterError as error:
                self.problems.at_value((*path, spec.name), str(error))
                del usable[spec.name]
        return usable


def name_objection(what: str, name: str) -> str:
    """The problem with the name of a preset or a bookmark; empty if it is valid."""
    if not name.strip() or not name.isprintable():
        return f"a {what} needs a name that can be read"
    return f"a {what}'s name has at most {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else ""


def _rest(kind: type[P], values: Mapping[str, Any], wrong: set[str]) -> P | None:
    try:
        return kind.model_validate({name: value for name, value in values.items() if name not in wrong})
    except ValidationError:
        return None
