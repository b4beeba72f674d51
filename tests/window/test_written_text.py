"""The text of a language model over the viewport, as it comes."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from imgui_bundle import imgui

from ..language.test_onnx_decoder import SCENE, Decoder, continued


@pytest.mark.turns(2)
def test_a_text_is_written_over_the_viewport(opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(Decoder().model(), tmp_path / "model.onnx")
    (tmp_path / "scene.toml").write_text(SCENE)
    texts: list[str] = []
    draw = imgui.text_colored
    monkeypatch.setattr(imgui, "text_colored", lambda tint, text: (texts.append(text), draw(tint, text)))
    driver = opened(tmp_path / "scene.toml", "writer.rate=60", playing=True)

    def written() -> list[str]:
        return [text.removesuffix("_") for text in texts if text.startswith("3, 14, 15")]

    def size() -> tuple[float, float]:
        window = imgui.internal.find_window_by_name("##text of writer")
        return window.size.x, window.size.y

    driver.frames_until(lambda: len({*written()}) >= 4)
    first = size()
    lengths = [len(text) for text in written()]
    assert lengths == sorted(lengths)  # it grows
    expected = ", ".join(map(str, [3, 14, 15, *continued(tmp_path / "model.onnx", [3, 14, 15], 61)]))
    driver.frames_until(lambda: any("the text has ended" in text for text in texts), most=200)
    assert written()[-1] == expected and all(expected.startswith(text) for text in written())
    assert size()[0] == first[0] and size()[1] > first[1]  # in lines that are broken
    view = driver.viewer.gui.viewport
    box = imgui.internal.find_window_by_name("##text of writer")
    assert view.top < box.pos.y and box.pos.y + box.size.y < view.top + view.height
