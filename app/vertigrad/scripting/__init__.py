"""Driving Vertigrad from a script: a viewer for arrays and tensors, and scenes as objects."""

from .controls import Control
from .layer import LayerHandle
from .scene import Scene
from .show import show
from .viewer import Recording, Step, Viewer

__all__ = ["Control", "LayerHandle", "Recording", "Scene", "Step", "Viewer", "show"]
