"""`Params`: the parameters of a model or of a layer's style, validated at every change."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ..errors import ParameterError
from .checks import accept, described
from .declare import spec_of
from .spec import Auto, ParamSpec
from .suggest import hint, with_hint


@dataclass(frozen=True)
class Problem:
    """An error in a set of values: the parameter's name (empty: the set as a whole) and a message.

    `in_value` is true if the parameter was given and its value is wrong, false if it is unknown or missing.
    """

    name: str
    message: str
    in_value: bool


class Params(BaseModel):
    """Parameters with limits, units and GUI hints; a subclass declares them with `number(...)` etc.

    Creation or assignment with invalid values raises pydantic's `ValidationError`, which `problems` turns into
    plain messages; `parse` and `change` raise `ParameterError` instead.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, protected_namespaces=(), defer_build=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _check(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            accepted = accept(_specs(cls)[info.field_name or ""], value)
        except ParameterError as error:
            raise PydanticCustomError("parameter", "{reason}", {"reason": str(error)}) from None
        validated = handler(accepted)
        return accepted if isinstance(accepted, Auto) else validated  # pydantic makes plain numbers of it

    def recorded(self) -> Hashable:
        """What models are built for, besides the parameters that rebuild them: where it changes, this does, too."""
        return None

    @classmethod
    def specs(cls) -> list[ParamSpec]:
        """The spec of each parameter, in the order of declaration."""
        return list(_specs(cls).values())

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parameters from plain values. Raises `ParameterError` that names every problem."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise ParameterError(_message(cls.problems(error))) from None

    def change(self, name: str, value: Any) -> None:
        """Set one parameter. Raises `ParameterError`; the value is then unchanged."""
        try:
            setattr(self, name, value)
        except ValidationError as error:
            raise ParameterError(_message(self.problems(error))) from None

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """A copy with some values set, validated together. Raises `ParameterError` that names every problem."""
        return self.parse({**dict(self), **values})

    def take(self, other: Self) -> None:
        """Take over all values of `other`, of the same class: what holds these parameters sees them at once."""
        assert isinstance(other, type(self)), f"{type(self).__name__} cannot take {type(other).__name__}"
        object.__setattr__(self, "__dict__", dict(vars(other)))

    @classmethod
    def problems(cls, error: ValidationError) -> list[Problem]:
        """Pydantic's errors as plain messages."""
        return [_problem(cls, details) for details in error.errors(include_url=False)]


@cache
def _specs(params: type[Params]) -> dict[str, ParamSpec]:
    return {name: spec_of(name, field) for name, field in params.model_fields.items()}


def _problem(params: type[Params], details: ErrorDetails) -> Problem:
    name = str(details["loc"][0]) if details["loc"] else ""
    match details["type"]:
        case "extra_forbidden" | "no_such_attribute":
            return Problem(name, with_hint("unknown parameter", hint(name, params.model_fields)), False)
        case "missing":
            return Problem(name, "must be given", False)
        case "parameter":
            return Problem(name, details["msg"], True)
        case "value_error":
            return Problem(name, str(details.get("ctx", {}).get("error", details["msg"])), bool(name))
    return Problem(name, f"{details['msg']}, got {described(details['input'])}", bool(name))


def _message(problems: list[Problem]) -> str:
    return "\n".join(f"{problem.name}: {problem.message}".removeprefix(": ") for problem in problems)
