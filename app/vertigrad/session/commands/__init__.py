"""What may be asked of a session: small values that panels, keys and the mouse post."""

from .base import Command
from .camera import Home, Orbit, Pan, Zoom
from .parameters import SetParameter
from .scenes import Dismiss, Reload
from .time import Play, Reset, SetSpeed, Step

__all__ = [
    "Command",
    "Dismiss",
    "Home",
    "Orbit",
    "Pan",
    "Play",
    "Reload",
    "Reset",
    "SetParameter",
    "SetSpeed",
    "Step",
    "Zoom",
]
