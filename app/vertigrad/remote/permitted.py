"""Which commands a user at another machine may give: none that touches files, runs Python, or ends the program."""

from __future__ import annotations

from ..session import Session, commands
from ..session.command import Command

_KINDS = (
    *(commands.Orbit, commands.Turn, commands.Pan, commands.Zoom, commands.Face, commands.ViewFrom, commands.SetLens),
    *(commands.JumpTo, commands.RememberView, commands.PreviousView, commands.FlyFaster, commands.Home, commands.Fly),
    *(commands.FlightMode, commands.FrameAll, commands.FrameSelection, commands.Parallel, commands.Turntable),
    *(commands.LookThroughCamera, commands.FocusSelection, commands.SelectRegion),
    *(commands.SelectRows, commands.HideRows, commands.SelectAllRows, commands.InvertSelection),
    *(commands.HideSelected, commands.CropToSelection, commands.ShowHidden, commands.SetSelectTool),
    *(commands.SetSelecting, commands.Probe, commands.MoveProbe),
    *(commands.GoToView, commands.FollowKeyframes, commands.SetKeyframe, commands.DeleteKeyframe),
    *(commands.MoveKeyframe, commands.GoToBookmark, commands.AddBookmark, commands.DeleteBookmark),
    *(commands.SetParameters, commands.SetParameter, commands.Randomize, commands.SwitchSide),
    *(commands.ResetParameters, commands.Animate, commands.SetSubsteps, commands.SetSeed),
    *(commands.SavePreset, commands.UpdatePreset, commands.ApplyPreset, commands.RenamePreset, commands.DeletePreset),
    *(commands.Undo, commands.Redo, commands.Pick, commands.Select, commands.Deselect),
    *(commands.InspectTensor, commands.Freeze, commands.Thaw, commands.AddWatch, commands.RemoveWatch),
    *(commands.DismissAlarm, commands.PressButton, commands.PressKey, commands.Guard, commands.StopAtLimits),
    *(commands.Dismiss, commands.DismissFailures, commands.Play, commands.Step, commands.GoTo, commands.SetSpeed),
    *(commands.Reset, commands.SetTool, commands.BeginInteraction, commands.MoveInteraction, commands.EndInteraction),
    *(commands.ShowTensor, commands.HideTensor, commands.ChooseTensor, commands.ToggleUnit, commands.Ablate),
    *(commands.ShowGraph, commands.HoverNode, commands.CompareTensor, commands.HideDifference),
    commands.ShareRange,
    *(commands.ShowInputGradient, commands.HideInputGradient, commands.ShowGradient, commands.MoveGradients),
    *(commands.SetPacing, commands.SetQuality, commands.TimeKernels, commands.SetBrush, commands.StopComparing),
)
PERMITTED = frozenset(_KINDS)


def refusal(session: Session, command: Command) -> str:
    """Why a command may not be given from another machine; empty if it may."""
    if type(command) not in PERMITTED:
        return f"{type(command).__name__} is not possible from another machine: it may touch files of this one"
    if type(command) is commands.SetParameter and names_file(session, command.owner, command.name):  # pyright: ignore
        return f"{command.name}: files cannot be chosen from another machine"  # pyright: ignore
    if type(command) is commands.SetParameters:
        named = [key.name for key in command.values if names_file(session, key.owner, key.name)]  # pyright: ignore
        return f"{named[0]}: files cannot be chosen from another machine" if named else ""
    return ""


def names_file(session: Session, owner: str, name: str) -> bool:
    """Whether this parameter is the name of a file."""
    params = session.parameters().get(owner)
    return params is not None and any(spec.name == name and spec.kind == "file" for spec in params.specs())
