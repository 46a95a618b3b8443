"""What the doctor finds, and that it always answers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from neuler.diagnose.doctor import examine
from neuler.diagnose.finding import Finding
from neuler.robot import Frame, Joint, Limits, Link, Loop, Robot
from neuler.robot.inertia_matrix import inertia_matrix
from shown_robots import all_kinds, at, bar, geared, under_actuated

BODY = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.1, 0.1)}


def arm(link=None, gravity=(0, 0, -9.81), notes=(), **joint):
    link = link or Link.from_com("hand", **BODY)
    return Robot("arm", [Link("base"), link], [Joint("hinge", "revolute", "base", "hand", **joint)], gravity, (), notes)


def found(robot):
    return [str(finding) for finding in examine(robot)]


def test_a_healthy_robot_has_no_findings():
    assert examine(arm()) == []
    assert examine(arm(gravity=(0, 0, 0))) == []


def test_a_finding_reads_well():
    finding = Finding("error", "link 'hand'", "mass is negative, -1 kg")
    assert str(finding) == "error: link 'hand': mass is negative, -1 kg"
    assert finding == Finding("error", "link 'hand'", "mass is negative, -1 kg")


@pytest.mark.parametrize(
    ("robot", "expected"),
    [
        (arm(Link("hand", mass=-1.0)), "error: link 'hand': mass is negative, -1 kg"),
        (arm(Link("hand", first_moment=(1, 0, 0), inertia=(1, 1, 1))), "a first moment but no mass"),
        (arm(Link("hand", inertia=(1, 1, 1))), "warning: joint 'hinge': moves a mass of 0 kg"),
        (arm(Link("hand")), "warning: robot 'arm': has no mass at all"),
        (
            arm(Link.from_com("hand", mass=1, inertia=(-1, 1, 1))),
            "error: link 'hand': inertia about the centre of mass",
        ),
        (arm(Link("hand", mass=1, first_moment=(1, 0, 0))), "inertia about the centre of mass is negative"),
        (arm(Link.from_com("hand", mass=1, inertia=(0.1, 0.1, 0.3))), "warning: link 'hand': no body has"),
        (arm(Link.from_com("hand", mass=1, com=(120, 0, 0), inertia=(1, 1, 1))), "is it in millimetres"),
        (arm(Link.from_com("hand", mass=1, inertia=(200, 200, 200))), "radius of gyration is 14.1421 m"),
        (arm(Link.from_com("hand", mass=2e5, com=(1, 0, 0), inertia=(1, 1, 1))), "are the masses in gram"),
        (arm(limits=Limits(1, -1)), "error: joint 'hinge': lower limit 1 is above the upper one -1"),
        (arm(limits=Limits(effort=-1)), "effort limit is negative"),
        (arm(viscous=-1), "error: joint 'hinge': viscous friction is negative"),
        (arm(coulomb=-1), "Coulomb friction is negative"),
        (arm(coulomb_reverse=-1), "Coulomb friction in reverse is negative"),
        (arm(rotor_inertia=-0.001), "rotor inertia is negative"),
        (arm(gravity=(0, 0, -9810)), "warning: robot 'arm': gravity is 9810 m/s^2"),
        (arm(notes=["ignored: <gazebo> (3)"]), "note: robot 'arm': ignored: <gazebo> (3)"),
    ],
)
def test_findings(robot, expected):
    assert any(expected in line for line in found(robot)), found(robot)


def test_errors_come_first():
    robot = arm(Link("hand", mass=-1.0), notes=["x"], gravity=(0, 0, 5))
    severities = [finding.severity for finding in examine(robot)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_a_mass_on_the_axis_makes_the_inertia_matrix_singular():
    point = Link.from_com("hand", mass=1, com=(0, 0, 0.5))
    assert any("inertia matrix is singular" in line for line in found(arm(point)))
    assert not found(arm(point, rotor_inertia=0.1))


def test_a_mass_on_the_axis_only_at_zero_is_fine():
    links = [Link("base"), Link("upper"), Link.from_com("hand", mass=1, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.1))]
    joints = [
        Joint("yaw", "revolute", "base", "upper"),
        Joint("pitch", "revolute", "upper", "hand", axis=(0, 1, 0)),
    ]
    assert examine(Robot("arm", links, joints)) == []


def test_two_joints_on_one_axis_are_found_together():
    links = [Link("base"), Link("between"), Link.from_com("hand", **BODY)]
    joints = [Joint("a", "revolute", "base", "between"), Joint("b", "revolute", "between", "hand")]
    assert any("joints 'a', 'b'" in line and "singular" in line for line in found(Robot("arm", links, joints)))


def test_mass_behind_a_fixed_joint_counts():
    links = [Link("base"), Link("flange"), Link.from_com("hand", **BODY)]
    joints = [Joint("hinge", "revolute", "base", "flange"), Joint("weld", "fixed", "flange", "hand")]
    assert examine(Robot("arm", links, joints)) == []


def test_rounding_is_not_a_finding():
    link = Link.from_com("hand", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    assert examine(arm(link)) == []


def test_inertia_matrix_of_a_pendulum():
    link = Link.from_com("hand", mass=2, com=(0.5, 0, 0.1), inertia=(0.1, 0.2, 0.3))
    matrix = inertia_matrix(arm(link, rotor_inertia=0.05), np.array([0.7]))
    np.testing.assert_allclose(matrix, [[0.3 + 2 * 0.25 + 0.05]], rtol=1e-14)


number = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -1.0])


@pytest.mark.filterwarnings("ignore:.*has a negative mass")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(number, st.tuples(number, number, number), st.tuples(*[number] * 6)), min_size=1, max_size=4),
    st.sampled_from(["revolute", "prismatic", "fixed"]),
    number,
    st.floats(allow_nan=False),
)
def test_it_never_raises(bodies, kind, value, limit):
    links = [Link("0")] + [Link(str(k), *body) for k, body in enumerate(bodies, start=1)]
    joints = [
        Joint(str(k), kind, str(k), str(k + 1), limits=Limits(limit, -limit), viscous=value, rotor_inertia=value)
        for k in range(len(bodies))
    ]
    assert all(isinstance(finding, Finding) for finding in examine(Robot("r", links, joints, (value, 0, 0))))


def test_enormous_numbers_are_named():
    assert any("too large" in line for line in found(arm(Link("hand", 1e-300, (1e300, 0, 0), (1, 1, 1, 0, 0, 0)))))
    assert math.isfinite(sum(map(len, found(arm(Link("hand", 1e308, (1e308, 0, 0), (1e308, 1, 1, 0, 0, 0)))))))


def test_free_links_are_examined_too():
    """The doctor's own inertia matrix is the kernel's, free base included; a massless free link is named."""
    robot = neuler.robots.eel(4)
    q = np.array([1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5, 0.3, -0.2, 0.5])
    np.testing.assert_allclose(inertia_matrix(robot, q), robot.mass_matrix(q), atol=1e-12)
    assert not robot.check()
    light = neuler.Robot("light", [neuler.Link("base")], []).with_free_base()
    assert any("root_joint" in str(finding) for finding in light.check())


# ---- loops and couplings -------------------------------------------------------------------------


def test_loops_are_examined():
    assert not neuler.robots.gough_stewart().check()
    assert found(neuler.robots.four_bar()) == [
        "note: robot 'four_bar': redundant constraints: cut (3); rigid links leave their forces undecided"
    ]
    told = examine(under_actuated())
    assert told[0].severity == "warning"
    assert told[0].subject == "robot 'five_bar'"
    assert told[0].message == "is under-actuated: it has 2 degrees of freedom, and left_arm moves fewer"
    assert "redundant constraints: cut (3)" in told[1].message


def test_loops_that_leave_no_freedom_are_named():
    frames = [Frame("tip", "a", at(0.4)), Frame("top", "b", at(0.4))]
    joints = [Joint("left", "revolute", "base", "a"), Joint("right", "revolute", "base", "b", at(0.3))]
    roof = Robot("roof", [Link("base"), bar("a"), bar("b")], joints, frames=frames)
    roof = roof.replace(loops=[Loop("ridge", "revolute", "tip", "top")])
    assert "warning: robot 'roof': does not move: its loops leave no degree of freedom" in found(roof)


def test_what_a_loop_moves_has_the_inertia_of_the_whole_loop():
    """A light crank moves the others; without any mass it is the loop that has no dynamics, not its tree."""
    robot = neuler.robots.four_bar()
    light = robot.replace(links=[Link("crank") if link.name == "crank" else link for link in robot.links])
    assert not any("inertia" in line for line in found(light))
    bare = robot.replace(links=[Link(link.name) for link in robot.links])
    assert any(line.startswith("error: joint 'crank': nothing that it moves has inertia") for line in found(bare))


def test_couplings_are_examined():
    assert not geared().check()
    robot = geared().replace(links=[Link(link.name) for link in geared().links])
    told = found(robot)
    assert any(line.startswith("error: joint 'lead': nothing that it moves has inertia") for line in told)
    assert not any("error: joint 'half'" in line for line in told)


def test_joints_of_every_kind_are_examined():
    assert not all_kinds().check()
    bodies = [Link(link.name) if link.name == "b" else link for link in all_kinds().links]
    assert not all_kinds().replace(links=bodies).check()  # the next link is felt
