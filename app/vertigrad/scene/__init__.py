"""Scenes: from one TOML file to a checked description of models, layers, camera and view."""

from .load import load
from .schema import Animation, Bookmark, Camera, Constant, LayerSpec, ModelSpec, OutputRef, Scene, UiHint, View

__all__ = [
    "Animation",
    "Bookmark",
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
