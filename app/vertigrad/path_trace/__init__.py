"""Path-traced images of what layers draw: the reference for the light of the renderer, and for posters."""

from .gather import Gathered, gather
from .image import TracedImage, flat_view, untraced
from .tracer import BOUNCES, PathTracer

__all__ = ["BOUNCES", "Gathered", "PathTracer", "TracedImage", "flat_view", "gather", "untraced"]
