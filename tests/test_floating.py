"""Free links: against Pinocchio, against dense algebra, and against what physics conserves."""

import functools
import math
import warnings

import numpy as np
import pytest

import neuler
from free_robots import (
    dense_hybrid,
    floating,
    given_motion,
    motion,
    several,
    simulate,
    smooth,
    states,
)
from neuler import Joint, Link, Robot, RobotError, layouts, robots
from neuler.recipes.quantities import QUANTITIES
from neuler.recipes.setup import whole_tree
from neuler.recursions.hybrid import hybrid
from neuler.recursions.rates import torque_rates
from neuler.trace.recipe import evaluate
from random_robots import (
    along,
    close,
    friction_of,
    random_link,
    random_robot,
    random_states,
    random_transform,
    real_files,
)

TOLERANCE = 1e-10

# ---- Pinocchio's free-flyer -----------------------------------------------------------------------------

SMALL = [
    "bolt.urdf", "borinot_flying_arm_2.urdf", "double_pendulum_continuous.urdf", "iris_simple.urdf", "kinova.urdf",
    "ur5_robot.urdf", "solo12.urdf",
]  # fmt: skip
LARGE = ["human.urdf", "talos_reduced.urdf", "hyq_no_sensors.urdf"]


@functools.cache
def pair(name):
    """A robot on a free base, Pinocchio's own reading of it, and what translates between them."""
    pin = pytest.importorskip("pinocchio")
    found = [path for path in real_files() if path.name == name]
    if not found:
        pytest.skip("example-robot-data is not installed")
    robot = neuler.load(found[0], mimic="independent", floating="fixed").without_friction()
    robot = robot.with_free_base(world="ground" if "world" in robot.link_names else "world")
    model = pin.buildModelFromUrdf(str(found[0]), pin.JointModelFreeFlyer())
    return robot, model, layouts.pinocchio(robot, model)


class Theirs:
    """Pinocchio's answers for a batch, in the robot's order."""

    def __init__(self, name, count=6):
        import pinocchio as pin

        self.pin = pin
        self.robot, self.model, self.layout = pair(name)
        self.data, self.order = self.model.createData(), self.layout.order
        self.q, self.v, self.a = states(self.robot, count)
        self.rows = list(
            zip(
                self.layout.q(self.q),
                self.layout.v(self.v, self.q),
                self.layout.a(self.a, self.v, self.q),
                strict=True,
            )
        )

    def each(self, call):
        """``call(model, data, q, v, a)`` state by state."""
        return np.array([np.array(call(self.model, self.data, *row)) for row in self.rows])

    def vector(self, call):
        return self.each(call)[:, self.order]

    def matrix(self, call):
        found = self.each(call)
        return found[:, self.order[:, None], self.order]

    def mass_matrix(self):
        def whole(m, d, q, v, a):
            upper = np.triu(self.pin.crba(m, d, q))
            return upper + np.triu(upper, 1).T

        return self.matrix(whole)


@pytest.mark.parametrize("name", SMALL + LARGE)
def test_dynamics_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    tau, mass = theirs.vector(pin.rnea), theirs.mass_matrix()
    bias = theirs.vector(lambda m, d, q, v, a: pin.nonLinearEffects(m, d, q, v))
    close(robot.inverse_dynamics(q, v, a), tau, TOLERANCE)
    close(robot.mass_matrix(q), mass, TOLERANCE)
    close(robot.bias_force(q, v), bias, TOLERANCE)
    back = theirs.vector(lambda m, d, q, v, a: pin.aba(m, d, q, v, pin.rnea(m, d, q, v, a)))
    found = robot.forward_dynamics(q, v, tau)
    told = given_motion(robot)
    mixed = robot.hybrid_dynamics(q, v, np.where(told, a, 0.0))
    for k in range(len(q)):
        worst = max(TOLERANCE, 1e-14 * float(np.linalg.cond(mass[k])))
        close(found[k], back[k], worst, what="forward")
        given = np.where(told, a[k], 0.0)
        close(mixed[k], dense_hybrid(mass[k], bias[k], given, told), TOLERANCE, what="hybrid: (86), (87)")


@pytest.mark.parametrize("name", SMALL + LARGE)
def test_the_whole_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    order = theirs.order
    close(robot.center_of_mass(q), theirs.each(lambda m, d, q, v, a: pin.centerOfMass(m, d, q)), TOLERANCE)
    jacobian = theirs.each(lambda m, d, q, v, a: pin.jacobianCenterOfMass(m, d, q))[:, :, order]
    close(robot.center_of_mass_jacobian(q), jacobian, TOLERANCE)
    momentum = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMomentum(m, d, q, v).vector)
    close(robot.centroidal_momentum(q, v), momentum, TOLERANCE)
    rate = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMomentumTimeVariation(m, d, q, v, a).vector)
    close(robot.centroidal_momentum_rate(q, v, a), rate, TOLERANCE)
    matrix = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMap(m, d, q))[:, :, order]
    close(robot.centroidal_matrix(q), matrix, TOLERANCE)


@pytest.mark.parametrize("name", SMALL[:6])
def test_sensitivities_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    found = robot.inverse_dynamics_sensitivities(q, v, a)
    for k, mine in enumerate(found[:2]):
        close(mine, theirs.matrix(lambda m, d, q, v, a, k=k: pin.computeRNEADerivatives(m, d, q, v, a)[k]), TOLERANCE)
    mass = theirs.mass_matrix()
    close(found[2], mass, TOLERANCE)
    tau = robot.inverse_dynamics(q, v, a)
    found = robot.forward_dynamics_sensitivities(q, v, tau)

    def of_aba(m, d, q, v, a):
        first, second, inverse = pin.computeABADerivatives(m, d, q, v, pin.rnea(m, d, q, v, a))
        upper = np.triu(inverse)
        return np.stack([first, second, upper + np.triu(upper, 1).T])

    expected = theirs.each(of_aba)[:, :, theirs.order[:, None], theirs.order]
    for k in range(len(q)):
        worst = max(TOLERANCE, 1e-14 * float(np.linalg.cond(mass[k])))
        for mine, other in zip(found, expected[k], strict=True):
            close(mine[k], other, worst)


# ---- random trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200, 208))
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


@pytest.mark.parametrize("seed", range(212, 216))
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


@pytest.mark.parametrize("seed", [222, 223])
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


@pytest.mark.parametrize("seed", range(7, 9))
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


FLOATS = [name for name in QUANTITIES if name != "inverse_dynamics_hessian"]


@pytest.mark.parametrize("quantity", FLOATS)
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


@pytest.mark.parametrize("seed", range(226, 230))
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


@pytest.mark.parametrize("seed", range(230, 234))
def test_inner_forces_change_no_momentum(seed):
    """Whatever the motors do, the momentum changes by the weight alone, and about the mass centre not at all."""
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


@pytest.mark.parametrize("seed", [240, 241, 242])
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
    assert ratios.min() > 10, f"momentum, energy, mass centre and way converge by {ratios}"
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
    """tau = m (v' + w x v - R^T g); J w' + w x (J w), for a body whose frame is at its mass centre."""
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


# ---- rates and sensitivities ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [250, 251, 252])
def test_torque_rates_along_a_motion(seed):
    robot = floating(seed) if seed % 2 else several(seed)
    path = motion(robot, seed)
    now = path(0.0)
    first = robot.inverse_dynamics_rate
    second = robot.compile("inverse_dynamics_rate", order=2)
    tau, rate = first(*now[:4])
    close(tau, robot.inverse_dynamics(*now[:3]), 1e-13)
    close(rate, along(lambda t: smooth(robot).inverse_dynamics(*path(t)[:3])) + _lost(robot, now), 1e-9)
    again, same, twice = second(*now)
    close(again, tau, 1e-13)
    close(same, rate, 1e-12)
    close(twice, along(lambda t: first(*path(t)[:4])[1]), 1e-9)


def _lost(robot, now):
    """The rate of viscous friction; Coulomb friction has none."""
    return np.array([joint.viscous for joint in robot.moving_joints for _ in range(joint.nv)]) * now[2]


@pytest.mark.parametrize("seed", [251, 252])
def test_reaction_rates_along_a_motion(seed):
    """Of every link and of the base itself: the rates of the components of the wrench that it feels."""
    robot = smooth(floating(seed) if seed % 2 else several(seed))
    tree, path = whole_tree(robot), motion(robot, seed)

    def reactions(t):
        q, v, a = (x.tolist() for x in path(t)[:3])
        return np.array(hybrid(tree, q, v, a, [True] * robot.nv).reactions)

    found = torque_rates(tree, *(x.tolist() for x in path(0.0)[:4]))
    close(found.reactions, reactions(0.0), 1e-13)
    close(found.reaction_rates, along(reactions), 1e-9)


@pytest.mark.parametrize("seed", [253, 254])
def test_link_motions_along_a_motion(seed):
    """Velocity, acceleration and jerk of every link's origin and of its rotation, by differences of poses."""
    robot = floating(seed) if seed % 2 else several(seed)
    path = motion(robot, seed)
    velocities, accelerations, jerks = robot.link_motions(*path(0.0)[:4])
    turn = robot.link_poses(path(0.0)[0])[:, :3, :3]

    def in_base(which, t):
        found = robot.link_motions(*path(t)[:4])[which].reshape(len(robot.links), 2, 3)
        return np.einsum("kij,kpj->kpi", robot.link_poses(path(t)[0])[:, :3, :3], found)

    def in_links(found):
        return np.einsum("kji,kpj->kpi", turn, found).reshape(-1, 6)

    close(velocities, robot.link_velocities(*path(0.0)[:2]), 1e-14)
    origin = along(lambda t: robot.link_poses(path(t)[0])[:, :3, 3])
    close(np.einsum("kji,kj->ki", turn, origin), velocities[:, :3], 1e-9, scale=1.0)
    close(accelerations, in_links(along(lambda t: in_base(0, t))), 1e-9)
    close(jerks, in_links(along(lambda t: in_base(1, t))), 1e-9)


def shifted(robot, q):
    """q moved along every velocity in turn by t: what a column of a sensitivity is the derivative to."""
    return lambda t: robot.integrate(q, np.eye(robot.nv), t)


@pytest.mark.parametrize("seed", [255, 256])
def test_sensitivities_by_differences(seed):
    robot = floating(seed) if seed % 2 else several(seed)
    q, v, a = (x[0] for x in states(robot, 1, seed))
    there, unit = shifted(robot, q), np.eye(robot.nv)
    bare = smooth(robot)
    expected = [
        along(lambda t: robot.inverse_dynamics(there(t), v, a)).T,
        along(lambda t: bare.inverse_dynamics(q, v + t * unit, a)).T
        + np.diag([joint.viscous for joint in robot.moving_joints for _ in range(joint.nv)]),
        along(lambda t: robot.inverse_dynamics(q, v, a + t * unit)).T,
    ]
    for method in ("recursion", "pass"):
        found = robot.compile("inverse_dynamics_sensitivities", method=method)(q, v, a)
        for mine, theirs in zip(found, expected, strict=True):
            close(mine, theirs, 1e-9)
    reactions = robot.reaction_sensitivities(q, v, a)
    close(reactions[0], np.moveaxis(along(lambda t: robot.reaction_wrenches(there(t), v, a)), 0, -1), 1e-9)
    close(reactions[1], np.moveaxis(along(lambda t: robot.reaction_wrenches(q, v + t * unit, a)), 0, -1), 1e-9)
    close(reactions[2], np.moveaxis(along(lambda t: robot.reaction_wrenches(q, v, a + t * unit)), 0, -1), 1e-9)


@pytest.mark.parametrize("seed", [257, 258])
def test_jacobians_and_outside_wrenches(seed):
    """J qd is the frame's screw, and J^T wrench is what a wrench changes in the joint forces."""
    robot = random_robot(seed).with_free_base()
    q, v, a = states(robot, 4, seed)
    wrench = np.random.default_rng(seed).normal(size=(4, 6))
    jacobian = robot.compile("jacobian", frame="tool")(q)
    close(np.einsum("kij,kj->ki", jacobian, v), robot.compile("link_velocities", frame="tool")(q, v), 1e-13)
    pushed = robot.compile("inverse_dynamics", external="tool")(q, v, a, wrench)
    tau = robot.inverse_dynamics(q, v, a)
    close(tau - pushed, np.einsum("kij,ki->kj", jacobian, wrench), 1e-11)
    world = robot.compile("jacobian", frame="tool", reference="world")(q)
    loaded = robot.compile("inverse_dynamics", loads="tool")(q, v, a, wrench)
    close(tau - loaded, np.einsum("kij,ki->kj", world, wrench), 1e-11)


# ---- the whole ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "robot", [random_robot(260), random_robot(261), floating(262), several(5)], ids=lambda robot: robot.name
)
def test_mass_centre_and_momentum_by_definition(robot):
    """Sums over links, from poses and velocities; the base's own mass counts."""
    q, v, _ = states(robot, 5)
    poses, screws = robot.link_poses(q), robot.link_velocities(q, v)
    place, turn = poses[..., :3, 3], poses[..., :3, :3]
    masses = np.array([link.mass for link in robot.links])
    coms = np.array([link.com for link in robot.links])
    about = np.array([link.inertia_about_com for link in robot.links])
    points = place + np.einsum("klij,lj->kli", turn, coms)
    centre = np.einsum("l,kli->ki", masses, points) / robot.mass
    close(robot.center_of_mass(q), centre, 1e-13)
    speeds = np.einsum("klij,klj->kli", turn, screws[..., :3] + np.cross(screws[..., 3:], coms))
    linear = np.einsum("l,kli->ki", masses, speeds)
    spin = np.einsum("klij,ljm,klm->kli", turn, about, screws[..., 3:])
    arms = np.cross(points - centre[:, None], masses[:, None] * speeds)
    momentum = np.hstack([linear, (spin + arms).sum(axis=1)])
    close(robot.centroidal_momentum(q, v), momentum, 1e-12)
    close(np.einsum("kij,kj->ki", robot.centroidal_matrix(q), v), momentum, 1e-12)
    close(np.einsum("kij,kj->ki", robot.center_of_mass_jacobian(q), v), linear / robot.mass, 1e-12)
    about_base = robot.momentum(q, v)
    close(about_base[:, 3:] - np.cross(centre, linear), momentum[:, 3:], 1e-11)
    _, potential = robot.energy(q, v)
    close(potential, -robot.mass * centre @ np.array(robot.gravity), 1e-12)


@pytest.mark.parametrize("seed", [263, 264])
def test_the_momentum_rate_along_a_motion(seed):
    robot = floating(seed) if seed % 2 else random_robot(seed)
    path = motion(robot, seed)
    rate = along(lambda t: robot.centroidal_momentum(*path(t)[:2]))
    close(robot.centroidal_momentum_rate(*path(0.0)[:3]), rate, 1e-9)
    speed = along(lambda t: robot.center_of_mass(path(t)[0]))
    close(robot.center_of_mass_jacobian(path(0.0)[0]) @ path(0.0)[1], speed, 1e-9)


def test_the_base_counts_where_it_has_mass():
    """A fixed base of 3 kg at x = 1 m, a slider of 1 kg at x = 5 m: the mass centre is at x = 2 m."""
    robot = Robot(
        "slide",
        [Link.from_com("base", mass=3.0, com=(1, 0, 0)), Link.from_com("car", mass=1.0)],
        [Joint("rail", "prismatic", "base", "car", axis=(1, 0, 0))],
    )
    close(robot.center_of_mass([5.0]), [2.0, 0, 0], 1e-15)
    close(robot.center_of_mass_jacobian([5.0]), [[0.25], [0], [0]], 1e-15)
    close(robot.with_free_base().center_of_mass([0, 0, 0, 0, 0, 0, 1, 5.0]), [2.0, 0, 0], 1e-15)


def test_far_away_no_digit_is_lost():
    """Momentum about the mass centre does not know how far the robot has flown."""
    robot = floating(265)
    q, v, a = states(robot, 10)
    far = q.copy()
    far[:, :3] += 1e9
    for found, expected in (
        (robot.centroidal_momentum(far, v), robot.centroidal_momentum(q, v)),
        (robot.centroidal_momentum_rate(far, v, a), robot.centroidal_momentum_rate(q, v, a)),
        (robot.centroidal_matrix(far), robot.centroidal_matrix(q)),
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_robot_without_mass_has_no_mass_centre():
    robot = Robot("air", [Link("base"), Link("a")], [Joint("j", "revolute", "base", "a", rotor_inertia=1.0)])
    for quantity in ("center_of_mass", "center_of_mass_jacobian", "centroidal_momentum", "centroidal_matrix"):
        with pytest.raises(RobotError, match="robot 'air' has a mass of 0 kg, so it has no mass centre"):
            robot.compile(quantity)


def test_an_arm_in_free_fall():
    """By default hybrid dynamics is told the driven joints' motion and the free link's wrench."""
    robot = robots.puma560().with_free_base()
    assert (robot.nq, robot.nv, robot.joint_names[0]) == (13, 12, "root_joint")
    fall = robot.hybrid_dynamics(robot.neutral(), np.zeros(12), np.zeros(12))
    close(fall[:3], [0, 0, -9.81], 1e-12)
    close(fall[3:], np.zeros(9), 1e-11, scale=1.0)


def test_bad_quaternions_are_told_once_in_our_own_words():
    robot = neuler.robots.puma560().with_free_base()
    q, v = np.tile(robot.neutral(), (3, 1)), np.zeros((3, robot.nv))
    q[1, 3:7] = 0.0
    q[2, 3:7] *= 3.0
    for quantity in ("inverse_dynamics", "forward_dynamics", "link_poses", "energy", "inverse_dynamics_rate"):
        kernel = getattr(robot, quantity)
        for rows in (q[1], q[2]):  # an error, and no warning before it
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(neuler.InputError, match="the quaternion of joint 'root_joint'"):
                    kernel(rows, *[v[0]] * (len(kernel.inputs) - 1))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kernel(q, *[v] * (len(kernel.inputs) - 1))
        (only,) = told
        text = "has the length 0 instead of 1 in 2 of 3 rows: 1, 2 (that is no rotation at all: robot.neutral()"
        assert text in str(only.message)
    with pytest.raises(
        neuler.InputError, match=r"has the length 0 instead of 1; that is no rotation at all: robot.neutral\(\)"
    ):
        robot.inverse_dynamics(q[1], v[1], v[1])
    with pytest.raises(
        neuler.InputError, match=r"normalize: .* is zero; that is no rotation at all: robot.neutral\(\)"
    ):
        robot.normalize(q[1])
    assert np.isnan(robot.inverse_dynamics.ufunc(q, v, v)[1:]).any(axis=-1).all()
