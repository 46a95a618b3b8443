"""Changed copies of robots with loops and couplings, lists that are none, and loops closed the wrong way round."""

import numpy as np
import pytest

import neuler
from neuler import Coupling, InputError, Joint, Link, Loop, Robot, RobotError
from neuler.robot.expand import expand


def test_a_reference_follows_its_joints():
    five = neuler.robots.five_bar()
    names = [joint.name for joint in five.moving_joints]
    place = dict(zip(names, five.reference, strict=True))
    geared = five.replace(loops=(), couplings=[Coupling(names[-1], names[0])])
    assert geared.reference == tuple(place[name] for name in names[:-1])
    assert five.replace(loops=()).reference == five.reference
    assert five.with_independent(*five.active_names).replace(loops=()).independent is None
    bare = five.replace(joints=[*five.joints], frames=five.frames)
    assert bare == five


def test_the_neutral_position_of_a_tree_is_its_reference():
    robot = neuler.robots.two_link().replace(reference=[0.3, 0.4])
    assert robot.neutral().tolist() == [0.3, 0.4]
    assert robot.with_gravity((0, 0, 0)).neutral().tolist() == [0.3, 0.4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: r.replace(couplings=Coupling("joint2", "joint1")), "couplings must be a list, got .*; put it in"),
        (lambda r: r.replace(couplings="joint2"), "couplings must be a list, got 'joint2'"),
        (lambda r: r.replace(loops=Loop("a", "fixed", "base", "link2")), "loops must be a list"),
        (lambda r: r.replace(independent=3), "independent must be a list, got 3"),
        (lambda r: Coupling("a", None), "names of joints are expected, got 'a' of None"),
        (lambda r: r.replace(links=Link("a")), "links must be a list"),
        (lambda r: r.replace(reference=[np.nan, 0.0]), "reference"),
    ],
)
def test_one_thing_where_a_list_is_expected(make, message):
    with pytest.raises(RobotError, match=message):
        make(neuler.robots.two_link())


def test_parts_of_a_joint_keep_clear_of_other_names():
    """A frame called like a part of a planar joint: parameters of the joint still reach all of its parts."""
    body = Link.from_com("plate", mass=2.0, com=(0.1, 0.2, 0), inertia=(0.1, 0.2, 0.3))
    plain = Robot("r", [Link("base"), body], [Joint("t", "translation", "base", "plate", viscous=0.1)])
    named = plain.with_frame("t.x", "plate")
    assert [joint.name for joint in expand(named).joints] == ["t.x'", "t.y", "t.z"]
    state = np.ones(3)
    for robot in (plain, named):
        kernel = robot.compile("inverse_dynamics", parameters=("t.viscous",))
        np.testing.assert_allclose(kernel(state, state, state, [0.5]) - kernel(state, state, state, [0.0]), 0.5 * state)


def test_a_loop_closed_the_wrong_way_round_is_not_closed():
    ball = Link.from_com("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    robot = Robot(
        "r", [Link("base"), ball], [Joint("j", "spherical", "base", "a")], loops=[Loop("c", "revolute", "base", "a")]
    )
    assert robot.nv == 1
    right, wrong = [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]
    assert np.isfinite(robot.mass_matrix(right)).all()
    with pytest.warns(RuntimeWarning, match="closed the wrong way round"):
        assert np.isnan(robot.mass_matrix([wrong])).all()


def test_difference_wants_closed_positions():
    machine = neuler.robots.four_bar()
    with pytest.raises(InputError, match="difference: q0: the loops are open"):
        machine.difference([0.0, 0.0, 0.0], machine.neutral())
