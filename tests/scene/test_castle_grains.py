"""The grains of the sand castle: each row of sand is drawn as a few, which fill the space that the row has."""

from pathlib import Path

import numpy as np
import pytest

from vertigrad import Scene, resources

GRAINS, WATER, SPACING = 6, 80, 0.0175


@pytest.fixture
def grains(tmp_path: Path):
    """The distances [m] of the grains of each row of sand from the middle of the row, after half a second."""

    def drawn(sand: np.ndarray) -> np.ndarray:
        scene = resources.path("scenes", "castle.toml").read_text()
        look = scene[scene.index("[models.look]") : scene.index("[layers.water]")].replace('"beach.', '"')
        arrays = {
            "material": np.repeat([0.0, 3.0], [WATER, len(sand)]),
            "position": np.concatenate([np.tile([1.0, 0.1, 0.0], (WATER, 1)), sand]),
            "color": np.full((WATER + len(sand), 3), 0.5),
        }
        tables = ["version = 1"]
        for name, values in arrays.items():
            np.save(tmp_path / f"{name}.npy", values.astype(np.uint32 if name == "material" else np.float32))
            look = look.replace(f'= "{name}"', f'= "{name}.values"')
            dtype = "u32" if name == "material" else "f32"
            tables.append(f'[models.{name}]\ntype = "array"\nfile = "{name}.npy"\ndtype = "{dtype}"')
        (tmp_path / "look.toml").write_text("\n".join([*tables, look]))
        (tmp_path / "castle_look.wgsl").write_text(resources.path("scenes", "castle_look.wgsl").read_text())
        rows = [f"look.count={WATER + len(sand)}", f"look.sand_rows={len(sand)}"]
        with Scene.load(tmp_path / "look.toml", sets=rows) as loaded:
            loaded.step(60)
            return loaded.outputs["look.grain_position"].numpy() - sand[:, None]

    return drawn


def test_grains_of_a_heap_fill_it_and_those_of_a_row_that_is_alone_are_no_cluster(grains) -> None:
    heap = SPACING * np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), -1).reshape(-1, 3) + [0.7, 0.01, -0.1]
    alone = np.array([[0.9, 0.2, 0.3], [1.2, 0.3, -0.3], [0.8, 0.15, -0.5]])
    away = grains(np.concatenate([heap, alone]).astype(np.float32))
    assert np.abs(away[: len(heap)]).max() <= 0.51 * SPACING
    gaps = np.linalg.norm(away[len(heap) :, :, None] - away[len(heap) :, None], axis=-1)[:, ~np.eye(GRAINS, dtype=bool)]
    assert gaps.reshape(3, GRAINS, -1).min(axis=2).mean() > 1.4 * SPACING, "grains have a diameter of 0.6 spacings"


def test_grains_rest_on_the_ground_within_the_tank(grains) -> None:
    """On the bed and on the shelf, and at a pane, which is 0.65 m from the middle."""
    sand = np.array([[1.0, 0.004, 0.0], [-0.2, 0.358, 0.3], [1.2, 0.2, 0.64]], np.float32)
    at = grains(sand) + sand[:, None]
    assert (at[0, :, 1] >= 0.0).all() and at[0, :, 1].max() < 0.0081
    assert (at[1, :, 1] > 0.352).all() and at[1, :, 1].max() < 0.364
    assert at[2, :, 2].max() < 0.65
    assert np.ptp(at[:, :, 0], axis=1).min() > 2.0 * SPACING, "they are distant nevertheless"
