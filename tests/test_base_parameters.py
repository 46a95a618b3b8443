"""Base parameters: Khalil's table of the RX-90, his rules beside the rank, loops, motors, and robots made of them."""

import dataclasses

import numpy as np
import pytest

import neuler
from kind_robots import kind_robot
from motor_robots import motor_robot
from neuler import InputError
from random_robots import close, few, random_link, random_robot, random_states

D3 = RL4 = 0.45


def masses(first, factor):
    return {f"M{k}": factor for k in range(first, 7)}


TABLE = {
    "ZZR1": {"ZZ1": 1, "IA1": 1, "YY2": 1, "YY3": 1, **masses(3, D3**2)},
    "XXR2": {"XX2": 1, "YY2": -1, **masses(3, -(D3**2))},
    "XZR2": {"XZ2": 1, "MZ3": -D3},
    "ZZR2": {"ZZ2": 1, "IA2": 1, **masses(3, D3**2)},
    "MXR2": {"MX2": 1, **masses(3, D3)},
    "XXR3": {"XX3": 1, "YY3": -1, "YY4": 1, "MZ4": 2 * RL4, **masses(4, RL4**2)},
    "ZZR3": {"ZZ3": 1, "YY4": 1, "MZ4": 2 * RL4, **masses(4, RL4**2)},
    "MYR3": {"MY3": 1, "MZ4": 1, **masses(4, RL4)},
    "XXR4": {"XX4": 1, "YY4": -1, "YY5": 1}, "ZZR4": {"ZZ4": 1, "YY5": 1}, "MYR4": {"MY4": 1, "MZ5": -1},
    "XXR5": {"XX5": 1, "YY5": -1, "YY6": 1}, "ZZR5": {"ZZ5": 1, "YY6": 1}, "MYR5": {"MY5": 1, "MZ6": 1},
    "XXR6": {"XX6": 1, "YY6": -1},
    **{name: {name: 1} for name in ("XY2", "YZ2", "MY2", "ZZ6", "MY6", "IA3", "IA4", "IA5", "IA6")},
    **{f"{part}{k}": {f"{part}{k}": 1} for part in ("XY", "XZ", "YZ", "MX") for k in range(3, 7)},
}  # fmt: skip
"""Khalil and Dombre's base parameters of the RX-90, with MRj the sum of the masses from link j on."""


def read(line):
    """Of a line "ZZR1 = ZZ1 + 0.2025 M3 - YY2": its name and its factors."""
    name, _, text = line.partition(" = ")
    found = {}
    for term in (text or name).replace(" - ", " + -").split(" + "):
        factor, _, letters = term.rpartition(" ")
        sign = -1.0 if letters.startswith("-") else 1.0
        found[letters.removeprefix("-")] = sign * float(factor or 1.0)
    return name, found


def test_the_rx90_has_khalils_forty():
    found = dict(read(line) for line in neuler.robots.rx90().base_parameters().khalil())
    assert len(found) == len(TABLE) == 40
    assert set(found) == set(TABLE)
    for name, group in TABLE.items():
        assert found[name].keys() == group.keys(), name
        for letters, factor in group.items():
            assert found[name][letters] == pytest.approx(factor, abs=1e-5), (name, letters)


def test_factors_are_exact():
    """The text has six digits, the matrix all."""
    base = neuler.robots.rx90().base_parameters()
    group = base.groups["link3.xx"]
    assert group["link4.mz"] == pytest.approx(2 * RL4, rel=1e-12)
    assert group["link6.mass"] == pytest.approx(RL4**2, rel=1e-12)
    assert base.gap[0] > 0.01
    assert base.gap[1] < 1e-12
    assert {"link1.mx", "link2.mz", "base.mass"} <= set(base.without_effect)


def inertial(robot):
    """Links and rotors: what Khalil's rules are about."""
    return ("links", *(name for name in robot.regressor.column_names if name.endswith("rotor_inertia")))


def rank(matrix):
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > 1e-9 * sizes[0]).sum())


def agree(robot):
    """As many by rules as by rank, the same ones, and the same combinations of parameters."""
    rules, base = (robot.base_parameters(inertial(robot), method=method) for method in ("rules", "rank"))
    assert (rules.method, base.method) == ("rules", "rank")
    assert rules.names == base.names
    assert rank(np.vstack([rules.grouping, base.grouping])) == len(base)
    close(rules.grouping, base.grouping, 1e-6, max(1.0, np.abs(base.grouping).max()))  # axes may be nearly parallel


@pytest.mark.parametrize("seed", few(range(60), 6))
def test_rules_and_rank_agree_on_random_trees(seed):
    agree(random_robot(seed))


@pytest.mark.parametrize("seed", few(range(60), 6))
def test_rules_and_rank_agree_for_every_kind_of_joint(seed):
    agree(kind_robot(seed))


def planar(gravity):
    """Three hinges with parallel axes, then a slide along them and one across."""
    place, z = neuler.Transform.from_rpy((0.4, 0.0, 0.1), (0.0, 0.0, 0.0)), (0.0, 0.0, 1.0)
    rng = np.random.default_rng(3)
    links = [random_link(rng, f"link{k}") for k in range(6)]
    kinds = [("revolute", z)] * 3 + [("prismatic", z), ("prismatic", (1.0, 0.0, 0.0))]
    joints = [
        neuler.Joint(f"joint{k}", kind, f"link{k - 1}", f"link{k}", place, axis, rotor_inertia=0.1)
        for k, (kind, axis) in enumerate(kinds, start=1)
    ]
    return neuler.Robot("planar", links, joints, gravity=gravity)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (0.0, 0.0, 0.0)])
def test_rules_know_what_geometry_hides(gravity):
    """Parallel axes, gravity along them, across them, or none; a base that moves."""
    agree(planar(gravity))
    agree(planar(gravity).with_free_base())
    agree(planar(gravity).with_planar_base())


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
def test_friction_by_direction_of_slides(gravity):
    """Its constant part acts like weight, where gravity pulls along the slide and a rotor is accelerated with it."""
    robot = planar(gravity)
    robot = robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=0.0) for joint in robot.joints])
    found = robot.base_parameters(("links", "friction", "rotors"))
    assert found.method == "rank"
    apart = robot.base_parameters(("links", "rotors")), robot.base_parameters("friction")
    assert len(found) == sum(map(len, apart)) - any(gravity)
    with pytest.raises(InputError, match=r"'joint4\.coulomb_reverse' and 'coulomb' together act like the weight of a"):
        robot.base_parameters("friction", method="rules")


def test_rules_are_those_of_trees():
    assert neuler.robots.rx90().base_parameters().method == "rules"
    assert neuler.robots.four_bar().base_parameters("links").method == "rank"
    with pytest.raises(InputError, match="rules are those of trees, and robot 'four_bar' has loops; use method='rank'"):
        neuler.robots.four_bar().base_parameters(method="rules")
    with pytest.raises(InputError, match=r"'gravity\.x' is no parameter of a link"):
        neuler.robots.two_link().base_parameters("gravity", method="rules")
    with pytest.raises(InputError, match="base_parameters: method must be"):
        neuler.robots.two_link().base_parameters(method="guess")


@pytest.mark.parametrize("name", few(("sr400", "four_bar", "gough_stewart", "delta", "five_bar"), 1))
def test_loops(name):
    """The numerical rank of a larger sample, by singular values; and forces from base parameters alone."""
    robot = getattr(neuler.robots, name)()
    base = robot.base_parameters()
    q = robot.random_configuration(11, 400)
    qd, qdd = np.random.default_rng(12).normal(size=(2, 400, robot.nv))
    whole = robot.regressor(q, qd, 3.0 * qdd).reshape(-1, len(base.columns))
    length = np.linalg.norm(whole, axis=0)
    sizes = np.linalg.svd(whole[:, length > 1e-9 * length.max()] / length[length > 1e-9 * length.max()])[1]
    assert sizes[len(base) - 1] > 1e-5 * sizes[0]
    assert len(sizes) == len(base) or sizes[len(base)] < 1e-9 * sizes[0]
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(base.regressor()(q, qd, qdd) @ base.values, tau, 1e-9, np.abs(tau).max())


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_motors_on_any_link(seed):
    robot = motor_robot(seed)
    base = robot.base_parameters()
    q = robot.random_configuration(1, 50)
    qd, qdd = np.random.default_rng(2).normal(size=(2, 50, robot.nv))
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(base.regressor()(q, qd, qdd) @ base.values, tau, 1e-10, np.abs(tau).max())
    assert base.gap[0] > 1e3 * base.gap[1]


def test_a_free_base_keeps_all_of_its_link():
    base = neuler.robots.two_link().with_free_base().base_parameters("links")
    assert {f"base.{part}" for part in ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")} <= set(
        base.names
    )


@pytest.mark.parametrize("name", ["rx90", "puma560", "stanford", "sr400", "four_bar"])
def test_the_minimal_robot_has_the_same_forces_and_no_more_operations(name):
    robot = getattr(neuler.robots, name)()
    small = robot.base_parameters().minimal()
    q = robot.random_configuration(5, 20)
    qd, qdd = np.random.default_rng(6).normal(size=(2, 20, robot.nv))
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(small.inverse_dynamics(q, qd, qdd), tau, 1e-10, np.abs(tau).max())
    assert small.inverse_dynamics.operations.weight <= robot.inverse_dynamics.operations.weight


def test_friction_and_springs_stand_beside():
    robot = neuler.robots.puma560()
    base = robot.base_parameters()
    assert len(base) == 40 + 18
    assert base.groups["joint3.viscous"] == {"joint3.viscous": 1.0}
    assert "58 base parameters of 94 parameters" in str(base)
    assert "without effect: base.mass" in str(base)


def test_bad_input():
    robot = neuler.robots.two_link()
    with pytest.raises(InputError, match="columns: robot 'two_link' has none called 'arm'"):
        robot.base_parameters("arm")
    with pytest.raises(InputError, match="tolerance must be above zero"):
        robot.base_parameters(tolerance=0.0)
    with pytest.raises(InputError, match="tolerance is a share"):
        robot.base_parameters(tolerance=2.0)
    with pytest.raises(InputError, match="base_parameters: seed"):
        robot.base_parameters(seed="a")


# ---- robots with other numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_other_numbers_by_name(seed):
    """A robot with the values is what the kernel computes with the values as inputs."""
    robot = random_robot(seed)
    kernel = robot.compile("inverse_dynamics", parameters=robot.regressor.column_names)
    values = kernel.parameter_values * np.random.default_rng(seed).uniform(0.5, 1.5, len(kernel.parameter_values))
    q, qd, qdd = random_states(robot, 4, seed)
    other = robot.with_parameters(dict(zip(kernel.parameter_names, values, strict=True)))
    tau = kernel(q, qd, qdd, values)
    close(other.inverse_dynamics(q, qd, qdd), tau, 1e-12, np.abs(tau).max())


@pytest.mark.parametrize("seed", range(2))
def test_other_numbers_of_motors(seed):
    robot = motor_robot(seed)
    kernel = robot.regressor
    values = kernel.column_values * np.random.default_rng(seed).uniform(0.5, 1.5, len(kernel.column_values))
    q = robot.random_configuration(1, 5)
    qd, qdd = np.random.default_rng(2).normal(size=(2, 5, robot.nv))
    other = robot.with_parameters(dict(zip(kernel.column_names, values, strict=True)))
    tau = kernel(q, qd, qdd) @ values
    close(other.inverse_dynamics(q, qd, qdd), tau, 1e-11, np.abs(tau).max())


def test_groups_payloads_gravity_laws_and_placements():
    robot = neuler.robots.two_link()
    loaded = robot.with_parameters(
        {"payload:link2": [2.0, 0.1, 0, 0, 0, 0.01, 0.01, 0, 0, 0], "gravity": [0, 0, -1.62]}
    )
    assert loaded.links[2].mass == robot.links[2].mass + 2.0
    assert loaded.gravity == (0.0, 0.0, -1.62)
    moved = robot.with_parameters({"joint2.placement": [0.7, 0, 0, 0, 0, 0.1]})
    assert moved.joints[1].placement.translation[0] == 0.7
    first, second = robot.joints
    law = robot.replace(joints=[dataclasses.replace(first, friction=neuler.Coulomb(1.0)), second])
    assert law.with_parameters({"joint1.friction.coulomb": 2.0}).joints[0].friction.coulomb == 2.0
    with pytest.raises(InputError, match=r"with_parameters: one robot has one value of each parameter"):
        robot.with_parameters({"link2.mass": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"'link2.mass' must be a finite number"):
        robot.with_parameters({"link2.mass": np.nan})
    with pytest.raises(InputError, match=r"'link2.mass' must be numbers, got 'heavy'"):
        robot.with_parameters({"link2.mass": "heavy"})
    with pytest.raises(InputError, match="a mapping from names to values is expected"):
        robot.with_parameters(["link2.mass"])
