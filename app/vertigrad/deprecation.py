"""Old names of functions, arguments and attributes, which still work, with a `FutureWarning`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def renamed_arguments(values: Mapping[Any, Any] | None = None, /, **names: str) -> Callable[[F], F]:
    """Accept old names of keyword arguments, passed as old="new", and old `values` of these arguments."""

    def decorate(function: F) -> F:
        called = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            for old in names.keys() & named.keys():
                warnings.warn(f"{called}: {old} is now called {names[old]}", FutureWarning, stacklevel=2)
                value = named.pop(old)
                named[names[old]] = (values or {}).get(value, value)
            return function(*arguments, **named)

        return cast(F, wrapper)

    return decorate


def recorded(old: str, new: str, function: Callable[..., Any], callers: int = 1) -> Callable[..., None]:
    """The function `old`, whose first argument was the plan to add to: calls `function` inside of a recording.

    The warning points at the caller's line, `callers` functions up.
    """

    def wrapper(plan: Any, *arguments: Any, **named: Any) -> None:
        warnings.warn(
            f"{old}(plan, ...) is now {new}(...) inside of plan.recording()", FutureWarning, stacklevel=1 + callers
        )
        with plan.recording():
            function(*arguments, **named)

    return wrapper


def renamed_method(old: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method `function` by its old name."""

    def wrapper(instance: object, *arguments: Any, **named: Any) -> Any:
        warnings.warn(f"{type(instance).__name__}.{old} is now called {function.__name__}", FutureWarning, stacklevel=2)
        return function(instance, *arguments, **named)

    return wrapper


def renamed_attribute(old: str, new: str) -> Any:
    """A property for the old name of an attribute, for reading and writing."""

    def warn(instance: object) -> None:
        warnings.warn(f"{type(instance).__name__}.{old} is now called {new}", FutureWarning, stacklevel=3)

    def get(instance: object) -> Any:
        warn(instance)
        return getattr(instance, new)

    def set_(instance: object, value: Any) -> None:
        warn(instance)
        setattr(instance, new, value)

    return property(get, set_, doc=f"Old name of `{new}`.")
