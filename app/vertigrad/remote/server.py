"""`Server`: the page and the WebSocket, by starlette and uvicorn, in a thread of its own."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import threading
from contextlib import suppress
from urllib.parse import quote, urlsplit

from ..errors import InputError
from ..resources import path
from .hub import Hub

LARGEST_MESSAGE = 1 << 18  # bytes that a client may send at once
STARTS = 20.0  # seconds
EVERYWHERE = ("0.0.0.0", "::")  # all addresses of this machine
FILES = {"/": ("viewer.html", "text/html"), "/viewer.js": ("viewer.js", "text/javascript")}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server:
    """Serves as soon as it is made; `url` has the token. Raises `InputError` if it cannot listen there.

    Whoever has the token is admitted; requests that a browser sends for another page are not, nor those to a name that
    is not this server's.
    """

    def __init__(self, hub: Hub, host: str, port: int, token: str | None = None, names: tuple[str, ...] = ()):
        uvicorn = _uvicorn()
        self.token = token or secrets.token_urlsafe(24)
        self._hub, self._host = hub, host
        self._names = {host.lower(), *(name.lower() for name in names)}
        if _is_local(host):
            self._names |= {"localhost", "127.0.0.1", "::1"}
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app(),
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        run = self._server.run
        self._thread = threading.Thread(target=lambda: run([self._socket]), name="server", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page, with the token: one of this machine's where it listens on all of them."""
        host = _own_address(self._host) if self._host in EVERYWHERE else self._host
        host = f"[{host}]" if ":" in host else host
        shown = "localhost" if self._host in ("127.0.0.1", "::1") else host
        return f"http://{shown}:{self.port}/?token={quote(self.token)}"

    @property
    def warning(self) -> str:
        """What to know before the address is given to others; empty if only this machine can use it."""
        if _is_local(self._host):
            return ""
        return (
            "other machines can connect, without encryption: whoever reads the address on the network can control the "
            "scene; a tunnel of ssh to a server on localhost is safer"
        )

    def close(self) -> None:
        """End all connections. Idempotent."""
        self._server.should_exit = True
        self._thread.join(10.0)
        self._socket.close()

    def refusal(self, host: str, origin: str | None, token: str) -> str:
        """Why a request is refused, by its headers Host and Origin, and its token; empty if it is not."""
        name = _name(f"//{host}")
        if not self._knows(name):
            return f"the server is not called {name[:80]!r}; `--name {name[:80]}` admits that"
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "a page from elsewhere must not connect (its Origin is not this server)"
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return "the token is missing or wrong: use the whole address that the program printed"
        return ""

    def _knows(self, name: str) -> bool:
        if name in self._names:
            return True
        return self._host in EVERYWHERE and _is_address(name)  # addresses cannot be rebound to, names can

    def _app(self):
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Route, WebSocketRoute
        from starlette.websockets import WebSocket

        from .client import Client

        async def page(request: Request) -> Response:
            file, kind = FILES[request.url.path]
            token = request.query_params.get("token", "") if file == "viewer.html" else self.token
            if reason := self.refusal(request.headers.get("host", ""), None, token):
                return PlainTextResponse(f"403: {reason}\n", 403, HEADERS)
            return Response(path("assets", "remote", file).read_bytes(), 200, HEADERS, kind)

        async def connect(socket: WebSocket) -> None:
            headers, token = socket.headers, socket.query_params.get("token", "")
            reason = self.refusal(headers.get("host", ""), headers.get("origin"), token)
            if reason or self._hub.full:
                reason = reason or "there are as many viewers as there may be"
                return await socket.send_denial_response(PlainTextResponse(f"403: {reason}\n", 403, HEADERS))
            await socket.accept()
            client = Client(socket, self._hub)
            self._hub.enter(client)
            try:
                await client.run()
            finally:
                self._hub.leave(client)

        return Starlette(routes=[*(Route(url, page) for url in FILES), WebSocketRoute("/socket", connect)])


def _uvicorn():
    try:
        import starlette  # noqa: F401
        import uvicorn
        import websockets  # noqa: F401
    except ImportError as error:
        raise InputError(f"{error.name} is not installed; `pip install vertigrad[serve]` installs the server") from None
    return uvicorn


def _listening(host: str, port: int) -> socket.socket:
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(64)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    except (OSError, OverflowError, UnicodeError) as error:
        if found is not None:
            with suppress(OSError):
                found.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {host} port {port} ({reason}); choose another port (0: any free one) or host"
        ) from None


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _own_address(everywhere: str) -> str:
    """The address by which this machine reaches others; the loopback address if it has no network."""
    family, elsewhere = (socket.AF_INET6, "2001:db8::1") if ":" in everywhere else (socket.AF_INET, "192.0.2.1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # chooses a route, and sends nothing
            return probe.getsockname()[0]
        except OSError:
            return "::1" if ":" in everywhere else "127.0.0.1"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False


def _is_local(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
