"""`View`: the widget of a viewer in a notebook, by rendercanvas's front end. Imported only in notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from anywidget import AnyWidget
from rendercanvas.anywidget import CSS, JS
from traitlets import Bool, Unicode

# Front ends hold a synchronized value back until the kernel has answered the one before, which it never does for some
# that came while a cell ran. Messages do not wait: the front end's own values are sent as messages.
VALUES_AS_MESSAGES = """
export default () => {
  const { initialize, render } = lifecycle()
  const changed = {
    set: model => (name, value) => model.send({ type: 'value', name, value }),
    save_changes: model => () => {},
  }
  const reporting = model => new Proxy(model, {
    get (target, key) {
      if (key in changed) { return changed[key](target) }
      return typeof target[key] === 'function' ? target[key].bind(target) : target[key]
    }
  })
  return { initialize: context => initialize({ ...context, model: reporting(context.model) }), render }
}
"""


class View(AnyWidget):
    """An image that reports mouse, keys and size.

    The messages and names are those of rendercanvas's `renderview-afm.js`. rendercanvas's own canvas class draws in
    asyncio's event loop, which stands still while a cell runs; this one sends what a script's loop drew. `take` is
    called with each event, and `changed` when the front end has shown an image, or became visible or invisible. Both
    may be called in another thread than the one that computes.
    """

    _esm = JS.replace("export default", "const lifecycle =") + VALUES_AS_MESSAGES
    _css = CSS
    _css_width = Unicode("").tag(sync=True)
    _css_height = Unicode("").tag(sync=True)
    _resizable = Bool(True).tag(sync=True)
    _is_minimizable = Bool(False).tag(sync=True)
    _is_closable = Bool(False).tag(sync=True)
    _has_titlebar = Bool(False).tag(sync=True)
    _title = Unicode("").tag(sync=True)
    _cursor = Unicode("default").tag(sync=True)

    def __init__(
        self, size: tuple[int, int], take: Callable[[dict[str, Any]], object], changed: Callable[[], object]
    ) -> None:
        super().__init__(_css_width=f"{size[0]}px", _css_height=f"{size[1]}px")
        self.visible = False  # whether it is on somebody's screen
        self.shown = 0  # the number of the image that was shown last
        self._take, self._changed = take, changed
        self.on_msg(lambda _, content, buffers: self._receive(content))

    def _receive(self, content: dict[str, Any]) -> None:
        if content.get("type") != "value":
            self._take(content)
            return
        if content["name"] == "_has_visible_views":
            self.visible = bool(content["value"])
        elif content["name"] == "_frame_feedback":
            self.shown = int(content["value"]["index"])
        self._changed()

    def show(self, number: int, mimetype: str, data: bytes) -> None:
        """Send an encoded image."""
        message = {"type": "framebufferdata", "mimetype": mimetype, "data_b64": None, "index": number}
        self.send({**message, "timestamp": time.time()}, [data])

    def set_cursor(self, css: str) -> None:
        """Show the mouse in this shape."""
        self._cursor = css
