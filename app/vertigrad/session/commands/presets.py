"""Commands about presets: values of parameters under a name."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


class KeepPreset(NamedTuple):
    """Keep what differs from the scene under a name: that of a preset that there is, or a new one."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        tweaks = session.tweaks
        tweaks.keep(tweaks.kept.with_preset(self.name, tweaks.differing()), f"keep preset {self.name}")


class UpdatePreset(NamedTuple):
    """Give a preset the values that its parameters, and those that differ from the scene, have now."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        tweaks = session.tweaks
        preset, now = tweaks.kept.preset(self.name), tweaks.values()
        values = {key: now[key] for key in preset.values if key in now} | tweaks.differing()
        tweaks.keep(tweaks.kept.with_preset(self.name, values), f"update preset {self.name}")


class ApplyPreset(NamedTuple):
    """Set the values of a preset."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        session.tweaks.apply_preset(self.name)


class RenamePreset(NamedTuple):
    """Give a preset another name."""

    name: str
    other: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        kept = session.tweaks.kept.renamed(self.name, self.other)
        session.tweaks.keep(kept, f"rename preset {self.name}")


class DeletePreset(NamedTuple):
    """Take a preset away."""

    name: str

    topic = "presets"

    def apply(self, session: Session) -> None:
        session.tweaks.keep(session.tweaks.kept.without_preset(self.name), f"delete preset {self.name}")
