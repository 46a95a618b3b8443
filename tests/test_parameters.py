"""A robot's numbers as inputs: equal to the baked kernel, different in every row, named, and refused where unknown."""

import dataclasses

import numpy as np
import pytest

import neuler
from every_robot import geared, made
from kind_robots import kind_robot, kind_states
from neuler import InputError, Link, RobotError, Transform
from random_robots import close, few, random_link, random_robot, random_states

DRIVES = ("viscous", "coulomb", "coulomb_reverse", "rotor_inertia", "stiffness", "rest")


def everything(robot):
    """All that may be a parameter."""
    names = ["gravity", "links", "payload:tool"]
    for joint in robot.joints:
        if not robot.loops:
            names.append(f"{joint.name}.placement")
        if joint.moves:
            allowed = (*joint.type.drives, *(("rest",) if joint.type.has_axis else ()))
            names += [f"{joint.name}.{part}" for part in DRIVES if part in allowed]
    return tuple(names)


def changed(robot, seed):
    """The same structure with other numbers everywhere, and a payload on the tool."""
    rng = np.random.default_rng([9, seed])
    links = [random_link(rng, link.name) for link in robot.links]
    joints = []
    for joint in robot.joints:
        more = {}
        if joint.moves:
            for part in DRIVES:
                if part in joint.type.drives or (part == "rest" and joint.type.has_axis):
                    more[part] = rng.uniform(0.1, 1.0)
            more["role"] = joint.role if joint.role != "elastic" else "driven"
            if joint.type.has_axis:
                more["role"] = "driven" if joint.role != "passive" else "passive"
        if not robot.loops:
            more["placement"] = Transform.from_rpy(rng.uniform(-0.4, 0.4, 3), rng.uniform(-1.2, 1.2, 3))
        joints.append(dataclasses.replace(joint, **more))
    return robot.replace(links=links, joints=joints, gravity=tuple(rng.uniform(-9, 9, 3)))


def values_of(robot, names, payload):
    """In the order of ``names``, read from the robot's own data."""
    ten = lambda link: [link.mass, *link.first_moment, *link.inertia]  # noqa: E731
    joints = {joint.name: joint for joint in robot.joints}
    found = []
    for name in names:
        if name == "gravity":
            found += robot.gravity
        elif name == "links":
            found += [x for link in robot.links for x in ten(link)]
        elif name.startswith("payload"):
            found += ten(payload)
        else:
            joint, _, part = name.rpartition(".")
            if part == "placement":
                place = joints[joint].placement
                found += [*place.translation, *place.rpy]
            else:
                found.append(getattr(joints[joint], part))
    return np.array(found)


def tooled(robot):
    return (
        robot
        if "tool" in robot.frame_names
        else robot.with_frame("tool", robot.tip, Transform.from_rpy((0.1, 0, 0.2), (0.3, 0, 0)))
    )


QUANTITIES = ("inverse_dynamics", "forward_dynamics", "energy", "reaction_wrenches", "inverse_dynamics_sensitivities")


@pytest.mark.parametrize("seed", few((0, 7, 6, 1, 2, 3, 4, 5), 2))
def test_equal_to_the_baked_kernel_on_random_trees(seed):
    robot = tooled(random_robot(seed, 5))
    names = everything(robot)
    payload = random_link(np.random.default_rng(seed), "payload")
    other = changed(robot, seed)
    loaded = other.with_payload("tool", payload.mass, payload.com, payload.inertia_about_com)
    q, qd, qdd = random_states(robot, 7, seed)
    given = values_of(other, names, payload)
    for quantity in QUANTITIES[: 5 if seed < 3 else 2]:
        kernel = robot.compile(quantity, parameters=names)
        assert len(kernel.parameter_names) == len(kernel.parameter_values) == len(given)
        arguments = (q, qd, qdd)[: len(kernel.inputs) - 1]
        found, expected = kernel(*arguments, given), getattr(loaded, quantity)(*arguments)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for mine, theirs in pairs:
            tolerance = 1e-13
            if quantity == "forward_dynamics":
                tolerance = max(1e-13, 1e-15 * float(np.linalg.cond(loaded.mass_matrix(q)).max()))
            close(mine, theirs, 10 * tolerance if quantity.endswith("sensitivities") else tolerance, what=quantity)


@pytest.mark.parametrize("seed", few(range(4), 2))
def test_every_kind_of_joint(seed):
    robot = tooled(kind_robot(seed))
    names = everything(robot)
    other = changed(robot, seed)
    q, qd, qdd = kind_states(robot, 5, seed)
    payload = Link("payload")
    kernel = robot.compile("inverse_dynamics", parameters=names)
    close(kernel(q, qd, qdd, values_of(other, names, payload)), other.inverse_dynamics(q, qd, qdd), 1e-12)
    close(kernel(q, qd, qdd, kernel.parameter_values), robot.inverse_dynamics(q, qd, qdd), 1e-12)


@pytest.mark.parametrize("name", few(["five_bar", "geared", "geared_loop", "delta"], 2))
def test_loops_and_couplings(name):
    robot = tooled(geared() if name == "geared" else made(name))
    names = tuple(each for each in everything(robot) if not each.endswith("placement"))
    rng = np.random.default_rng(3)
    q = robot.random_configuration(1, 5)
    qd, qdd = rng.uniform(-1, 1, (2, 5, robot.nv))
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        kernel = robot.compile(quantity, parameters=names)
        given = kernel.parameter_values
        last = qdd if quantity == "inverse_dynamics" else robot.inverse_dynamics(q, qd, qdd)
        close(kernel(q, qd, last, given), getattr(robot, quantity)(q, qd, last), 1e-10)
    if robot.loops:
        with pytest.raises(RobotError, match="has loops, which another placement would open"):
            robot.compile("inverse_dynamics", parameters=(f"{robot.joints[0].name}.placement",))


def test_ten_thousand_payloads_in_one_call():
    robot = neuler.robots.puma560()
    kernel = robot.compile("inverse_dynamics", parameters=("payload:link6",))
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, 10_000, 6))
    loads = np.zeros((10_000, 10))
    loads[:, 0] = rng.uniform(0, 3, 10_000)
    loads[:, 1:4] = loads[:, :1] * rng.uniform(-0.1, 0.1, (10_000, 3))
    tau = kernel(q, qd, qdd, loads)
    assert tau.shape == (10_000, 6)
    for k in (0, 137, 9_999):
        mass = loads[k, 0]
        com = loads[k, 1:4] / mass
        about_com = -mass * (com @ com * np.eye(3) - np.outer(com, com))
        baked = robot.with_payload("link6", mass, com, about_com)
        close(tau[k], baked.inverse_dynamics(q[k], qd[k], qdd[k]), 1e-13)
    close(kernel(q, qd, qdd, np.zeros(10)), robot.inverse_dynamics(q, qd, qdd), 1e-13)


def test_names_and_values():
    robot = neuler.robots.puma560()
    kernel = robot.compile("gravity_force", parameters=("link6.mass", "joint2.viscous", "link3", "gravity"))
    assert kernel.parameter_names == (
        "link6.mass", "joint2.viscous",
        *(f"link3.{part}" for part in ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")),
        "gravity.x", "gravity.y", "gravity.z",
    )  # fmt: skip
    assert kernel.inputs[-1].name == "parameters"
    assert kernel.inputs[-1].shape == (15,)
    link = robot.links[3]
    assert kernel.parameter_values.tolist()[2:6] == [link.mass, *link.first_moment]
    assert robot.gravity_force.parameter_names == ()
    assert robot.compile("mass_matrix", parameters="link2.inertia").parameter_names[0] == "link2.xx"


def test_the_regressor_is_a_derivative():
    """tau is linear in the links' parameters: its Jacobian to them, times them, is tau without friction and rotors."""
    robot = neuler.robots.puma560().without_friction().without_motors()
    kernel = robot.compile("inverse_dynamics", parameters=("links",))
    f = neuler.function(kernel)
    regressor = f.jacobian("parameters")
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 4, 6))
    given = kernel.parameter_values
    close(regressor(q, qd, qdd, given) @ given, robot.inverse_dynamics(q, qd, qdd), 1e-12)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("link9.mass", "has none called 'link9.mass'; did you mean"),
        ("joint2.viscosity", "did you mean 'joint2.viscous'"),
        (("link6", "link6.mass"), "'link6.mass' is named twice"),
        ("payload:hand", "has no link or frame 'hand'"),
        (("gravity", 3), "must be a name, a list of names"),
        ("link6.placement", "has none called"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises((InputError, RobotError), match=message):
        neuler.robots.puma560().compile("inverse_dynamics", parameters=names)


def test_bad_values():
    kernel = neuler.robots.two_link().compile("inverse_dynamics", parameters=("gravity",))
    with pytest.raises(InputError, match="expected parameters with last axis 3"):
        kernel([0, 0], [0, 0], [0, 0], [0.0, 0.0])
    with pytest.raises(InputError, match="takes 4 arrays"):
        kernel([0, 0], [0, 0], [0, 0])
    assert np.isnan(kernel([0, 0], [0, 0], [0, 0], [np.nan, 0, 0])).any()
    ball = kind_robot(3)
    spherical = next(joint.name for joint in ball.joints if joint.kind == "spherical")
    with pytest.raises(InputError, match=r"a spherical joint such as .* has no rotor inertia"):
        ball.compile("inverse_dynamics", parameters=(f"{spherical}.rotor_inertia",))
