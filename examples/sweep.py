"""A scene as an object: patterns of the Gray-Scott reaction for a table of parameters, as one image."""

import numpy as np

import vertigrad as vg

FEEDS, KILLS = np.linspace(0.030, 0.046, 3), np.linspace(0.0595, 0.0645, 4)
SIDE, FRAMES = 64, 27

table = np.zeros((SIDE * len(FEEDS), SIDE * len(KILLS)), np.float32)
coverage = np.zeros((len(FEEDS), len(KILLS)))
settings = [
    "skin.pattern=own",
    f"skin.resolution={SIDE}",
    "skin.time_scale=9000",
    "skin.size=1.2",
    "skin.initial_spots=12",
]
with vg.Scene.load("gray_scott", sets=settings) as scene:
    for row, feed in enumerate(FEEDS):
        for column, kill in enumerate(KILLS):
            scene.set({"skin.feed": float(feed), "skin.kill": float(kill)})
            scene.reset()
            scene.step(FRAMES)
            found = scene.outputs["skin.v"].numpy()
            table[row * SIDE : (row + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = found
            coverage[row, column] = np.mean(found > 0.1)

viewer = vg.Viewer("Sweep of feed and kill")
viewer.add("image", "patterns", pixels=table, colormap="lapaz", range=(0, 0.4), colorbar={"title": "v"})
plot = viewer.plot("covered by v", x_unit="/s")
plot.set(FEEDS, **{f"kill {kill:.3f}": coverage[:, column] for column, kill in enumerate(KILLS)})
viewer.camera(position=(0, 0, 2.2), orthographic=True)
for _ in viewer.frames():
    pass
