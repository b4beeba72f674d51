"""The renderer: camera, view, layers, and the renderer of a whole image."""

from .camera import OrbitCamera
from .colormap import COLORMAPS
from .renderer import Renderer
from .vertex_layout import VertexLayout, vertex_layout
from .view import View

__all__ = ["COLORMAPS", "OrbitCamera", "Renderer", "VertexLayout", "View", "vertex_layout"]
