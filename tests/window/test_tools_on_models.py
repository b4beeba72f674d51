"""Mouse gestures on the packaged models: the effect is where the brush circle was."""

import numpy as np
import pytest

from vertigrad.models.interaction import Gesture

from ..session.test_cutting import crossed

SIZE = (480, 340)


def middle(driver, x=0.0, y=0.0):
    view = driver.viewer.gui.viewport
    return view.left + view.width / 2 + x, view.top + view.height / 2 + y


def output(driver, name):
    model, _, key = name.partition(".")
    return driver.session.stage.instances[model].outputs[key].numpy()


def interacting(driver, start, end, frames=3):
    """Press the tool at `start`, move it to `end`, and release; return the interactions in the order of the steps."""
    session = driver.session
    known = len(session.clock.interactions._changes)
    driver.hold(start)
    session.playing = True
    driver.frames_until(lambda: session.clock.interaction is not None)
    driver.carry(start, end, steps=frames)
    driver.desktop.release()
    driver.frames(2)
    session.playing = False
    assert session.clock.interaction is None and not session.tool.pressed and not session.messages
    return [
        change.interaction for change in session.clock.interactions._changes[known:] if change.interaction is not None
    ]


def near(points, interaction, radius=1.5):
    return np.linalg.norm(points.reshape(-1, 3) - np.array(interaction.point), axis=1) < radius * interaction.radius


def test_paint_on_a_reaction(opened):
    driver = opened("gray_scott", "skin.resolution=48", "skin.initial_spots=1", size=SIZE)
    image = driver.image()
    driver.key("p")
    assert driver.session.tool.gesture is Gesture.PAINT
    before = output(driver, "skin.v")
    interaction = interacting(driver, middle(driver, 40, 20), middle(driver, 60, 20))[-1]
    after, points = output(driver, "skin.v"), output(driver, "skin.position")
    painted = near(points, interaction).reshape(before.shape)
    assert painted.any() and after[painted].max() > before[painted].max() + 0.15
    change = np.abs(after - before)
    assert change[painted].mean() > 4 * change[~painted].mean(), "most of it where the ring was"
    driver.desktop.move(5, 5)
    driver.frames(2)
    assert np.abs(driver.image() - image).max() > 30


def test_drag_a_cloth(opened):
    driver = opened("cloth", "cloth.resolution=20", "cloth.solver_substeps=4", "view.theme=custom", size=SIZE)
    driver.session.tool.brush.radius = 0.15
    start = output(driver, "cloth.position").reshape(-1, 3)
    driver.key("d")
    interaction = interacting(driver, middle(driver, 0, -30), middle(driver, 30, -80), frames=5)[0]
    assert driver.session.clock.interactions.gestures == {Gesture.DRAG}
    moved = output(driver, "cloth.position").reshape(-1, 3) - start
    held = near(start, interaction, 3.0)
    assert held.any() and moved[held, 1].mean() > moved[~held, 1].mean() + 0.005, "it was lifted where it was held"


@pytest.mark.turns(3)
def test_drag_water(opened):
    driver = opened("fluid", "water.count=800", size=SIZE)
    driver.key("d")
    interactions = interacting(driver, middle(driver, -90, 30), middle(driver, -30, 30), frames=5)
    fastest = max(interactions, key=lambda interaction: np.linalg.norm(interaction.velocity))
    along = np.array(fastest.velocity) / np.linalg.norm(fastest.velocity)
    positions, speeds = output(driver, "water.position"), output(driver, "water.velocity") @ along
    held = near(positions, interactions[-1], 2.0)
    assert held.any() and speeds[held].mean() > speeds[~held].mean() + 0.1, "it goes where it is pulled"


def test_cut_a_cloth_over_a_ball(opened):
    """The stroke starts and ends outside the cloth and crosses it over the ball: it cuts all the way through."""
    sets = "cloth.resolution=16", "cloth.solver_substeps=2", "cloth.self_collision=false"
    driver = opened("cloth", *sets, "cloth.gravity=0", "view.theme=custom", size=SIZE, panels=False)
    session, model = driver.session, driver.session.stage.instances["cloth"].model
    session.cameras.now.pitch = 0.8
    driver.key("c")
    path = middle(driver, -150, 80), middle(driver, 150, -60)
    under = crossed(session, path, SIZE)
    interactions = interacting(driver, *path, frames=4)
    assert {interaction.gesture for interaction in interactions} == {Gesture.CUT}
    torn = model._fabric.springs.numpy()[:, 0] < 0
    assert under.sum() > 20 and not (under & ~torn).any() and torn.sum() < 2 * under.sum()
    index = output(driver, "cloth.index")
    assert (index[:, 0] == index[:, 1]).sum() > 16, "and it is visible"


@pytest.mark.turns(3)
def test_emit_water(opened):
    driver = opened("fluid", "water.count=800", "view.theme=custom", "view.quality=low", size=SIZE)
    before = output(driver, "water.position")
    driver.key("e")
    interaction = interacting(driver, middle(driver, 20, -60), middle(driver, 60, -70), frames=4)[-1]
    assert driver.session.clock.interactions.gestures == {Gesture.EMIT}
    after = output(driver, "water.position")
    interaction = interaction._replace(point=interaction.inside((0, 0, 0), (3, 2, 1.2)))  # the floor is behind the tank
    assert near(after, interaction, 2.0).sum() >= near(before, interaction, 2.0).sum() + 5, (
        "it comes out where the ring is"
    )
    jet = output(driver, "water.velocity")[near(after, interaction, 2.0)] @ np.array(interaction.direction)
    assert np.median(jet) > 0.5, "away from the eye"
