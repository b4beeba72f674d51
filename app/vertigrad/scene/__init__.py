"""Scenes: from one TOML file to a checked description of models, layers, camera and view."""

from .load import load
from .schema import Camera, Constant, LayerSpec, ModelSpec, OutputRef, Scene, UiHint, View

__all__ = [
    "Camera",
    "Constant",
    "LayerSpec",
    "ModelSpec",
    "OutputRef",
    "Scene",
    "UiHint",
    "View",
    "load",
]
