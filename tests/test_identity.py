"""What decides a kernel's code: names, notes and limits do not; everything that changes a result does."""

import dataclasses

import numpy as np
import pytest

import neuler
from every_robot import made
from neuler import Limits
from neuler.quantities.identity import identity, structure


def renamed(robot):
    """Other names for the robot, its links, joints and frames; notes and limits besides."""
    new = {name: f"{name}_renamed" for name in robot.frame_names}
    own = {joint.name: f"{joint.name}_renamed" for joint in robot.joints}
    return robot.replace(
        name="renamed",
        notes=("a note",),
        links=[dataclasses.replace(link, name=new[link.name]) for link in robot.links],
        joints=[
            dataclasses.replace(j, name=own[j.name], parent=new[j.parent], child=new[j.child]) for j in robot.joints
        ],
        frames=[dataclasses.replace(f, name=new[f.name], link=new[f.link]) for f in robot.frames],
        loops=[dataclasses.replace(x, first=new[x.first], second=new[x.second]) for x in robot.loops],
        couplings=[
            neuler.Coupling(own[c.joint], tuple(own[x] for x in c.of), c.ratio, c.offset, c.function)
            for c in robot.couplings
        ],
        independent=robot.independent and tuple(own[name] for name in robot.independent),
    )


@pytest.mark.parametrize("name", ["puma560", "kinds", "geared", "five_bar", "delta"])
def test_names_and_notes_do_not_decide(name):
    robot = made(name)
    assert structure(robot) == structure(renamed(robot))
    assert robot.content_hash != renamed(robot).content_hash


def test_limits_do_not_decide_where_nothing_was_looked_for_within_them():
    robot = neuler.robots.puma560()
    tight = robot.replace(joints=[dataclasses.replace(j, limits=Limits(-1, 1)) for j in robot.joints])
    assert structure(robot) == structure(tight)


def test_a_renamed_robot_finds_its_code(tmp_path, monkeypatch):
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path))
    robot = neuler.robots.rx90().with_gravity((0.1, 0.2, -9.0))
    first = robot.compile("inverse_dynamics")
    again = renamed(robot).compile("inverse_dynamics")
    assert again.ufunc is first.ufunc
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 6))
    np.testing.assert_array_equal(first(q, qd, qdd), again(q, qd, qdd))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.with_gravity((0, 0, -9.8)),
        lambda r: r.with_payload("link6", 0.1),
        lambda r: r.without_friction(),
        lambda r: r.without_motors(),
        lambda r: r.with_spring("joint2", 3.0, role="driven"),
        lambda r: r.with_passive("joint2"),
        lambda r: r.with_free_base(),
        lambda r: r.replace(joints=[dataclasses.replace(j, axis=(0, 0, -1)) for j in r.joints]),
    ],
)
def test_what_changes_a_result_decides(change):
    robot = neuler.robots.puma560()
    assert structure(robot) != structure(change(robot))


def test_an_option_means_what_it_names():
    """Two robots whose frames have changed places: one name, two meanings."""
    robot = neuler.robots.puma560().with_frame("here", "link6").with_frame("there", "link3")
    other = neuler.robots.puma560().with_frame("there", "link6").with_frame("here", "link3")
    assert structure(robot) == structure(other)
    options = {"frame": "here"}
    assert identity(robot, "jacobian", options) != identity(other, "jacobian", options)
    q = np.linspace(0, 1, 6)
    mine, theirs = robot.compile("jacobian", frame="here")(q), other.compile("jacobian", frame="there")(q)
    np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(mine, other.compile("jacobian", frame="here")(q))
