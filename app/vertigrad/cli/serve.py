"""`vertigrad serve`: a scene in browsers, and for programs, over one WebSocket."""

from __future__ import annotations

import logging
import signal
from typing import Annotated

import typer

from . import options

HostOption = Annotated[
    str, typer.Option(metavar="ADDRESS", help="the address to listen on; 0.0.0.0: every network of this machine")
]
PortOption = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="the port to listen on; 0: any free one")]


def command(
    scene: options.SceneArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8765,
    token: Annotated[
        str, typer.Option(metavar="TEXT", envvar="VERTIGRAD_TOKEN", help="the token in the address; random by default")
    ] = "",
    name: Annotated[
        list[str], typer.Option(metavar="HOST", help="another name by which browsers may reach this server")
    ] = [],  # noqa: B006
    size: options.SizeOption = "1280x800",
    fps: Annotated[float, typer.Option(min=1.0, max=1000.0, metavar="N", help="limit on frames per second")] = 60.0,
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    adapter: options.AdapterOption = "",
    camera: options.CameraOption = "",
    quality: options.QualityOption = "",
    trust: options.TrustOption = False,
) -> None:
    """Show SCENE in browsers: image, panels and input over one WebSocket, which programs may use too."""
    pixels = options.parse_size(size)

    from ..remote import Served, serve
    from .running import open_session

    def begun(served: Served) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: served.stop())
        options.console.print(served.url)
        if served.server.warning:
            logging.getLogger("vertigrad").warning(served.server.warning)

    with open_session(scene, set, seed, adapter, camera, trust=trust, quality=quality) as session:
        serve(session, host, port, begun=begun, size=pixels, fps=fps, token=token or None, names=tuple(name))
