"""`CommandQueue`: the commands that were posted, and the one that takes several frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ..errors import UntrustedCode, VertigradError
from ..slices import Sliced

if TYPE_CHECKING:
    from .command import Command
    from .session import Session

PASSING = frozenset({"camera", "cancel", "failures", "messages"})  # topics that need not wait for the current command


class CommandInProgress:
    """A command that is carried out in slices; `what` and `fraction` say how far it is."""

    def __init__(self, session: Session, command: Command):
        self.command = command
        self.path = session.running.source.path  # of the scene that it changes
        self.work = Sliced(partial(command.apply, session))

    @property
    def what(self) -> str:
        """The current activity, such as "compiling kernels: 3 of 11"."""
        return self.work.progress.what

    @property
    def fraction(self) -> float:
        """How much of it is done."""
        return self.work.progress.fraction


class CommandQueue:
    """Commands are carried out in their order. In a window one that takes long returns to the frame loop where it
    reports its progress: meanwhile the models pause, and only commands that do not concern them are carried out.
    """

    def __init__(self, session: Session):
        self.current: CommandInProgress | None = None  # the command that takes several frames
        self._session = session
        self._posted: deque[Command] = deque()
        self.append, self.extend, self.clear = self._posted.append, self._posted.extend, self._posted.clear

    def __len__(self) -> int:
        return len(self._posted) + (self.current is not None)

    def __iter__(self) -> Iterator[Command]:
        """Those that have not begun, in their order."""
        return iter(self._posted)

    def apply(self) -> None:
        """Carry out what can be in this frame. What commands raise is shown in the session's messages."""
        current = self.current
        self._begin_all()
        if current is not None and self.current is current:  # it was not canceled
            self._proceed(current)
            self._begin_all()

    def cancel(self) -> None:
        """End the command that takes several frames; all is as before it. Idempotent."""
        current, self.current = self.current, None
        if current is not None:
            current.work.close()
            self._session.gpu.submit()

    def restart(self) -> None:
        """Begin again with the command that takes several frames: the device that had parts of it was lost."""
        if self.current is not None:
            self._posted.appendleft(self.current.command)
            self.cancel()

    def _begin_all(self) -> None:
        while (command := self._next()) is not None:
            self._session.questions.answered(command)
            self._begin(command)

    def _next(self) -> Command | None:
        for index, command in enumerate(self._posted):
            if self.current is None or command.topic in PASSING:
                del self._posted[index]
                return command
        return None

    def _begin(self, command: Command) -> None:
        if not self._session.reads_ahead or command.topic in PASSING:
            with self._shown(command):
                self._session.carry_out(command)
        else:
            self._proceed(CommandInProgress(self._session, command))

    def _proceed(self, current: CommandInProgress) -> None:
        self.current = None
        with self._shown(current.command), self._session.changing():
            if not current.work.proceed():
                self.current = current

    @contextmanager
    def _shown(self, command: Command) -> Iterator[None]:
        """Show what the command raises; if nothing, and it has ended, remove the message of its topic."""
        session = self._session
        try:
            yield
            if self.current is None or self.current.command is not command:
                session.messages.pop(command.topic, None)
        except UntrustedCode as error:
            session.questions.ask_to_run(error, command)
        except VertigradError as error:
            session.require_device(error)
            session.messages[command.topic] = str(error)
        except Exception as error:
            session.fail(f"command {type(command).__name__}", error)
