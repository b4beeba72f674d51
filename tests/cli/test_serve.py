"""`vertigrad serve`: its options, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("uvicorn", reason="the server is the extra vertigrad[serve]")

from vertigrad.remote import Served


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Served]]:
    """What is served; a signal ends each after its first frame, as Ctrl-C does."""
    found: list[Served] = []
    run = Served.run
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def run_once(one: Served) -> None:
        one.frame()
        found.append(one)
        os.kill(os.getpid(), signal.SIGTERM if len(found) % 2 else signal.SIGINT)
        run(one)

    monkeypatch.setattr(Served, "run", run_once)
    yield found
    for each, handler in handlers.items():
        signal.signal(each, handler)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_options_of_serve(vertigrad: Callable, row, served: list[Served]):
    port = free_port()
    outcome = vertigrad(
        *("serve", row, "--host", "localhost", "--port", port, "--token", "secret", "--name", "box.example"),
        *("--size", "320x200", "--fps", 24),
    )
    assert (outcome.code, outcome.out.strip()) == (0, f"http://localhost:{port}/?token=secret")
    (one,) = served
    assert not one.server.refusal(f"box.example:{port}", None, "secret")
    assert one.server.refusal(f"other.example:{port}", None, "secret")
    assert one._session.pacing.fps_limit == 24.0
    assert one._canvas.logical_size == (320, 200)


def test_the_token_is_random_and_the_port_is_free_by_request(vertigrad: Callable, row, served: list[Served]):
    urls = [vertigrad("serve", row, "--port", 0).out.strip() for _ in range(2)]
    assert len(served) == 2
    tokens = {url.partition("token=")[2] for url in urls}
    assert len(tokens) == 2 and all(len(token) >= 32 for token in tokens)


def test_a_port_in_use_is_an_error(vertigrad: Callable, row):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        outcome = vertigrad("serve", row, "--port", other.getsockname()[1])
    assert outcome.code == 2
    assert "cannot listen on 127.0.0.1" in outcome.messages[0]
