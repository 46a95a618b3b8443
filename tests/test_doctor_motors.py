"""What the doctor finds about motors, and what it leaves alone."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from motor_robots import SEEDS, motor_robot
from neuler import Coulomb, Coupling, Joint, Link, Motor, Robot, Transform
from neuler.diagnose.doctor import examine
from neuler.diagnose.finding import Finding

GOOD = {"name": "m", "joint": "elbow", "ratio": 100.0, "inertia": 1e-4, "included": True}


def arm(*motors, **elbow):
    """A shoulder, an elbow, and a hand fixed to the fore-arm."""
    bodies = [Link.from_com(name, mass=3.0, com=(0.2, 0, 0), inertia=(0.01, 0.05, 0.05)) for name in ("upper", "fore")]
    links = [Link("base"), *bodies, Link.from_com("hand", mass=1.0, inertia=(0.002, 0.002, 0.002))]
    joints = [
        Joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0)),
        Joint("elbow", "revolute", "upper", "fore", Transform.from_rpy((0.4, 0, 0)), (0, 1, 0), **elbow),
        Joint("weld", "fixed", "fore", "hand", Transform.from_rpy((0.4, 0, 0))),
    ]
    return Robot("arm", links, joints, motors=[Motor(**{**GOOD, **motor}) for motor in motors])


def found(robot):
    return [str(finding) for finding in examine(robot)]


def slide(stiffness):
    link = Link.from_com("carriage", mass=5.0, inertia=(0.1, 0.1, 0.1))
    motor = Motor("m", "lift", 300.0, inertia=1e-4, included=True, stiffness=stiffness)
    return Robot("lift", [Link("base"), link], [Joint("lift", "prismatic", "base", "carriage")], motors=[motor])


def test_healthy_motors_are_left_alone():
    elastic = {"name": "n", "joint": "shoulder", "stiffness": 5000.0, "damping": 1.0}
    whole = {"mass": 0.5, "position": (0.4, 0.1, 0), "inertia": (5e-5, 5e-5, 1e-4), "included": False}
    assert found(arm({}, elastic)) == []
    assert found(arm(whole)) == []
    assert found(slide(1e5)) == []


@pytest.mark.parametrize(
    ("robot", "expected"),
    [
        (
            arm({"inertia": (5e-5, 9e-5, 1e-4), "included": False}),
            "warning: motor 'm': its moments across the axis differ, 5e-05 and 9e-05 kg m^2; a rotor is taken to be",
        ),
        (
            arm({"inertia": (2e-5, 2e-5, 1e-4)}),
            "warning: motor 'm': no body has the moments of inertia 2e-05, 2e-05, 0.0001 kg m^2",
        ),
        (
            arm({"mass": 3.5}),
            "warning: motor 'm': weighs 3.5 kg and is said to be included in link 'upper', which weighs 3 kg",
        ),
        (
            arm({"inertia": 0.06, "ratio": 2.0}),
            "warning: motor 'm': its rotor has 0.06 kg m^2 about its axis and is said to be included in link 'upper', "
            "which has 0.05",
        ),
        (arm({"inertia": 1.0, "ratio": 500.0, "coupled": False}), "is the rotors' inertia given on the joint's side"),
        (arm({"ratio": 1.0, "inertia": 1e-5}), "warning: joint 'elbow': feels 1e-05 kg m^2 of the rotors of 'm' and"),
        (arm({"ratio": 0.01}), "warning: motor 'm': turns 0.01 for a turn of joint 'elbow'; the ratio is of motor"),
        (arm({"ratio": -3e4, "inertia": 1e-8}), "warning: motor 'm': turns 30000 for a turn of joint 'elbow'; no gear"),
        (
            arm({}, rotor_inertia=1.0),
            "warning: joint 'elbow': has a rotor inertia of 1 kg m^2 and the motors 'm'; is a",
        ),
        (arm({"stiffness": 1e9}), "warning: motor 'm': swings against joint 'elbow' at 6.33e+04 rad/s"),
        (arm({"stiffness": 10.0}), "warning: motor 'm': its spring of 10 N m/rad gives way to the weight on joint"),
        (slide(100.0), "gives way to the weight on joint 'lift' by 0.491 m; is the stiffness in N/mm?"),
        (arm({"included": False, "mass": 0.5, "position": (40, 10, 0)}), "sits 41.2311 m from its carrier's frame"),
        (arm({"inertia": 0.0}), "note: motor 'm': has neither inertia nor friction: it changes nothing"),
        (arm({"friction": Coulomb(-1.0)}), "error: motor 'm': its friction law makes energy"),
    ],
)
def test_findings(robot, expected):
    told = found(robot)
    assert [line for line in told if expected in line], told
    assert len([line for line in told if "motor" in line or "rotor" in line]) == 1, told


@pytest.mark.parametrize(
    "motor",
    [
        {"inertia": (5e-5, 9e-5, 1e-4)},  # contained: its moments across the axis have no effect
        {"inertia": 1e-4, "included": False},  # one moment alone is not three
        {"mass": 3.5, "carrier": "fore", "axis": (0, 1, 0)},  # with the hand that is fixed to it, 4 kg
        {"mass": 3.5, "included": False, "position": (0.4, 0, 0)},
        {"mass": 9.0, "joint": "shoulder"},  # on the ground, which need not have a mass
        {"inertia": 0.06, "ratio": 2.0, "coupled": False},
        {"stiffness": 500.0},
        {"position": (40, 10, 0), "mass": 0.5},  # contained: its place has no effect
        {"inertia": 0.0, "viscous": 1e-3},
        {"ratio": {"elbow": 50.0}, "inertia": 1e-4},
    ],
)
def test_what_is_no_finding(motor):
    assert found(arm(motor)) == []


def test_small_ratios_of_other_joints_are_no_finding():
    """A belt that passes a joint turns a rotor by less than a turn."""
    both = [{"name": "a", "joint": "shoulder"}, {"name": "b", "ratio": {"elbow": 80.0, "shoulder": 0.5}}]
    assert found(arm(*both)) == []


def test_a_motor_gives_a_joint_inertia_and_a_mass():
    bare = Robot("r", [Link("base"), Link("tip")], [Joint("j", "revolute", "base", "tip")])
    assert any("nothing that it moves has inertia" in line for line in found(bare))
    motor = Motor("m", "j", 10.0, inertia=1e-3)
    assert not any("inertia" in line for line in found(bare.replace(motors=[motor])))
    heavy = Motor("m", "j", 10.0, inertia=1e-3, mass=1.0, carrier="tip", axis=(0, 0, 1), position=(0.1, 0, 0))
    assert not any("mass" in line for line in found(bare.replace(motors=[heavy])))


@pytest.mark.parametrize("seed", SEEDS)
def test_robots_with_motors_of_all_sorts_are_examined(seed):
    assert not [finding for finding in motor_robot(seed).check() if finding.severity == "error"]


def test_on_loops_and_free_bases():
    four = neuler.robots.four_bar()
    motor = Motor("m", "crank", 40, inertia=1e-3, stiffness=200.0)
    told = [finding for finding in four.replace(motors=[motor]).check() if finding.severity != "note"]
    assert not told
    heavy = Link.from_com("base", mass=9.0, inertia=(0.3, 0.3, 0.3))
    free = arm({}).replace(links=[heavy, *arm().links[1:]]).with_free_base()
    assert not [finding for finding in free.check() if finding.severity != "note"]
    follower = arm().replace(couplings=[Coupling("elbow", "shoulder", 2.0)], motors=[Motor("m", "shoulder", 0.1)])
    assert any("turns 0.1 for a turn" in line for line in found(follower))


number = st.floats(0.0, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, 1e-4, 1e300])


@settings(max_examples=20, deadline=None)
@given(
    st.tuples(number, number, number),
    number,
    st.floats(allow_nan=False, allow_infinity=False),
    st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3),
    st.booleans(),
    st.floats(1e-300, allow_nan=False),
)
def test_it_never_raises(moments, mass, ratio, position, included, stiffness):
    ratio = ratio if 1e-50 <= abs(ratio) <= 1e50 else 1.0  # others are refused
    fields = {"inertia": moments, "mass": mass, "ratio": ratio, "position": position, "included": included}
    if moments[2]:
        fields["stiffness"] = stiffness
    with np.errstate(all="ignore"):
        robot = arm(fields)
    assert all(isinstance(finding, Finding) for finding in examine(robot))


def test_laws_of_motors_are_examined_once():
    robot = arm({"friction": Coulomb(-1.0)})
    assert sum("makes energy" in line for line in found(robot)) == 1
    assert found(robot.replace(motors=[dataclasses.replace(robot.motors[0], friction=Coulomb(0.1))])) == []
