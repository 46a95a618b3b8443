"""Pictures of robots: loops and their cuts, platforms, marks of joints by their kind, labels, points of view."""

import itertools
import math

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Loop, Robot
from neuler.view import draw
from neuler.view.curves import run_figure, span
from neuler.view.marks import symbols
from neuler.view.poses import Placed, surroundings
from neuler.view.sample_motion import sample_motion
from neuler.view.space import CUT, on_paper, plotting
from random_robots import few
from shown_robots import LOOPS, PARALLEL, all_kinds, at, bar, geared


def strokes(ax):
    """Ends of all lines of two points."""
    return [np.array(line.get_data_3d()).T for line in ax.lines if len(line.get_data_3d()[0]) == 2]


def joined(ax, a, b):
    return any(min(np.abs(s - [a, b]).max(), np.abs(s - [b, a]).max()) < 1e-9 for s in strokes(ax))


def dashed_gaps(ax):
    return sum(line.get_color() == CUT for line in ax.lines)


def crosses(ax):
    """Places of the marks of cut joints."""
    found = [c for c in ax.collections if hasattr(c, "_offsets3d") and c.get_zorder() == 7]
    return [np.array([float(x[0]) for x in c._offsets3d]) for c in found]


def polygons(ax, order):
    """Collections of faces at a height of the picture: 5 are joints, 3 platforms, 1 what they stand on."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    return [c for c in ax.collections if isinstance(c, Poly3DCollection) and c.get_zorder() == order]


def corners(collection):
    """Of all faces of a mark, (points, 3)."""
    faces = collection._faces if hasattr(collection, "_faces") else collection._vec[:3].T
    return np.asarray(faces, dtype=float).reshape(-1, 3)  # all of four corners


# ---- loops ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", few(["four_bar", "slider_crank", "delta", "sr400"], 2))
def test_loops_are_drawn_closed_with_the_cuts_marked(name):
    robot = neuler.robots.get(name)
    path = sample_motion(robot).q
    for q in (path[0], path[-1]):
        ax = draw(robot, q).axes[0]
        placed = Placed.of(robot, q)
        assert dashed_gaps(ax) == 0
        assert len(crosses(ax)) == len(placed.cuts)
        for cut, mark in zip(placed.cuts, crosses(ax), strict=True):
            np.testing.assert_allclose(cut[0], cut[1], atol=1e-11)
            np.testing.assert_allclose(mark, cut[0], atol=1e-9)


def test_the_links_of_a_loop_meet_at_its_cut():
    ax = draw(neuler.robots.four_bar()).axes[0]
    corner, crank_end, foot = [0.36, 0.42, 0], [0, 0.15, 0], [0.675, 0, 0]
    for a, b in (([0, 0, 0], crank_end), (crank_end, corner), (foot, corner), ([0, 0, 0], foot)):
        assert joined(ax, a, b), (a, b)


def test_an_open_loop_is_drawn_open():
    ax = draw(neuler.robots.four_bar(), [math.pi / 2, 0.0, 2.0]).axes[0]
    assert dashed_gaps(ax) == 1
    assert len(crosses(ax)) == 2


def test_a_platform_is_a_polygon_through_the_attachments():
    robot = neuler.robots.gough_stewart()
    ax = draw(robot).axes[0]
    assert (len(polygons(ax, 3)), len(polygons(ax, 1))) == (1, 1)  # the platform and the base
    ring = [Placed.of(robot).cuts[k, 1] for k in range(6)]
    edges = [np.array(line.get_data_3d()).T for line in ax.lines if len(line.get_data_3d()[0]) == 7]
    sides = [pair for edge in edges for pair in itertools.pairwise(edge)]
    for a, b in itertools.pairwise([*ring, ring[0]]):  # given in their order around it
        assert any(min(np.abs(np.array(s) - [a, b]).max(), np.abs(np.array(s) - [b, a]).max()) < 1e-6 for s in sides)
    assert not any(joined(ax, [0, 0, 0], foot) for foot in Placed.of(robot).origins[2::3])


def test_a_structure_that_does_not_move_is_drawn():
    frames = [neuler.Frame("tip", "a", at(0.4)), neuler.Frame("top", "b", at(0.4))]
    joints = [Joint("left", "revolute", "base", "a"), Joint("right", "revolute", "base", "b", at(0.3))]
    loops = [Loop("roof", "revolute", "tip", "top")]
    robot = Robot("roof", [Link("base"), bar("a"), bar("b")], joints, frames=frames, loops=loops)
    assert robot.nv == 0
    assert len(crosses(draw(robot).axes[0])) == 1


# ---- joints --------------------------------------------------------------------------------------


def test_every_kind_of_joint_has_a_mark_of_its_own():
    robot = all_kinds()
    names = [name for _, name in symbols(robot)]
    assert len(names) == len(set(names)) == 6
    marks = polygons(draw(robot).axes[0], 5)
    assert len(marks) == 6
    assert len({len(mark.get_facecolor()) for mark in marks}) == 6  # as many shapes


def test_a_mark_lies_along_its_axis_where_the_joint_is():
    for kind, axis in itertools.product(("revolute", "prismatic", "helical"), ((1, 0, 0), (1, -2, 0.5))):
        joint = Joint("j", kind, "base", "a", at(0.3, 0.2, 0.1), axis=axis)
        ax = draw(Robot("one", [Link("base"), bar("a")], [joint])).axes[0]
        (mark,) = polygons(ax, 5)
        away = corners(mark) - [0.3, 0.2, 0.1]
        along = away @ np.array(joint.axis)
        across = np.linalg.norm(away - np.outer(along, joint.axis), axis=1)
        assert along.max() == pytest.approx(-along.min())
        assert along.max() > 1.5 * across.max()


def test_motors_are_dark_and_followers_pale():
    robot = neuler.robots.four_bar()
    shades = [float(mark.get_facecolor()[:, :3].mean()) for mark in polygons(draw(robot).axes[0], 5)]
    assert shades[0] < 0.6 * min(shades[1:])
    shades = [float(mark.get_facecolor()[:, :3].mean()) for mark in polygons(draw(geared()).axes[0], 5)]
    assert shades[0] < 0.6 * min(shades[1:])  # who is led has no motor, either


def test_couplings_are_dotted_lines_to_who_leads():
    ax = draw(geared()).axes[0]
    assert dashed_gaps(ax) == 2
    assert len(crosses(ax)) == 0


# ---- labels and points of view -------------------------------------------------------------------


def seen(ax, text):
    """The box of a label where it is seen: matplotlib's own is that of (x, y), without perspective."""
    place = text.get_position_3d()
    here, there = ax.transData.transform(place[:2]), on_paper(ax, np.array(place))
    return text.get_window_extent().translated(*(there - here))


@pytest.mark.parametrize("name", few(["puma560", "kinds", *LOOPS, *PARALLEL], 3))
def test_labels_do_not_overlap_and_scales_are_equal(name):
    robot = all_kinds() if name == "kinds" else neuler.robots.get(name)
    path = sample_motion(robot).q
    states = [path[0], path[-1]]
    extent = surroundings(robot, states)
    for q in states:
        figure = plotting()(figsize=(6.0, 6.0))
        ax = figure.add_axes((0, 0, 1, 1), projection="3d")
        assert draw(robot, q, ax, extent=extent) is None  # nothing that a notebook would show again
        spans = [np.diff(getattr(ax, f"get_{x}lim")())[0] for x in "xyz"]
        np.testing.assert_allclose(ax._box_aspect / ax._box_aspect[0], np.array(spans) / spans[0], rtol=1e-9)
        figure.draw_without_rendering()
        boxes = [seen(ax, text) for text in ax.texts]
        assert len(boxes) >= min(3, len(robot.joint_names))
        for a, b in itertools.combinations(boxes, 2):
            assert not a.overlaps(b), name


def test_what_moves_in_a_plane_is_looked_at_square_to_it():
    views = {"four_bar": 2, "planar_3rrr": 2, "two_link": 1, "delta": None, "puma560": None, "eel": None}
    for name, normal in views.items():
        robot = neuler.robots.get(name)
        found = Placed.of(robot).plane
        if normal is None:
            assert found is None, name
        else:
            assert found is not None, name
            assert np.ptp(Placed.of(robot, sample_motion(robot).q[-1]).points[:, found]) < 1e-9, name


def test_drawing_refuses_what_it_cannot_draw():
    robot = neuler.robots.four_bar()
    with pytest.raises(neuler.InputError, match="expected q with 3 numbers"):
        draw(robot, [0.0])
    with pytest.raises(neuler.InputError, match="3-D axes"):
        draw(robot, None, plotting()().add_subplot())
    with pytest.raises(neuler.InputError, match="quaternion"), np.errstate(all="ignore"):
        draw(neuler.robots.eel(), np.zeros(18))
    assert draw(neuler.robots.eel()).axes[0].texts[0].get_text() == "head"


def test_a_panel_is_scaled_by_most_moments():
    """A first torque far beyond all others is cut off, and told; curves without such a moment are shown whole."""
    t = np.linspace(0.0, 10.0, 1001)
    calm = np.stack([5.0 * np.sin(t), 8.0 + np.cos(t)], axis=1)
    first = calm.copy()
    first[0, 1] = 1244.0
    names, units = ["tau_a", "tau_b"], ["N m", "N m"]
    still = np.zeros(1001)
    whole, cut = (
        run_figure(t, [("tau", tau, names, units)], None, still, still, plotting()()).axes[0] for tau in (calm, first)
    )
    assert [text.get_text() for text in whole.texts] == []
    assert whole.get_ylim()[1] >= calm.max()
    assert [text.get_text() for text in cut.texts] == ["cut off: 1244 at 0 s"]
    low, high = cut.get_ylim()
    assert low < calm.min() < calm.max() < high < 20.0
    turned = run_figure(t, [("tau", -first, names, units)], None, still, still, plotting()()).axes[0]
    assert [text.get_text() for text in turned.texts] == ["cut off: -1244 at 0 s"]


def test_a_panel_of_few_or_constant_moments_is_shown_whole():
    assert span(np.array([[0.0], [1.0], [500.0]])) is None
    assert span(np.where(np.arange(1000)[:, None] == 3, 9.0, 0.0)) is None  # but for one moment there is nothing
    assert span(np.full((1000, 2), np.nan)) is None
