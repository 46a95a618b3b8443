"""Machines whose loops leave part of a ball independent: its velocities have names of their own, ``rod.wx``."""

import numpy as np
import pytest

from cli_runs import write_csv
from neuler import Frame, InputError, Joint, Link, Loop, Robot, RobotError, Transform
from neuler.files import tables
from neuler.robot.columns import column_names
from neuler.robot.configuration import ways
from neuler.trace.recipe import Operand
from random_robots import close, few

SEEDS = (1, 0, 2, 3, 4, 5)


def body(name, rng):
    return Link.from_com(name, mass=rng.uniform(0.5, 2), com=rng.normal(size=3) * 0.1, inertia=rng.uniform(0.1, 0.2, 3))


def machine(seed):
    """An arm on a ball, or on two hinges, led by a rod with a ball at both ends: the rod's spin is nobody else's."""
    rng = np.random.default_rng(seed)
    links = [Link("base"), body("arm", rng), body("cart", rng), body("rod", rng)]
    slide = Joint("slide", "prismatic", "base", "cart", axis=tuple(rng.normal(size=3)), role="passive")
    joints = [slide, Joint("ball", "spherical", "cart", "rod", role="passive")]
    tip, end = rng.normal(size=3) * 0.2 + [0.7, 0, 0], rng.normal(size=3) * 0.1 + [0.4, 0.3, 0.2]
    if seed % 2:
        joints.insert(0, Joint("shoulder", "spherical", "base", "arm"))
    else:
        links.insert(1, body("hub", rng))
        joints.insert(0, Joint("yaw", "revolute", "base", "hub"))
        joints.insert(1, Joint("pitch", "revolute", "hub", "arm", axis=(0, 1, 0)))
    frames = [
        Frame("tip", "arm", Transform(translation=tuple(tip))),
        Frame("end", "rod", Transform(translation=tuple(end))),
    ]
    return Robot(f"rod{seed}", links, joints, frames=frames, loops=[Loop("cut", "spherical", "tip", "end")])


def parts(robot):
    return [name for name in robot.mobility.independent if "." in name]


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_independent_velocities_have_names_of_their_own(seed):
    robot = machine(seed)
    assert len(parts(robot)) == 1
    assert parts(robot)[0] in ("ball.wx", "ball.wy", "ball.wz")
    same = robot.with_independent(*robot.mobility.independent)
    assert same.mobility.choice == robot.mobility.choice
    assert same.mobility.independent == robot.mobility.independent
    names = column_names(robot, Operand("qd", (robot.nv,)))
    assert f"qd_{parts(robot)[0].replace('.', '_')}" in names


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_difference_is_the_inverse_of_integrate(seed):
    robot = machine(seed)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(seed, 40)
    v = rng.uniform(-0.1, 0.1, size=(40, robot.nv))
    there = robot.integrate.ufunc(q, v, 1.0)
    near = np.isfinite(there).all(axis=-1)  # others are too long for one step
    assert near.sum() >= 10
    q, v, there = q[near], v[near], there[near]
    close(robot.difference(q, there), v, 1e-10)
    close(robot.integrate(q, robot.difference(q, there), 1.0), there, 1e-10)
    naive = ways(robot, q, there)[:, list(robot.mobility.choice.independent)]
    assert np.abs(naive - v).max() > 1e-6  # each joint by itself is not


def test_a_way_that_is_too_long_is_told():
    robot = machine(1)
    q = robot.neutral()
    far = q.copy()
    for _ in range(12):
        far = robot.integrate(far, np.full(robot.nv, 0.2), 1.0)
    with pytest.warns(
        RuntimeWarning, match=r"difference: robot 'rod1': q1 is too far from q0 for one step of integrate"
    ):
        assert np.isfinite(robot.difference(q, far)).all()


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_another_part_tells_the_same_motion(seed):
    robot = machine(seed)
    q = robot.random_configuration(seed, 3)
    own = parts(robot)[0]
    for part in {"ball.wx", "ball.wy", "ball.wz"} - {own}:
        names = [part if name == own else name for name in robot.mobility.independent]
        try:
            other = robot.with_independent(*names)
        except RobotError:
            continue  # that axis does not lie along the rod at all
        v = np.random.default_rng(seed).normal(size=(3, robot.nv))
        rates, _ = robot.tree_motion(q, v, np.zeros_like(v))
        told = rates[:, list(other.mobility.choice.independent)]
        close(other.energy(q, told).kinetic, robot.energy(q, v).kinetic, 1e-9)
        close(other.tree_motion(q, told, np.zeros_like(v))[0], rates, 1e-8)


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_assemble_takes_the_turn_of_a_part(seed):
    """One number for it, the turn along its velocity from the guess; of a whole ball its quaternion."""
    robot = machine(seed)
    reference = np.array(robot.mobility.reference)
    sizes = {"shoulder": 4}
    at, active = 0, []
    for name in robot.mobility.independent:
        size = sizes.get(name, 1)
        active += [0.0] if "." in name else reference[at : at + size].tolist()
        at += size
    close(robot.assemble(active).q, reference, 1e-10, scale=1.0)
    turns = np.linspace(-0.6, 0.6, 5)
    found = robot.assemble([[*active[:-1], turn] for turn in turns])
    assert robot.mobility.independent[-1] == parts(robot)[0]
    assert found.closed.all()
    close(robot.closure(found.q)[0], np.zeros((5, 3)), 1e-11, scale=1.0)
    number = robot.mobility.choice.independent[-1]
    close(ways(robot, np.broadcast_to(reference, found.q.shape), found.q)[:, number], turns, 1e-11, scale=1.0)
    with pytest.raises(InputError, match=rf"last axis {len(active)} \(.*ball\.w"):
        robot.assemble([*active, 0.0])
    with pytest.raises(InputError, match="has a part of a ball among them, which counts its turn from the guess"):
        robot.assemble([active, active], continuous=True)


def test_files_close_the_loops_from_the_guess(tmp_path):
    """``--assemble`` keeps the positions of whole joints; where a part of a ball is, the guess says."""
    robot = machine(0)
    rows = (robot.neutral()[:2] + np.array([[0.02, 0.05], [-0.05, 0.1]])).tolist()
    write_csv(tmp_path / "in.csv", ["q_yaw", "q_pitch"], rows)
    tables.evaluate(robot.link_poses, str(tmp_path / "in.csv"), str(tmp_path / "out.npz"), assemble=True)
    q = robot.assemble([[*row, 0.0] for row in rows]).q
    with np.load(tmp_path / "out.npz") as found:
        close(found["poses"], robot.link_poses(q), 1e-10)


def test_parts_that_do_not_exist_or_stand_twice():
    robot = machine(1)
    with pytest.raises(RobotError, match=r"has no moving joint 'ball\.wq'; it has"):
        robot.with_independent("shoulder", "ball.wq")
    with pytest.raises(RobotError, match=r"a joint is named twice in shoulder, ball, ball\.wx"):
        robot.with_independent("shoulder", "ball", "ball.wx")
    with pytest.raises(
        RobotError, match="4 degrees of freedom; shoulder, ball have 6 velocities, which cannot all be independent"
    ):
        robot.with_independent("shoulder", "ball")
    with pytest.raises(RobotError, match="joint 'ball', which turns by a quaternion, some velocities are independent"):
        _ = robot.coordinates.own
    with pytest.raises(InputError, match=r"of the independent joints: shoulder, ball\.w"):
        robot.bias_force(robot.neutral(), [0.0])


def test_parts_of_joints_with_positions():
    """Of a planar joint x, y and the angle are positions: ``assemble`` takes them as they are."""
    rng = np.random.default_rng(3)
    links = [Link("base"), body("plate", rng), body("crank", rng)]
    joints = [
        Joint("plate", "planar", "base", "plate"),
        Joint("crank", "revolute", "base", "crank", Transform(translation=(0.1, 0, 0))),
    ]
    frames = [
        Frame("pin", "plate", Transform(translation=(0.3, 0.1, 0))),
        Frame("end", "crank", Transform(translation=(0.4, 0, 0))),
    ]
    robot = Robot("table", links, joints, frames=frames, loops=[Loop("cut", "revolute", "pin", "end")])
    assert robot.nv == 2
    turn = robot.coordinates.velocity_names[2]
    by_angle = robot.with_independent("crank", turn)
    assert by_angle.mobility.independent == ("crank", turn)
    found = by_angle.assemble([0.4, 0.2])
    close(found.q[[3, 2]], [0.4, 0.2], 1e-15)
    v = np.array([0.1, -0.2])
    close(by_angle.difference(found.q, by_angle.integrate(found.q, v, 1.0)), v, 1e-12)
