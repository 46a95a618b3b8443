"""Regressors: a matrix times the robot's parameters gives forces, reactions, energy and power, on every machine."""

import dataclasses

import numpy as np
import pytest

import neuler
from every_robot import made, states
from kind_robots import kind_robot, kind_states
from motor_robots import motor_robot, motor_states
from neuler import InputError
from random_robots import close, few, random_robot, random_states

MACHINES = ("four_bar", "sr400", "gough_stewart", "slider_crank")


def agree(robot, q, qd, qdd, tolerance=1e-12):
    """Y phi of all four, and the sparse entries of the first."""
    kernel = robot.regressor
    Y, tau = kernel(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)
    assert Y.shape == (*tau.shape, len(kernel.column_names))
    scale = (np.abs(Y) @ np.abs(kernel.column_values)).max()
    close(Y @ kernel.column_values, tau, tolerance, scale)
    sparse = robot.compile("regressor", sparse=True)
    whole = np.zeros_like(Y)
    whole[..., *sparse.structure["regressor"]] = sparse(q, qd, qdd)
    close(whole, Y, 1e-14, np.abs(Y).max())
    own = robot.power_regressor
    power = (robot.generalized_force(q, qd, qdd) * qd).sum(axis=-1)
    close(own(q, qd, qdd) @ own.column_values, power, tolerance, scale * np.abs(qd).max())
    own = robot.energy_regressor
    energies = np.stack(robot.energy(q, qd), axis=-1)
    close(own(q, qd) @ own.column_values, energies, tolerance, np.abs(energies).max() + 1.0)


def reactions_agree(robot, q, qd, qdd, tolerance=1e-12):
    kernel, wrenches = robot.reaction_regressor, robot.reaction_wrenches(q, qd, qdd)
    scale = np.abs(wrenches).max()
    close(kernel(q, qd, qdd) @ kernel.column_values, wrenches, tolerance, scale)
    link = robot.shown_names[-1]
    one = robot.compile("reaction_regressor", link=link)
    close(one(q, qd, qdd), kernel(q, qd, qdd)[..., -1, :, :], 1e-12, np.abs(one(q, qd, qdd)).max() + 1e-9)


@pytest.mark.parametrize("seed", few(range(20), 1))
def test_random_trees(seed):
    robot = random_robot(seed)
    q, qd, qdd = random_states(robot, 5, seed)
    agree(robot, q, qd, qdd)
    reactions_agree(robot, q, qd, qdd)


@pytest.mark.parametrize("seed", few(range(12), 2))
def test_every_kind_of_joint(seed):
    robot = kind_robot(seed)
    agree(robot, *kind_states(robot, 5, seed))


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_motors_on_any_link(seed):
    robot = motor_robot(seed)
    agree(robot, *motor_states(robot, 4, seed), tolerance=1e-11)


@pytest.mark.parametrize("name", few(MACHINES, 1))
def test_loops(name):
    robot = getattr(neuler.robots, name)()
    q = robot.random_configuration(3, 4)
    qd, qdd = np.random.default_rng(4).normal(size=(2, 4, robot.nv))
    agree(robot, q, qd, qdd, 1e-10)
    reactions_agree(robot, q, qd, qdd, 1e-10)


@pytest.mark.parametrize("name", few(["gripper", "geared"], 1))
def test_couplings(name):
    agree(made(name), *states(name)[:3], tolerance=1e-11)


def test_a_free_base_has_its_wrench_among_the_rows():
    robot = neuler.robots.puma560().with_free_base()
    q = robot.random_configuration(1, 3)
    qd, qdd = np.random.default_rng(2).normal(size=(2, 3, robot.nv))
    Y = robot.regressor(q, qd, qdd)
    assert Y.shape[-2] == 12
    agree(robot, q, qd, qdd)


COLUMNS = {("link3.mass", "joint2.viscous", "payload:link6", "rotors"): 18, ("gravity",): 3, "friction": 18}


@pytest.mark.parametrize("names", COLUMNS, ids=str)
def test_columns_by_name_are_derivatives(names):
    """Gravity is a column where masses are none: forces are linear in each, not in both."""
    robot = neuler.robots.puma560()
    q, qd, qdd = random_states(robot, 4)
    kernel = robot.compile("regressor", columns=names)
    assert len(kernel.column_names) == COLUMNS[names]
    Y, size = kernel(q, qd, qdd), len(kernel.column_names)
    inputs = robot.compile("inverse_dynamics", parameters=names)
    for k in range(size):
        up, down = (np.array(inputs.parameter_values) for _ in range(2))
        up[k], down[k] = up[k] + 1.0, down[k] - 1.0
        close(Y[..., k], (inputs(q, qd, qdd, up) - inputs(q, qd, qdd, down)) / 2.0, 1e-11, 100.0)


def test_other_numbers_may_be_inputs():
    """Gravity as an input of the regressor of masses: on the moon."""
    robot = neuler.robots.puma560()
    q, qd, qdd = random_states(robot, 4)
    moon = robot.with_gravity((0.0, 0.0, -1.62))
    found = robot.regressor(q, qd, qdd, columns="links", parameters={"gravity": [0.0, 0.0, -1.62]})
    close(found, moon.regressor(q, qd, qdd, columns="links"), 1e-13, np.abs(found).max())
    same = robot.regressor(q, qd, qdd, columns="link3", parameters={"link3.mass": 100.0})
    close(same, robot.regressor(q, qd, qdd, columns="link3"), 1e-14, np.abs(same).max())


def with_law(robot, law, **more):
    first, *others = robot.joints
    return robot.replace(joints=[dataclasses.replace(first, friction=law, **more), *others])


def test_friction_laws_and_springs_are_columns():
    law = neuler.Stribeck(coulomb=2.0, static=3.0, speed=0.1, viscous=0.5)
    robot = with_law(neuler.robots.two_link(), law, stiffness=3.0)
    names = robot.regressor.column_names
    assert {"joint1.friction.coulomb", "joint1.friction.static", "joint1.stiffness"} <= set(names)
    assert "joint1.friction.speed" not in names
    agree(robot, *random_states(robot, 4))
    lopsided = with_law(neuler.robots.two_link(), neuler.Coulomb(coulomb=2.0, coulomb_reverse=1.0), viscous=0.3)
    assert {"joint1.viscous", "joint1.friction.coulomb_reverse"} <= set(lopsided.regressor.column_names)
    agree(lopsided, *random_states(lopsided, 4))


def test_robots_that_differ_in_names_alone_have_columns_of_their_own():
    """Of a warm cache, too: "link1.mass" is another number where links have changed their names."""
    robot = neuler.robots.two_link()
    renamed = {"link1": "link2", "link2": "link1"}
    other = robot.replace(
        links=[dataclasses.replace(link, name=renamed.get(link.name, link.name)) for link in robot.links],
        joints=[
            dataclasses.replace(
                joint, parent=renamed.get(joint.parent, joint.parent), child=renamed.get(joint.child, joint.child)
            )
            for joint in robot.joints
        ],
        frames=(),
    )
    state = random_states(robot, 3)
    for one, its in (("link1", "link2"), ("link2", "link1")):
        first, second = (each.regressor(*state, columns=f"{name}.zz") for each, name in ((robot, one), (other, its)))
        np.testing.assert_array_equal(first, second)
    assert np.abs(robot.regressor(*state, columns="link1.zz") - robot.regressor(*state, columns="link2.zz")).max() > 0.1


def test_what_is_not_linear_is_refused():
    robot = neuler.robots.puma560()
    with pytest.raises(InputError, match=r"not linear in 'link2.mass': the slope depends on 'joint2.placement"):
        robot.regressor(*random_states(robot, 1), columns=("link2.mass", "joint2.placement"))
    with pytest.raises(InputError, match=r"not linear in 'link3.mass': the slope depends on 'gravity.x'"):
        robot.regressor(*random_states(robot, 1), columns=("link3.mass", "gravity"))
    with pytest.raises(InputError, match=r"columns: robot 'puma560' has none called 'link9'; did you mean 'link"):
        robot.compile("regressor", columns="link9")
    with pytest.raises(InputError, match=r"columns: 'link2.mass' is named twice"):
        robot.compile("regressor", columns=("link2", "link2.mass"))
    with pytest.raises(InputError, match="reaction_regressor: link must be one of base, link1"):
        robot.compile("reaction_regressor", link="tool")
    lossy = with_law(robot, neuler.LoadDependent(load=0.1))
    with pytest.raises(InputError, match="load-dependent friction off"):
        lossy.regressor(*random_states(lossy, 1))


def test_pinocchio_has_the_same():
    """Its columns are m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz of each joint's body, about the joint's frame."""
    pin = pytest.importorskip("pinocchio")
    import pinocchio_model

    robot = neuler.robots.rx90().without_motors()
    model = pinocchio_model.from_robot(robot)
    data, order = model.createData(), pinocchio_model.columns(robot, model)
    q, qd, qdd = random_states(robot, 3)
    ours = robot.compile("regressor", columns=("links",))
    ten = ("mass", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
    places = [ours.column_names.index(f"{joint.child}.{part}") for joint in robot.joints for part in ten]
    for state in zip(q, qd, qdd, strict=True):
        there = [pinocchio_model.positions(robot, model, state[0][None])[0]]
        there += [pinocchio_model.velocities(robot, model, x[None])[0] for x in state[1:]]
        theirs = pin.computeJointTorqueRegressor(model, data, *there)
        close(ours(*state)[:, places], theirs[order], 1e-12, np.abs(theirs).max())
