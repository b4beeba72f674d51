"""Arguments of functions as parameters: declared by their defaults and annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from .. import params as declared
from ..errors import InputError

TIMES = ("dt", "time")  # arguments that are not parameters


def arguments_of(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """The arguments of a function, with evaluated annotations. Raises `InputError` if not all have a name."""
    try:
        found = list(inspect.signature(function, eval_str=True).parameters.values())
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise InputError(f"{name}: its annotations cannot be evaluated ({error})") from None
    for argument in found:
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            raise InputError(f"{name}: the argument {argument} cannot be passed by name; a model's arguments are")
    return found


def field_of(argument: inspect.Parameter) -> tuple[Any, Any] | None:
    """Annotation and field of the parameter that an argument's default declares; None if it does not declare one."""
    default, annotation = argument.default, argument.annotation
    if isinstance(default, FieldInfo):
        return (type(default.default) if annotation is argument.empty else annotation), default
    if get_origin(annotation) is Literal:
        return annotation, declared.choice(default, get_args(annotation))
    kind = type(default) if annotation is argument.empty else annotation
    if kind is float and isinstance(default, int | float) and not isinstance(default, bool):
        return float, declared.number(float(default))
    return (kind, _DECLARED[kind](default)) if kind in _DECLARED and type(default) is kind else None


_DECLARED: Mapping[Any, Callable[..., Any]] = {
    float: declared.number,
    int: declared.integer,
    bool: declared.switch,
    str: declared.text,
}
