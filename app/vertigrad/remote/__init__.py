"""A session for browsers and programs: image, GUI, input and commands over one WebSocket."""

from .serve import Served, serve

__all__ = ["Served", "serve"]
