"""Write docs/api/MODULE.md: the reference of the public Python interface, from signatures and docstrings.

With --check nothing is written; the exit code is 1 if the pages are outdated.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import get_origin

DOCS = Path(__file__).parent.parent / "docs" / "api"
MODULES = (
    "vertigrad",
    *(
        f"vertigrad.{name}"
        for name in (
            "gpu",
            "language",
            "learn",
            "models",
            "onnx_import",
            "ops",
            "params",
            "results",
            "scripting",
            "sweeps",
        )
    ),
)
SPECIAL = ("__getitem__", "__setitem__")  # of the special methods; operators are NumPy's


def page(module: ModuleType) -> str:
    """The page of one module."""
    entries = [entry for name in sorted(module.__all__, key=str.lower) if (entry := described(module, name))]
    return "\n\n".join([f"# `{module.__name__}`", doc(module), *entries]) + "\n"


def described(module: ModuleType, name: str) -> str:
    """A class, a function or a constant; modules have separate pages."""
    thing = getattr(module, name)
    if inspect.ismodule(thing):
        return ""
    if inspect.isclass(thing):
        return "\n\n".join([f"## class `{name}{signature(thing)}`", doc(thing), *members(thing)])
    if callable(thing) and get_origin(thing) is None:
        return f"## `{name}{signature(thing)}`\n\n{doc(thing)}"
    return f"## `{name}`\n\n`{re.sub(r'[a-z_]+[.](?=[A-Za-z_])', '', repr(thing))}`"  # a type: without its modules


def members(cls: type) -> Iterator[str]:
    """The public methods and properties that a class itself, or one of its bases here, defines and describes."""
    for name, raw in sorted(inspect.getmembers_static(cls)):
        own = isinstance(raw, property | classmethod | staticmethod) or inspect.isfunction(raw)
        if not own or (name.startswith("_") and name not in SPECIAL):
            continue
        thing = raw.fget if isinstance(raw, property) else getattr(cls, name)
        if not (thing.__module__ or "").startswith("vertigrad") or not thing.__doc__:
            continue
        arguments = "" if isinstance(raw, property) else signature(thing)
        yield f"### `{cls.__name__}.{name}{arguments}`\n\n{doc(thing)}"


class Annotation(str):
    """A type as it is written in the code, which is shown without quotes."""

    __repr__ = str.__str__


def signature(thing: object) -> str:
    """Its arguments, without `self`, with types as they are written in the code."""
    if inspect.isclass(thing) and issubclass(thing, Enum):
        return ""
    try:
        found = inspect.signature(thing)  # pyright: ignore[reportArgumentType]
    except ValueError:
        return ""
    parameters = [p.replace(annotation=written(p.annotation)) for p in found.parameters.values() if p.name != "self"]
    returns = written(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=returns)).removesuffix(" -> None")


def written(annotation: object) -> object:
    """An annotation that `inspect` shows as it is written."""
    return Annotation(annotation) if isinstance(annotation, str) else annotation


def doc(thing: object) -> str:
    """Its docstring."""
    return inspect.cleandoc(thing.__doc__ or "")


def main() -> int:
    """Write the pages, or with --check compare them."""
    modules = [importlib.import_module(name) for name in MODULES]
    new = {DOCS / f"{module.__name__.rpartition('.')[2]}.md": page(module) for module in modules}
    if "--check" in sys.argv[1:]:
        return 0 if new == {file: file.read_text(encoding="utf-8") for file in DOCS.glob("*.md")} else 1
    DOCS.mkdir(exist_ok=True)
    for file, text in new.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
