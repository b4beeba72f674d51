"""An agent drives a session by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import sys
from typing import Any

import mcp
import numpy as np
import pytest
from mcp.client.stdio import StdioServerParameters
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.remote import Served
from vertigrad.remote.mcp_server import mcp_server, require_mcp
from vertigrad.remote.methods import METHODS

from .driver import driven


def used(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The tools, and the results of calls."""

    async def act() -> tuple[list[Any], list[Any]]:
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, values) for name, values in calls]

    return asyncio.run(act())


def test_every_method_is_a_tool(served: Served):
    tools, results = driven(
        served,
        lambda: used(
            mcp_server(served.requests),
            ("set_parameters", {"values": {"galaxy.softening": 0.25}}),
            ("step", {"count": 2}),
            ("screenshot", {"width": 64, "height": 32}),
            ("step", {"count": "many"}),
            ("no_such_tool", {}),
        ),
    )
    assert {tool.name for tool in tools} == set(METHODS)
    assert all(tool.description for tool in tools)
    (step,) = (tool for tool in tools if tool.name == "step")
    assert step.input_schema["properties"]["count"]["minimum"] == 1
    assert json.loads(results[0].content[0].text) == {"models.galaxy.softening": 0.25}
    assert json.loads(results[1].content[0].text)["frame"] == 2 == served.viewer._session.frame
    assert np.asarray(Image.open(io.BytesIO(base64.b64decode(results[2].content[0].data)))).shape == (32, 64, 3)
    assert results[3].is_error and "count" in results[3].content[0].text
    assert results[4].is_error and "no_such_tool" in results[4].content[0].text


@pytest.mark.turns(3)
def test_the_command_speaks_on_standard_output_only_the_protocol():
    words = ["-m", "vertigrad", "mcp", "nbody", "--set", "galaxy.count=256"]
    _, (result,) = used(StdioServerParameters(command=sys.executable, args=words, env=environment()), ("step", {}))
    assert json.loads(result.content[0].text)["frame"] == 1


def environment() -> dict[str, str]:
    return dict(os.environ)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with pytest.raises(InputError, match=r"pip install vertigrad\[mcp\]"):
        require_mcp()
