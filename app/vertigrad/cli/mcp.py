"""`vertigrad mcp`: a scene as tools for agents."""

from __future__ import annotations

import signal

from . import options


def command(
    scene: options.SceneArgument,
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    adapter: options.AdapterOption = "",
    camera: options.CameraOption = "",
    trust: options.TrustOption = False,
) -> None:
    """Run SCENE as a server of the Model Context Protocol on standard input and output; watch it in a browser."""
    from ..remote import Served, serve
    from ..remote.mcp_server import answer_on_stdio, require_mcp
    from ..session.commands import Play
    from .running import open_session

    def begun(served: Served) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: served.stop())
        options.errors_console.print(f"watch it at {served.url}")  # standard output is for the protocol
        answer_on_stdio(served)

    require_mcp()
    with open_session(scene, set, seed, adapter, camera, trust=trust) as session:
        session.carry_out(Play(False))
        serve(session, "127.0.0.1", 0, begun=begun)
