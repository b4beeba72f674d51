"""The methods of the protocol as tools of the Model Context Protocol, for agents; by the `mcp` package."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any

from ..errors import InputError, VertigradError
from .message import written
from .methods import METHODS, work_of
from .requests import Requests
from .serve import Served

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = (
    "Drives a running simulation or neural network in Vertigrad. Call status and list_parameters first; time is in "
    "steps of 1/60 s; screenshot shows the scene."
)


def mcp_server(requests: Requests) -> Server[Any]:
    """The server, with a tool for each method. Raises `InputError` if `mcp` is not installed."""
    require_mcp()
    from mcp import types
    from mcp.server.lowlevel import Server

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=inspect.getdoc(method.function),
                    input_schema=method.params.model_json_schema(),
                )
                for name, method in METHODS.items()
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            work = work_of(params.name, dict(params.arguments or {}))
            value = await asyncio.wrap_future(requests.ask(work))
        except VertigradError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        if params.name == "screenshot":
            image = types.ImageContent(type="image", data=value["png"], mime_type="image/png")
            return types.CallToolResult(content=[image])
        return types.CallToolResult(content=[types.TextContent(type="text", text=written(value))])

    return Server("vertigrad", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def require_mcp() -> None:
    """Raise `InputError` if the package is not installed."""
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError as error:
        message = f"{error.name} is not installed; `pip install vertigrad[mcp]` installs the MCP server"
        raise InputError(message) from None


def answer_on_stdio(served: Served) -> None:
    """Answer requests on standard input in another thread; `served` stops when that ends."""
    from mcp.server.stdio import stdio_server

    server = mcp_server(served.requests)

    async def answer() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    def run() -> None:
        try:
            asyncio.run(answer())
        finally:
            served.stop()

    threading.Thread(target=run, name="mcp", daemon=True).start()
