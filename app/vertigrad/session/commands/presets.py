"""Commands about presets: values of parameters under a name."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class SavePreset(NamedTuple):
    """Keep what differs from the scene under a name: that of a preset that there is, or a new one."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        edits = session.scene_edits
        edits.change_extras(edits.extras.with_preset(self.name, edits.differing()), f"save preset {self.name}")


class UpdatePreset(NamedTuple):
    """Give a preset the values that its parameters, and those that differ from the scene, have now."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        edits = session.scene_edits
        preset, now = edits.extras.preset(self.name), edits.values()
        values = {key: now[key] for key in preset.values if key in now} | edits.differing()
        edits.change_extras(edits.extras.with_preset(self.name, values), f"update preset {self.name}")


class ApplyPreset(NamedTuple):
    """Set the values of a preset."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        session.scene_edits.apply_preset(self.name)


class RenamePreset(NamedTuple):
    """Give a preset another name."""

    name: str
    other: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        extras = session.scene_edits.extras.renamed(self.name, self.other)
        session.scene_edits.change_extras(extras, f"rename preset {self.name}")


class DeletePreset(NamedTuple):
    """Take a preset away."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        session.scene_edits.change_extras(
            session.scene_edits.extras.without_preset(self.name), f"delete preset {self.name}"
        )
