"""Commands that change parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..session import Session


class SetParameter(NamedTuple):
    """A parameter gets another value; `owner` as in `Session.parameters`."""

    owner: str
    name: str
    value: Any

    @property
    def topic(self) -> str:
        return f"{self.owner}.{self.name}"

    def apply(self, session: Session) -> None:
        session.set_parameter(self.owner, self.name, self.value)
