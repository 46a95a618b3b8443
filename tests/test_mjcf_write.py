"""Robots as MJCF: MuJoCo compiles what is written, and its dynamics are neuler's; what it cannot hold is refused."""

import dataclasses

import numpy as np
import pytest

from kind_robots import kind_robot
from neuler import (
    Coulomb,
    FormatError,
    Joint,
    Limits,
    Link,
    Motor,
    Robot,
    Transform,
    robots,
)
from neuler.formats import mjcf_write
from neuler.robot.expand import simple_names
from random_robots import few, random_link, random_robot

mujoco = pytest.importorskip("mujoco")

from mjcf_written import KINDS, agrees, alike, compiled, solid  # noqa: E402

# ---- dynamics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(20), 4))
def test_random_trees(seed):
    agrees(alike(solid(random_robot(seed))))


BARE = [seed for seed in range(60) if any(not link.mass for link in random_robot(seed).links)]


@pytest.mark.parametrize("seed", few(BARE, 6))
def test_random_trees_with_links_without_mass(seed):
    """They are joints in a row, where they are between two joints; else they are refused."""
    robot = alike(random_robot(seed)).replace(frames=())
    children = {link.name: [joint for joint in robot.joints if joint.parent == link.name] for link in robot.links}
    carried = {joint.child: joint for joint in robot.joints}
    bare = [link.name for link in robot.links[1:] if not link.mass]
    held = all(
        any(each.kind == "fixed" for each in children[name])  # what is fixed to it has mass
        or (not carried[name].moves)
        or len(children[name]) == 1
        for name in bare
    )
    if held:
        agrees(robot)
    else:
        with pytest.raises(FormatError, match="moves without mass"):
            mjcf_write.write(robot)


@pytest.mark.parametrize("seed", few(range(12), 4))
def test_random_trees_of_every_kind(seed):
    agrees(kind_robot(seed, kinds=KINDS))


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_free_bases(seed):
    agrees(kind_robot(seed, joints=3, kinds=KINDS).with_free_base())


HELD = ("eel", "five_bar", "four_bar", "gough_stewart", "planar_3rrr", "rx90", "slider_crank", "sr400", "stanford",
        "two_link", "human", "prismatic_revolute", "shuttle_arm")  # fmt: skip


@pytest.mark.parametrize("name", few(HELD, 5))
def test_the_catalogue(name):
    agrees(robots.get(name))


def test_the_rest_of_the_catalogue_says_why():
    for name, what in {
        "delta": "loop 'leg1': .* this cut joint is universal; cut the loop at a spherical, revolute or fixed joint",
        "orthoglide": "loop 'x': .* universal",
        "hua_3r": r"motor 'motor1' has a rotor that its carrier feels; .* robot.with_simple_motors\(\)",
        "puma560": "joint 'joint1': .* same in both directions, and its is 24.7314 forward and 27.2358 in reverse",
    }.items():
        with pytest.raises(FormatError, match=what):
            mjcf_write.write(robots.get(name))


def test_springs_losses_and_rotors():
    arm = robots.two_link()
    drives = {"viscous": 0.3, "coulomb": 0.7, "rotor_inertia": 0.2, "stiffness": 4.0, "rest": 0.3, "role": "driven"}
    first, *others = arm.joints
    agrees(arm.replace(joints=[dataclasses.replace(first, **drives), *others]))
    agrees(arm.with_friction("joint2", Coulomb(0.4, viscous=0.1)))


def test_motors_are_armature_with_their_friction_and_their_weight():
    motor = Motor("m", "joint2", 20.0, inertia=(1e-3, 1e-3, 1e-3), mass=0.7, viscous=1e-3, coulomb=1e-2, coupled=False)
    robot = robots.two_link().replace(motors=[motor])
    model = agrees(robot)
    assert model.joint("joint2").armature == 20.0**2 * 1e-3
    assert model.joint("joint2").frictionloss == pytest.approx(0.2)
    assert model.body("link1").mass == robots.two_link().links[1].mass + 0.7


def test_bodies_without_inertia_about_an_axis():
    """A rod, a point: the least that MuJoCo takes changes nothing that a double can show."""
    rod = Link.from_com("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    point = Link("point", 2.0, (0.0, -2.0, 0.0), (2.0, 0.0, 2.0, 0.0, 0.0, 0.0))
    joints = [
        Joint("a", "revolute", "base", "rod", axis=(0, 0, 1)),
        Joint("b", "revolute", "rod", "point", Transform(translation=(1, 0, 0)), axis=(1, 0, 0)),
    ]
    agrees(Robot("light", [Link("base"), rod, point], joints))


def test_thin_plates_are_bodies():
    """Of a plate the largest principal inertia is the sum of the others, but for rounding."""
    turn = np.array(Transform.from_rpy((0, 0, 0), (0.3, 0.7, 1.1)).rotation)
    for k in range(20):
        a, b = np.random.default_rng(k).uniform(0.01, 1, 2)
        plate = Link.from_com("plate", mass=1.0, inertia=turn @ np.diag([a, b, a + b]) @ turn.T)
        compiled(Robot("plate", [Link("base"), plate], [Joint("a", "revolute", "base", "plate")]))


# ---- rows of joints -------------------------------------------------------------------------------------


def universal(*kinds, last="revolute"):
    """Joints on links without mass, placed anywhere, and a body behind them."""
    rng = np.random.default_rng(len(kinds))
    links, joints = [Link("base")], []
    for k, kind in enumerate([*kinds, last]):
        place = Transform.from_rpy(rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 3))
        axis = tuple(rng.normal(size=3))
        links.append(Link(f"l{k}") if k < len(kinds) else random_link(rng, f"l{k}"))
        joints.append(
            Joint(f"j{k}", kind, links[k].name, f"l{k}", place, axis, viscous=0.1 if kind != "fixed" else 0.0)
        )
    return Robot("row", links, joints)


@pytest.mark.parametrize(
    ("kinds", "last"),
    [
        (("revolute",), "revolute"),
        (("prismatic", "revolute"), "prismatic"),
        (("revolute", "fixed"), "revolute"),
        (("revolute", "prismatic"), "spherical"),
        (("revolute", "fixed", "fixed", "prismatic"), "revolute"),
    ],
)
def test_joints_on_both_sides_of_a_bare_link_stand_in_a_row(kinds, last):
    robot = universal(*kinds, last=last)
    model = agrees(robot)
    assert model.nbody == 3  # world, base, and the body at the end
    assert model.nv == robot.nv


def test_other_links_without_mass_are_refused():
    bare = universal("revolute")
    seven = universal(*["revolute", "prismatic"] * 3)
    for robot, what in (
        (bare.with_frame("eye", "l0"), "link 'l0': moves without mass, and MuJoCo refuses such bodies; give it mass"),
        (universal("spherical"), "link 'l0': moves without mass"),
        (universal("revolute", last="fixed").replace(links=[Link("base"), Link("l0"), Link("l1")]), "link 'l0'"),
        (seven, "joint 'j6': 7 degrees of freedom in a row without a mass between them"),
    ):
        with pytest.raises(FormatError, match=what):
            mjcf_write.write(robot)
    assert compiled(universal(*["revolute", "prismatic"] * 2, "revolute"))[0].nv == 6
    agrees(universal("revolute", last="fixed"))  # what is fixed to it has mass


def test_planar_and_translation_joints_keep_their_limits():
    robot = Robot(
        "cart",
        [Link("base"), random_link(np.random.default_rng(1), "cart")],
        [Joint("p", "planar", "base", "cart", limits=Limits(-1.0, 2.0, 3.0, 4.0))],
    )
    model = agrees(robot)
    names = simple_names(robot)["p"]
    assert [model.joint(k).name for k in range(3)] == list(names)
    for name in names:
        np.testing.assert_array_equal(model.joint(name).range, [-1.0, 2.0])
        np.testing.assert_array_equal(model.actuator(name).forcerange, [-4.0, 4.0])
        assert model.numeric(f"velocity_limit.{name}").data == [3.0]
