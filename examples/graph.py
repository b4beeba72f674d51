"""A graph finds its layout by forces; a click on a node marks its neighbors, a key shuffles all."""

import numpy as np

import vertigrad as vg

COUNT = 220
random = np.random.default_rng(5)
edges = [(0, 1)]
for node in range(2, COUNT):  # new nodes prefer those with many edges (Barabási & Albert 1999)
    ends = np.array(edges).ravel()
    edges += [(node, int(end)) for end in set(random.choice(ends, 2))]
starts, ends = np.array(edges).T
degree = np.bincount(np.concatenate([starts, ends]), minlength=COUNT)
position = random.normal(size=(COUNT, 3))

viewer = vg.Viewer("Graph")
links = viewer.lines("links", position=position[np.array(edges)], width=1.2, color="#5a6b80")
nodes = viewer.points(
    "nodes", position=position, size=0.02 + 0.006 * np.sqrt(degree), color=degree, colormap="lajolla", range=(0, 20)
)
rest = viewer.slider("length", 0.12, min=0.03, max=0.4, doc="length that edges tend to")
chosen = viewer.points("chosen", position=np.zeros((1, 3)), size=1e-4, color="#5fd0ff")
viewer.camera(position=(0, 0, 2.4))


@viewer.on_pick
def mark(pick: vg.scripting.Pick) -> None:
    """Mark a node and its neighbors, and write its number."""
    if pick.layer == "nodes":
        near = np.concatenate([ends[starts == pick.row], starts[ends == pick.row], [pick.row]])
        chosen.set(position=position[near], size=0.06)
        viewer.labels({f"node {pick.row}, degree {degree[pick.row]}": position[pick.row]})


@viewer.on_key("space")
def shuffle() -> None:
    """Begin from another layout."""
    position[:] = random.normal(size=position.shape)


for _ in viewer.frames():  # Fruchterman & Reingold 1991
    off = position[:, None] - position[None]
    distance = np.sqrt(np.sum(off**2, axis=-1, keepdims=True)) + 1e-3
    force = np.sum(off / distance * rest.value**2 / distance, axis=1) - 0.5 * position
    pull = position[ends] - position[starts]
    pull *= np.linalg.norm(pull, axis=1, keepdims=True) / rest.value
    np.add.at(force, starts, pull)
    np.add.at(force, ends, -pull)
    position += np.clip(0.03 * force, -0.08, 0.08)
    nodes.position, links.position = position, position[np.array(edges)]
