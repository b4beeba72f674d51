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
from .exporting import ExportNetwork
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
from .touch import EndTouch, MoveTouch, PlayTouches, SaveTouches, SetBrush, SetTool, Touch
from .watches import AddWatch, Guard, RemoveWatch, SettleAlarm, StopAtLimits

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
    "EndTouch",
    "ExportNetwork",
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
    "MoveTouch",
    "Open",
    "Orbit",
    "Pan",
    "Parallel",
    "Pick",
    "Play",
    "PlayTouches",
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
    "SaveTouches",
    "SaveTrace",
    "Select",
    "SetBrush",
    "SetLens",
    "SetPacing",
    "SetParameter",
    "SetParameters",
    "SetSeed",
    "SetSpeed",
    "SetSubsteps",
    "SetTool",
    "SettleAlarm",
    "StartRecording",
    "Step",
    "StopAtLimits",
    "StopRecording",
    "TakeScreenshot",
    "Thaw",
    "TimeKernels",
    "Touch",
    "Turn",
    "Turntable",
    "Undo",
    "UpdatePreset",
    "Zoom",
]
