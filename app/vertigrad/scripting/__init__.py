"""Driving Vertigrad from a script: a viewer for arrays and tensors, and scenes as objects."""

from .controls import Button, Control
from .events import Pick
from .function_model import model, torch_model
from .layer import LayerHandle
from .loop_methods import Step
from .plot import Plot
from .scene import Scene
from .shooting import Recording
from .show import show
from .viewer import Viewer

__all__ = [
    "Button",
    "Control",
    "LayerHandle",
    "Pick",
    "Plot",
    "Recording",
    "Scene",
    "Step",
    "Viewer",
    "model",
    "show",
    "torch_model",
]
