"""What a command is, and how one is made of a function, or of a method of a part of the session."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from .session import Session

P = ParamSpec("P")
T = TypeVar("T")


class Command(Protocol):
    """A change of the session. Applied at the start of a frame and nowhere else."""

    @property
    def topic(self) -> str:
        """What it is about: the message that it fails with stands until one of the same topic succeeds."""
        ...

    def apply(self, session: Session) -> None:
        """Carry the change out. What it raises of `VertigradError` is shown to the user; the session goes on."""


def command(topic: str) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[P, Command]]:
    """Make a class of commands of a function: `apply` calls it, and its parameters after the session are the fields.

    The commands are immutable values, equal if their fields are. `topic` may name fields, as in "{owner}.{name}".
    """

    def created(function: Callable[Concatenate[Session, P], None]) -> Callable[P, Command]:
        return _class(topic, function, function)

    return created


def command_of(
    topic: str, part: Callable[[Session], T]
) -> Callable[[Callable[Concatenate[T, P], None]], Callable[P, Command]]:
    """As `command`, of methods of a part of the session."""

    def created(method: Callable[Concatenate[T, P], None]) -> Callable[P, Command]:
        def call(session: Session, **values: Any) -> None:
            getattr(part(session), method.__name__)(**values)

        return _class(topic, method, call)

    return created


class _Fields:
    """A value that is immutable: its fields are those of `signature`. A class as a dataclass takes long to create."""

    signature: ClassVar[inspect.Signature]

    def __init__(self, *values: Any, **named: Any):
        bound = self.signature.bind(*values, **named)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _class(topic: str, function: Callable[..., None], call: Callable[..., None]) -> type[Any]:
    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    members: dict[str, Any] = {
        "__doc__": function.__doc__,
        "__module__": function.__module__,
        "signature": signature.replace(parameters=parameters),
        "topic": property(lambda self: topic.format_map(vars(self))),
        "apply": lambda self, session: call(session, **vars(self)),
    }
    return type(function.__name__, (_Fields,), members)
