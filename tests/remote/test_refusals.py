"""What is refused, and that the program continues: strangers, garbage, and what would reach files of this machine."""

from __future__ import annotations

import json
import socket as sockets
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from vertigrad.errors import InputError
from vertigrad.params import ParamSpec
from vertigrad.remote import Served, server
from vertigrad.remote.client import MOST_REQUESTS
from vertigrad.remote.events import EVENTS
from vertigrad.remote.message import MessageError, checked, read_message
from vertigrad.remote.methods import METHODS, work_of
from vertigrad.remote.permitted import PERMITTED, refusal
from vertigrad.session import commands
from vertigrad.session.capture import CaptureRequest
from vertigrad.session.parameters import Key
from vertigrad.session.questions import Allow, Question

from .driver import PATIENCE, Program, Refused, driven, socket_url


def refused_connection(served: Served, url: str, **options: Any) -> str:
    def act() -> str:
        with pytest.raises(InvalidStatus) as error, connect(url, open_timeout=PATIENCE, **options):
            pass
        assert error.value.response.status_code == 403
        return (error.value.response.body or b"").decode()

    return driven(served, act)


def still_works(served: Served) -> bool:
    def act() -> bool:
        with Program(served) as program:
            return bool(program.call("status")["title"])

    return driven(served, act)


# strangers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "wrong", "ä"])
def test_a_wrong_token(served: Served, token: str):
    assert "token" in refused_connection(served, socket_url(served, token))


def test_another_page(served: Served):
    assert "Origin" in refused_connection(served, socket_url(served), origin="https://example.com")
    port = served.server.port
    assert "Origin" in refused_connection(served, socket_url(served), origin=f"http://127.0.0.1:{port + 1}")
    driven(served, lambda: Program(served, origin=f"http://127.0.0.1:{port}").__exit__())


def test_another_name(served: Served):
    """A page may let its own name mean this machine; then the Host header has that name."""
    assert "--name" in served.server.refusal("evil.example:8765", None, served.server.token)
    assert not served.server.refusal("localhost:8765", "http://localhost:8765", served.server.token)
    assert served.server.refusal("[::1", None, served.server.token)


def test_the_page_needs_the_token_and_no_other_file_is_served(served: Served):
    def status(path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{served.server.port}{path}", timeout=PATIENCE) as answer:
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    token = served.server.token
    for path, expected in {
        f"/?token={token}": 200,
        "/": 403,
        "/?token=": 403,
        "/viewer.js": 200,
        "/viewer.html": 404,
        f"/../pyproject.toml?token={token}": 404,
        f"/%2e%2e/%2e%2e/pyproject.toml?token={token}": 404,
        f"/docs?token={token}": 404,
    }.items():
        assert driven(served, lambda path=path: status(path)) == expected, path


def test_it_listens_on_this_machine_only(served: Served):
    assert served.server._socket.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use(served: Served):
    with pytest.raises(InputError, match="choose another port"):
        server._listening("127.0.0.1", served.server.port)
    with pytest.raises(InputError, match="cannot listen on"):
        server._listening("no such host", 0)


def test_a_missing_server_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(InputError, match=r"pip install vertigrad\[serve\]"):
        server._uvicorn()


# garbage ------------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", -32700),
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ("17", -32600),
        ('{"method": "status"}', -32600),
        ('{"jsonrpc": "2.0"}', -32600),
        ('{"jsonrpc": "2.0", "method": 5}', -32600),
        ('{"jsonrpc": "2.0", "method": "status", "params": [1]}', -32600),
        ('{"jsonrpc": "2.0", "method": "status", "id": {}}', -32600),
        ('{"jsonrpc": "2.0", "method": "status", "params": {"more": 1}, "id": 1}', -32602),
        ('{"jsonrpc": "2.0", "method": "step", "params": {"count": "1"}, "id": 1}', -32602),
        ('{"jsonrpc": "2.0", "method": "step", "params": {"count": 0}, "id": 1}', -32602),
        ('{"jsonrpc": "2.0", "method": "pointer", "params": {"x": NaN, "y": 0}, "id": 1}', -32602),
        ('{"jsonrpc": "2.0", "method": "__class__", "id": 1}', -32601),
    ],
)
def test_messages_that_cannot_be_used(served: Served, text: str, code: int):
    def act() -> dict[str, Any]:
        with Program(served) as program:
            program.socket.send(text)
            answer = program.receive()
            assert program.call("status")["title"]
            return answer or {}

    error = driven(served, act)["error"]
    assert error["code"] == code and error["message"]


def test_bytes_and_huge_messages(served: Served):
    def act() -> int:
        with Program(served) as program:
            program.socket.send(b"\0\1")
            assert "bytes" in (program.receive() or {})["error"]["message"]
            with pytest.raises(ConnectionClosed) as error:
                program.socket.send("x" * (server.LARGEST_MESSAGE + 1))
                program.receive()
            return error.value.rcvd.code if error.value.rcvd else 0

    assert driven(served, act) == 1009
    assert still_works(served)


def test_clients_that_vanish(served: Served):
    """In the middle of the handshake, of a message, of a stream and of a request."""

    def act() -> None:
        for sent in (b"", b"GET /socket HTTP/1.1\r\nHost: loc", b"\x16\x03\x01\x02\x00garbage\r\n\r\n"):
            with sockets.create_connection(("127.0.0.1", served.server.port)) as one:
                one.sendall(sent)
        program = Program(served)
        program.call("watch", codec="h264")
        program.notify("step", count=100_000)
        program.socket.socket.close()
        with Program(served) as other:
            other.call("pause")

    driven(served, act)
    assert still_works(served)


def test_too_many_requests(served: Served):
    def act() -> str:
        with Program(served) as program:
            for _ in range(MOST_REQUESTS):
                program.notify("step", count=100_000)
            with pytest.raises(Refused) as error:
                program.call("status")
        with Program(served) as other:
            other.call("pause")
        return str(error.value)

    assert "requests wait" in driven(served, act)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*METHODS, *EVENTS, "watch", "resize", "shown", "take_control"]) | st.text(max_size=12)


@given(st.text(max_size=200) | JSON.map(json.dumps))
def test_any_text_is_a_message_or_an_error(text: str):
    try:
        read_message(text)
    except MessageError as error:
        assert str(error)


@given(NAMES, JSON)
def test_any_params_fit_or_are_an_error(name: str, params: Any):
    for check in (lambda: work_of(name, params), lambda: checked(name, EVENTS.get(name, EVENTS["key"]), params)):
        try:
            check()
        except MessageError as error:
            assert str(error)


KEYS = st.sampled_from(["x", "y", "dx", "dy", "button", "pressed", "codec", "width", "height", "count", "view", "name"])
VALUES = JSON | st.sampled_from(["h264", "press", 1, 0.5, -1, 1e300, True, ["shift"]])


@pytest.mark.turns(3)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NAMES, st.dictionaries(KEYS | st.text(max_size=6), VALUES, max_size=4)), max_size=6))
def test_any_requests_leave_the_program_running(served: Served, requests: list[tuple[str, dict[str, Any]]]):
    def act() -> str:
        with Program(served) as program:
            for name, params in requests:
                try:
                    program.call(name, **{key: value for key, value in params.items() if key != "method"})
                except Refused as error:
                    assert str(error)
                    assert error.code != -32603, error
            return program.call("status")["title"]

    assert driven(served, act)
    assert served.viewer.failure is None
    session = served.viewer._session
    assert session.failures is not None and not session.failures.shown


# files and programs of this machine ---------------------------------------------------------------------------------


def files_and_programs() -> list[commands.Command]:
    there = Path("/tmp/there")
    return [
        commands.Open(there),
        commands.Reload(there),
        commands.OpenRun(there, (), None),
        commands.CompareRuns(there, ((), None), ((), None)),
        commands.SaveRunAsPreset("a", ("galaxy.file=/etc/passwd",)),
        commands.Save(),
        commands.SaveAs(there),
        commands.Leave(),
        commands.ExportNetwork(),
        commands.ExportGeometry(there),
        commands.ExportMeasurements(there),
        commands.ExportSelection(there),
        commands.SaveTensor("galaxy.position", there),
        commands.SaveTrace(),
        commands.SaveInteractions(),
        commands.PlayInteractions(there),
        commands.TakeScreenshot(CaptureRequest(folder=there)),
        commands.StartRecording(),
        commands.CopyImage(),
        commands.OpenDocumentation(),
        commands.SetHotReload(True),
        commands.Ask(Question("name", "")),
        Allow((), commands.Play(True)),
        commands.SetParameter("models.galaxy", "file", "/etc/passwd"),
        commands.SetParameters({Key("models.galaxy", "file"): "/etc/passwd"}, "files"),
    ]


@pytest.mark.parametrize("command", files_and_programs(), ids=lambda command: type(command).__name__)
def test_no_command_reaches_files(command: commands.Command):
    session: Any = SimpleNamespace(parameters=lambda: {"models.galaxy": _FileParams()})
    assert "machine" in refusal(session, command)


class _FileParams:
    """As those of a model that reads a file."""

    @staticmethod
    def specs():
        return (ParamSpec(name="file", kind="file"),)


def test_posted_commands_are_refused_in_the_window(served: Served):
    session = served.viewer._session
    session.post(commands.Save())
    session.post(commands.OpenDocumentation())
    session.post(commands.Play(True))
    served.frame()
    assert "another machine" in session.messages["save"] and "another machine" in session.messages["documentation"]
    assert session.playing


def test_every_command_was_thought_about():
    """A new command is refused until somebody adds it to one of the lists."""
    known = {type(command) for command in files_and_programs()} | PERMITTED
    left_out = {commands.SetRewindMemory, commands.StopOnNan, commands.StopRecording, commands.CaptureFinished}
    left_out |= {commands.CancelRecording, commands.CancelExport, commands.CancelLoading}
    left_out |= {commands.DocumentationFailed}
    found = {value for value in vars(commands).values() if isinstance(value, type) and hasattr(value, "topic")}
    assert found - known - left_out - {commands.Command} == set()


def test_the_gui_has_no_files(served: Served):
    served.frame()
    gui = served.viewer.gui
    assert not [action.name for action in gui.actions if action.menu == "File"]
    for name in ("gallery", "browser"):
        setattr(gui.workspace, name, True)
    gui.workspace.exporting = "geometry"
    served.frame()
    assert not gui.waits(served.viewer._session)


def test_a_server_for_other_machines_has_an_address_of_this_one_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = object.__new__(server.Server)
    everywhere._host, everywhere.port, everywhere.token = "0.0.0.0", 9, "t"
    monkeypatch.setattr(server, "_own_address", lambda host: "192.0.2.7")
    assert everywhere.url == "http://192.0.2.7:9/?token=t"
    assert "without encryption" in everywhere.warning
    everywhere._host = "127.0.0.1"
    assert (everywhere.url, everywhere.warning) == ("http://localhost:9/?token=t", "")


def test_the_own_address_is_one() -> None:
    for host in server.EVERYWHERE:
        assert server._is_address(server._own_address(host))
