"""Free links: against dense algebra, and against what physics conserves."""

import math

import numpy as np
import pytest

from free_robots import (
    dense_hybrid,
    floating,
    given_motion,
    several,
    simulate,
    smooth,
    states,
)
from neuler import Joint, Link, Robot
from neuler.quantities.catalogue import offered
from neuler.trace.recipe import evaluate
from random_robots import (
    along,
    close,
    few,
    friction_of,
    random_link,
    random_robot,
    random_states,
    random_transform,
)

TOLERANCE = 1e-10

# ---- random trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(200, 208), 1))
def test_three_passes_are_the_dense_solution(seed):
    """Khalil (83)-(88): the base's acceleration and the torques, and all accelerations from all torques."""
    robot = floating(seed)
    q, v, a = states(robot, 8, seed)
    told = given_motion(robot)
    assert not told[:6].any()
    assert told[6:].all()
    mass, bias = robot.mass_matrix(q), robot.bias_force(q, v)
    given = np.where(told, a, 0.0)
    pushed = given.copy()
    pushed[:, :6] = 3.0  # a wrench on the base
    found, tau = robot.hybrid_dynamics(q, v, given), np.where(told, 2.0 * a, 0.0)
    direct = robot.forward_dynamics(q, v, tau)
    for k in range(len(q)):
        close(found[k], dense_hybrid(mass[k], bias[k], given[k], told), 1e-11)
        close(robot.hybrid_dynamics(q, v, pushed)[k], dense_hybrid(mass[k], bias[k], pushed[k], told), 1e-11)
        worst = max(1e-11, 1e-15 * float(np.linalg.cond(mass[k])))
        close(direct[k], np.linalg.solve(mass[k], tau[k] - bias[k]), worst)
    assert np.array_equal(direct, robot.compile("hybrid_dynamics", motion=())(q, v, tau))


@pytest.mark.parametrize("seed", few(range(212, 216), 1))
def test_algorithms_agree(seed):
    robot = floating(seed) if seed % 2 else several(seed)
    q, v, a = states(robot, 10, seed)
    tau = robot.inverse_dynamics(q, v, a)
    matrices = robot.mass_matrix(q)
    for method in ("articulated", "walker_orin"):
        back = robot.compile("forward_dynamics", method=method)(q, v, tau)
        for mine, expected, matrix in zip(back, a, matrices, strict=True):
            close(mine, expected, max(1e-11, 1e-15 * float(np.linalg.cond(matrix))))
    close(np.einsum("kij,kj->ki", matrices, a) + robot.bias_force(q, v), tau, 1e-12)
    kinetic, _ = robot.energy(q, v)
    close(0.5 * np.einsum("ki,kij,kj->k", v, matrices, v), kinetic, 1e-12)
    coriolis = np.einsum("kij,kj->ki", robot.coriolis_matrix(q, v), v)
    friction = _friction(robot, v)
    close(coriolis + robot.gravity_force(q) + friction, robot.bias_force(q, v), 1e-12)


def _friction(robot, v):
    """``friction_of`` counts a coordinate a joint; free joints have six, and no friction."""
    first, found = 0, np.zeros_like(v)
    for joint in robot.moving_joints:
        if joint.nv == 1:
            alone = Robot("one", [Link("a"), Link("b")], [Joint("j", "revolute", "a", "b", viscous=joint.viscous,
                          coulomb=joint.coulomb, coulomb_reverse=joint.coulomb_reverse)])  # fmt: skip
            found[:, first] = friction_of(alone, v[:, first : first + 1])[:, 0]
        first += joint.nv
    return found


@pytest.mark.parametrize("seed", [220, 221])
def test_the_coriolis_matrix_is_that_of_the_inertia_matrix(seed):
    """dM/dt = C + C^T along the motion."""
    robot = smooth(floating(seed)) if seed % 2 else smooth(several(seed))
    q, v, _ = states(robot, 3, seed)
    c = robot.coriolis_matrix(q, v)
    rate = along(lambda t: robot.mass_matrix(robot.integrate(q, v, t)))
    close(c + np.swapaxes(c, 1, 2), rate, 1e-10)


@pytest.mark.parametrize("seed", few([222, 223], 1))
def test_the_free_link_is_told_like_any_joint(seed):
    """All motion given is inverse dynamics; the free link's motion given, the joints' forces: settled links below."""
    robot = floating(seed)
    q, v, a = states(robot, 5, seed)
    tau = robot.inverse_dynamics(q, v, a)
    close(robot.compile("hybrid_dynamics", motion=robot.joint_names)(q, v, a), tau, 1e-13)
    given = np.concatenate([a[:, :6], tau[:, 6:]], axis=1)
    found = robot.compile("hybrid_dynamics", motion="root_joint")(q, v, given)
    close(found[:, :6], tau[:, :6], 1e-9)
    close(found[:, 6:], a[:, 6:], 1e-9)


def test_a_free_base_held_still_is_a_fixed_base():
    """The base's wrench is what the ground would give."""
    fixed = random_robot(224)
    free = fixed.with_free_base()
    q, v, a = random_states(fixed, 10)
    still = np.zeros((10, 6))
    seat = np.tile(free.neutral()[:7], (10, 1))
    tau = free.inverse_dynamics(*(np.hstack(x) for x in ((seat, q), (still, v), (still, a))))
    close(tau[:, 6:], fixed.inverse_dynamics(q, v, a), 1e-12)
    close(tau[:, :6], fixed.reaction_wrenches(q, v, a)[:, 0], 1e-12)


def test_where_the_base_is_and_how_it_is_turned_matters_to_gravity_alone():
    robot = smooth(floating(225)).with_gravity((0, 0, 0))
    q, v, a = states(robot, 10)
    elsewhere = q.copy()
    elsewhere[:, :7] = states(robot, 10, 1)[0][:, :7]
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), robot.inverse_dynamics(elsewhere, v, a))


@pytest.mark.parametrize("seed", range(2))
def test_several_free_bodies_do_not_feel_each_other(seed):
    """Each behaves as if it were alone, in its own seat."""
    robot = several(seed)
    q, v, a = states(robot, 6, seed)
    tau = robot.inverse_dynamics(q, v, a)
    mass = robot.mass_matrix(q)
    assert not mass[:, :1, 1:].any()
    assert not mass[:, 1:7, 7:].any()
    seat = np.array((robot.joints[1].placement @ robot.joints[2].placement).rotation)
    body = Robot("body", [Link("ground"), robot.links[3]], [Joint("fly", "free", "ground", "first")])
    body = body.with_gravity(seat.T @ robot.gravity)
    close(tau[:, 1:7], body.inverse_dynamics(q[:, 1:8], v[:, 1:7], a[:, 1:7]), 1e-13)
    fly2 = next(joint for joint in robot.joints if joint.name == "fly2")
    wrist = next(joint for joint in robot.joints if joint.name == "wrist")
    links = {link.name: link for link in robot.links}
    pair = Robot("pair", [links["base"], links["second"], links["hand"]], [fly2, wrist], gravity=robot.gravity)
    close(tau[:, 7:], pair.inverse_dynamics(q[:, 8:], v[:, 7:], a[:, 7:]), 1e-13)
    close(robot.forward_dynamics(q, v, tau), a, 1e-11)


@pytest.mark.parametrize("seed", few(range(7, 9), 1))
def test_free_bodies_beside_a_long_arm(seed):
    """The arm decides the base's canonical frame; free bodies do not care, and the base holds each by its wrench."""
    short, rng = several(seed), np.random.default_rng(seed)
    links = [random_link(rng, f"more{k}") for k in range(3)]
    names = ["arm", *(link.name for link in links)]
    joints = [
        Joint(f"elbow{k}", "revolute", names[k], names[k + 1], random_transform(rng), axis=rng.normal(size=3))
        for k in range(3)
    ]
    robot = short.replace(links=(*short.links, *links), joints=(*short.joints, *joints))
    assert robot.joint_names == ("shoulder", "elbow0", "elbow1", "elbow2", "fly1", "fly2", "wrist")
    q, v, a = states(robot, 5, seed)
    tau = robot.inverse_dynamics(q, v, a)
    close(tau[:, 4:], short.inverse_dynamics(q[:, 3:], v[:, 3:], a[:, 3:])[:, 1:], 1e-13)
    close(robot.forward_dynamics(q, v, tau), a, 1e-10)
    poses, expected = robot.link_poses(q), short.link_poses(q[:, 3:])
    felt = robot.reaction_wrenches(q, v, a)
    for name, first in (("first", 4), ("second", 10)):
        here = robot.link_names.index(name)
        close(poses[:, here], expected[:, short.link_names.index(name)], 1e-14)
        close(felt[:, here], tau[:, first : first + 6], 1e-13)


FLOATS = [name for name in offered(several(6)) if name != "inverse_dynamics_hessian"]


@pytest.mark.parametrize("quantity", few(FLOATS, 12))
def test_compiled_equals_floats(quantity):
    """The same recursion on plain numbers, without the compiler."""
    robot = several(6)
    kernel, rng = getattr(robot, quantity), np.random.default_rng(6)
    arrays = [
        robot.random_configuration(rng, 11) if operand.name == "q" else rng.uniform(-2, 2, (11, *operand.shape))
        for operand in kernel.inputs
    ]
    found = kernel(*arrays)
    for k, state in enumerate(zip(*arrays, strict=True)):
        values = {operand.name: x for operand, x in zip(kernel.inputs, state, strict=True)}
        expected = evaluate(kernel.recipe, values)
        for mine, theirs in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            close(mine[k], theirs, 1e-12)


# ---- planar bases ---------------------------------------------------------------------------------------


def lifted(q, v, a):
    """A planar base's (x, y, turn) as a free base's position, velocity and acceleration, both in its own frame."""
    half, turn, rate = q[:, 2] / 2, q[:, 2], v[:, 2]
    zero = np.zeros_like(half)
    c, s = np.cos(turn), np.sin(turn)
    place = np.stack([q[:, 0], q[:, 1], zero, zero, zero, np.sin(half), np.cos(half)], axis=1)
    vx, vy = c * v[:, 0] + s * v[:, 1], c * v[:, 1] - s * v[:, 0]
    ax, ay = c * a[:, 0] + s * a[:, 1] + rate * vy, c * a[:, 1] - s * a[:, 0] - rate * vx
    screws = (np.stack([x, y, zero, zero, zero, z], axis=1) for x, y, z in ((vx, vy, rate), (ax, ay, a[:, 2])))
    return (np.hstack([part, rest[:, 3:]]) for part, rest in zip((place, *screws), (q, v, a), strict=True))


@pytest.mark.parametrize("seed", few(range(226, 230), 1))
def test_a_planar_base_is_a_free_one_that_stays_in_the_plane(seed):
    """Free along the plane and about its normal: there the free base needs no force either, the rest is the floor's."""
    arm = random_robot(seed)
    planar, free = arm.with_planar_base(), arm.with_free_base()
    q, v, tau = states(planar, 10, seed)
    tau[:, :3] = 0.0
    a = planar.forward_dynamics(q, v, tau)
    found = free.inverse_dynamics(*lifted(q, v, a))
    scale = float(np.abs(found).max())
    close(found[:, 6:], tau[:, 3:], 1e-10, scale)
    close(found[:, [0, 1, 5]], np.zeros((10, 3)), 1e-10, scale)
    assert np.abs(found[:, 2:5]).max() > 1.0


def test_a_planar_base_on_ice_keeps_its_momentum_in_the_plane():
    robot = smooth(random_robot(227)).with_planar_base().with_gravity((0, 0, -9.81))
    q, v, _ = states(robot, 1)
    tau = 3.0 * np.ones(robot.nv)
    tau[:3] = 0.0  # motors push the arm, nothing pushes the base
    rate = robot.centroidal_momentum_rate(q, v, robot.forward_dynamics(q, v, tau))[0]
    close(rate[[0, 1]], np.zeros(2), 1e-11, scale=10.0)
    start = robot.momentum(q[0], v[0])
    ends = [simulate(robot, lambda t, q, v: robot.forward_dynamics(q, v, tau), q[0], v[0], 0.2, n) for n in (40, 80)]
    drifts = [np.abs((robot.momentum(*end) - start)[[0, 1, 5]]).max() for end in ends]
    assert drifts[1] < 1e-6 * np.abs(start).max()
    assert 10 < drifts[0] / drifts[1] < 25


# ---- what is conserved ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(range(230, 234), 1))
def test_inner_forces_change_no_momentum(seed):
    """Whatever the motors do, the momentum changes by the weight alone, and about the centre of mass not at all."""
    robot = floating(seed)
    q, v, tau = states(robot, 10, seed)
    tau[:, :6] = 0.0
    rate = robot.centroidal_momentum_rate(q, v, robot.forward_dynamics(q, v, tau))
    weight = np.array([*(robot.mass * np.array(robot.gravity)), 0, 0, 0])
    close(rate, np.broadcast_to(weight, rate.shape), 1e-10, scale=float(np.abs(tau).max()))


def tumbling(seed):
    robot = smooth(floating(seed, 3))
    rng = np.random.default_rng(seed)
    return robot, robot.random_configuration(rng), rng.uniform(-2, 2, robot.nv)


@pytest.mark.parametrize("seed", few([240, 241, 242], 1))
def test_free_tumbling_and_free_fall(seed):
    """Momentum and energy are kept up to the method's error, which falls by 16 when the step is halved."""
    robot, q, v = tumbling(seed)
    duration, still = 0.4, np.zeros(robot.nv)
    start, energy = robot.centroidal_momentum(q, v), sum(robot.energy(q, v))
    weight = np.array([*(duration * robot.mass * np.array(robot.gravity)), 0, 0, 0])
    place = robot.center_of_mass(q)
    ends = {
        n: simulate(robot, lambda t, q, v: robot.forward_dynamics(q, v, still), q, v, duration, n)
        for n in (20, 40, 80, 160)
    }
    scale = max(1.0, float(np.abs(start).max()))
    drifts = {}
    for n, end in ends.items():
        momentum = np.abs(robot.centroidal_momentum(*end) - start - weight).max() / scale
        power = abs(sum(robot.energy(*end)) - energy) / max(1.0, abs(energy))
        fall = place + duration * start[:3] / robot.mass + duration**2 / 2 * np.array(robot.gravity)
        flight = np.abs(robot.center_of_mass(end[0]) - fall).max()
        way = np.abs(robot.difference(ends[160][0], end[0])).max()
        drifts[n] = np.array([momentum, power, flight, way])
        assert abs(np.linalg.norm(end[0][3:7]) - 1) < 1e-14
    assert drifts[160][:3].max() < 1e-6
    ratios = drifts[20] / drifts[40]
    assert ratios.min() > 10, f"momentum, energy, centre of mass and way converge by {ratios}"
    assert ratios[3] < 25


def test_a_free_rigid_body_tumbles_as_euler_says():
    """An axisymmetric body without torque: its angular velocity turns about its axis at (J3 - J1) / J1 of the spin."""
    body = Robot(
        "top",
        [Link("space"), Link.from_com("top", mass=2.0, inertia=(0.3, 0.3, 0.5))],
        [Joint("fly", "free", "space", "top")],
        gravity=(0, 0, 0),
    )
    w1, w3, duration = 0.7, 2.0, 3.0
    v = np.array([0.0, 0, 0, w1, 0, w3])
    q, v = simulate(body, lambda t, q, v: body.forward_dynamics(q, v, np.zeros(6)), body.neutral(), v, duration, 300)
    rate = (0.5 - 0.3) / 0.3 * w3
    close(v, [0, 0, 0, w1 * math.cos(rate * duration), w1 * math.sin(rate * duration), w3], 1e-8)
    close(body.momentum(q, v), [0, 0, 0, 0.3 * w1, 0, 0.5 * w3], 1e-8)


def test_a_free_body_in_closed_form():
    """tau = m (v' + w x v - R^T g); J w' + w x (J w), for a body whose frame is at its centre of mass."""
    inertia = np.diag([0.2, 0.3, 0.4])
    body = Robot(
        "brick",
        [Link("ground"), Link.from_com("brick", mass=2.0, inertia=inertia)],
        [Joint("fly", "free", "ground", "brick")],
    )
    q, v, a = states(body, 5)
    rotation = body.link_poses(q)[:, 1, :3, :3]
    linear, spin = v[:, :3], v[:, 3:]
    force = 2.0 * (a[:, :3] + np.cross(spin, linear) - np.einsum("kji,j->ki", rotation, body.gravity))
    moment = a[:, 3:] @ inertia + np.cross(spin, spin @ inertia)
    close(body.inverse_dynamics(q, v, a), np.hstack([force, moment]), 1e-14)


def test_the_acceleration_of_a_free_link_is_the_rate_of_its_components():
    """The inertial acceleration of its origin, Khalil's, is a + w x v; its force has the power tau . qd."""
    robot = floating(249)
    q, v, a = states(robot, 5)
    _, inertial, _ = robot.link_motions(q, v, a, np.zeros_like(a))
    close(inertial[:, 1, :3], a[:, :3] + np.cross(v[:, 3:6], v[:, :3]), 1e-14)
    close(inertial[:, 1, 3:], a[:, 3:6], 1e-14)
    bare = smooth(robot)
    power = along(lambda t: sum(bare.energy(bare.integrate(q[0], v[0] + t / 2 * a[0], t), v[0] + t * a[0])))
    close(power, bare.inverse_dynamics(q[0], v[0], a[0]) @ v[0], 1e-9)
