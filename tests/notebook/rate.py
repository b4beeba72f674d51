"""Images a second of widgets in JupyterLab and headless Chromium: `python -m tests.notebook.rate` prints a table.

Counts the images that the browser has decoded and put on the page, while 4,000 points move in each frame.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from .jupyter import serving
from .test_browser import KERNEL, opened

COUNT = """
window.images = [];
document.addEventListener("load", event => {
  if (event.target.closest?.(".renderview-wrapper")) window.images.push(Date.now() / 1000);
}, true);
"""
VIEWERS = """
import asyncio
import time

position = np.random.default_rng(0).normal(size=(4000, 3)).astype(np.float32)
viewers, clouds = [], []
for name in range({widgets}):
    viewers.append(vg.Viewer(f"Points {{name}}", size=(800, 450)))
    clouds.append(viewers[-1].points("cloud", position=position, size=0.04))
    viewers[-1].show()
viewer, spans = viewers[0], []


def move(step):
    for cloud in clouds:
        cloud.position += vg.ops.sin(cloud.position * 3.0) * step.dt * 0.1


await asyncio.sleep(5.0)
"""
LOOP = """
spans.append(time.time())
{prefix}for step in viewer.frames():
    move(step)
    if time.time() > spans[-1] + {seconds}:
        break
spans.append(time.time())
"""


def rates(seconds: float, widgets: int) -> list[float]:
    """Images a second that the page showed: in an `async for`, in a `for`; of several widgets, of all together."""
    loops = [LOOP.format(prefix=prefix, seconds=seconds) for prefix in ("async ", "")]
    report = "print('spans', *spans)"
    with tempfile.TemporaryDirectory() as folder:
        lab, own = Path(folder, "lab"), Path(folder, f"widgets{widgets}")
        lab.mkdir()
        own.mkdir()
        cells = (VIEWERS.format(widgets=widgets), *loops, report)
        with serving(lab) as url, opened((url, lab), own, *cells) as notebook:
            page = notebook.page
            page.evaluate(COUNT)
            page.until(f"{KERNEL} == 'idle' && /spans [0-9]/.test(document.body.innerText)")
            time.sleep(1.0)
            shown = page.evaluate("window.images")
            line = page.evaluate("document.body.innerText.match(/spans ([0-9. ]+)/)[1]")
    spans = [float(one) for one in line.split()]
    pairs = zip(spans[::2], spans[1::2], strict=True)
    return [sum(begin < one < end for one in shown) / (end - begin) for begin, end in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    print("| widgets of 800x450 | `async for` | `for` |\n|---|---|---|")
    for widgets in (1, 2):
        found = " | ".join(f"{rate:.1f}" for rate in rates(seconds, widgets))
        print(f"| {widgets} | {found} |", flush=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
