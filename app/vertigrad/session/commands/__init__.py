"""What may be asked of a session: small values that panels, keys and the mouse post."""

from .base import Command
from .camera import (
    DropBookmark,
    Face,
    FlightMode,
    Fly,
    FlyFaster,
    FrameAll,
    FrameSelection,
    GoToBookmark,
    Home,
    KeepBookmark,
    LookFrom,
    Orbit,
    Pan,
    Parallel,
    PreviousView,
    RememberView,
    SetLens,
    Turn,
    Turntable,
    Zoom,
)
from .history import Flip, Redo, Undo
from .inspection import Freeze, LookAt, SaveTensor, Thaw
from .measuring import SaveTrace, TimeKernels
from .opening import Open
from .output import StartRecording, StopRecording, TakeScreenshot
from .pacing import KeepPast, SetPacing
from .parameters import Animate, Randomise, ResetParameters, SetParameter, SetParameters
from .presets import ApplyPreset, DeletePreset, KeepPreset, RenamePreset, UpdatePreset
from .save import Ask, Leave, Save, SaveAs
from .scenes import Dismiss, Reload
from .selection import Deselect, Pick, Select
from .time import GoTo, Play, Reset, SetSeed, SetSpeed, SetSubsteps, Step
from .watches import AddWatch, Guard, RemoveWatch, SettleAlarm

__all__ = [
    "AddWatch",
    "Animate",
    "ApplyPreset",
    "Ask",
    "Command",
    "DeletePreset",
    "Deselect",
    "Dismiss",
    "DropBookmark",
    "Face",
    "FlightMode",
    "Flip",
    "Fly",
    "FlyFaster",
    "FrameAll",
    "FrameSelection",
    "Freeze",
    "GoTo",
    "GoToBookmark",
    "Guard",
    "Home",
    "KeepBookmark",
    "KeepPast",
    "KeepPreset",
    "Leave",
    "LookAt",
    "LookFrom",
    "Open",
    "Orbit",
    "Pan",
    "Parallel",
    "Pick",
    "Play",
    "PreviousView",
    "Randomise",
    "Redo",
    "Reload",
    "RememberView",
    "RemoveWatch",
    "RenamePreset",
    "Reset",
    "ResetParameters",
    "Save",
    "SaveAs",
    "SaveTensor",
    "SaveTrace",
    "Select",
    "SetLens",
    "SetPacing",
    "SetParameter",
    "SetParameters",
    "SetSeed",
    "SetSpeed",
    "SetSubsteps",
    "SettleAlarm",
    "StartRecording",
    "Step",
    "StopRecording",
    "TakeScreenshot",
    "Thaw",
    "TimeKernels",
    "Turn",
    "Turntable",
    "Undo",
    "UpdatePreset",
    "Zoom",
]
