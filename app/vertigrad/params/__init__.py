"""Parameters: declaration, validation, and hints for the GUI.

Knows nothing of the GPU, of models or of scenes, so every package above may use it.
"""

from .base import Params, Problem
from .checks import accept, parse_color, parse_number
from .declare import angle, choice, color, ends, file, integer, interval, number, switch, text, vector
from .shown import described, shown
from .spec import Auto, Gizmo, Kind, ParamSpec, Scale, same
from .suggest import closest, hint, unknown, with_hint

__all__ = [
    "Auto",
    "Gizmo",
    "Kind",
    "ParamSpec",
    "Params",
    "Problem",
    "Scale",
    "accept",
    "angle",
    "choice",
    "closest",
    "color",
    "described",
    "ends",
    "file",
    "hint",
    "integer",
    "interval",
    "number",
    "parse_color",
    "parse_number",
    "same",
    "shown",
    "switch",
    "text",
    "unknown",
    "vector",
    "with_hint",
]
