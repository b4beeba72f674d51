"""Exports in the File menu: those of the one model in training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vertigrad.panels.action_table import ACTIONS
from vertigrad.panels.workspace import Workspace

EXPORTS = [action for action in ACTIONS if action.name.startswith("Export trained weights")]


@pytest.mark.parametrize(
    ("exports", "offered"),
    [
        ([(".safetensors", ".onnx"), ()], ["safetensors", "ONNX"]),
        ([(".safetensors", ".checkpoint")], ["safetensors", "checkpoint"]),
        ([(), (".ply",)], ["PLY"]),
        ([(".ply",), (".ply",)], []),
        ([()], []),
    ],
)
def test_export_formats_of_the_one_model_in_training(exports: list[tuple[str, ...]], offered: list[str]):
    instances = {str(number): SimpleNamespace(model=SimpleNamespace(exports=own)) for number, own in enumerate(exports)}
    session: Any = SimpleNamespace(stage=SimpleNamespace(instances=instances))
    found = [action.name for action in EXPORTS if action.possible(session, Workspace())]
    assert found == [f"Export trained weights as {name}" for name in offered]
