"""Parallel robots: kinematics against geometry and differences, dynamics against physics and the model with loops."""

import dataclasses

import numpy as np
import pytest

from neuler import Link, ParallelRobot, robots
from neuler.recipes.quantities import recipe
from neuler.robots.parallel import _BASE, _PLATE
from parallel_machines import (
    NAMES,
    SHIFTS,
    TURNS,
    hexapod_legs,
    hexapod_position,
    machine,
    matrix,
    motor_numbers,
    motor_positions,
    poses,
    quaternion,
    screws,
    states,
)
from random_robots import along, close, random_link

BASE, PLATE = np.array(_BASE), np.array(_PLATE)
FREEDOMS = {"gough_stewart": 6, "delta": 3, "orthoglide": 3, "planar_3rrr": 3}

# ---- kinematics --------------------------------------------------------------------------------------------


def test_published_leg_lengths():
    """At (.25, .433, 1), not turned. The first is printed as 1.02468; it is sqrt(.1^2 + .2^2 + 1) = 1.024695."""
    robot = machine("gough_stewart")
    found = robot.inverse_kinematics(robot.reference).q[motor_positions(robot)]
    np.testing.assert_allclose(found, [1.02468, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863], atol=2e-5)
    np.testing.assert_allclose(found[1:], [1.03923, 1.14175, 1.12604, 1.02037, 1.09863], atol=5e-6)
    assert found[0] == pytest.approx(np.sqrt(1.05), abs=1e-12)


def test_inverse_kinematics_is_geometry():
    given = poses("gough_stewart", 300)
    expected = [hexapod_position(BASE, PLATE, pose) for pose in given]
    found = machine("gough_stewart").inverse_kinematics(given)
    assert found.closed.all()
    np.testing.assert_allclose(found.q, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_forward_kinematics_returns_to_the_pose(name):
    robot = machine(name)
    given = robot.inverse_kinematics(poses(name, 100)).q
    beside = given[:, :7] + 0.2 * (poses(name, 100, 5) - given[:, :7]) * [1, 1, 1, 0, 0, 0, 0]
    near = robot.inverse_kinematics(beside).q
    found = robot.forward_kinematics(given[:, motor_positions(robot)], near)
    assert found.closed.all()
    assert np.abs(near - given).max() > 1e-3
    np.testing.assert_allclose(found.q, given, rtol=0, atol=1e-10)


def test_inverse_jacobian_is_the_classical_one():
    """A row a leg: its direction u, and the moment b x u, in the platform's axes."""
    robot = machine("gough_stewart")
    q = states("gough_stewart", 100)[0]
    turns = matrix(q[:, 3:7])
    seats, feet = np.pad(PLATE, ((0, 0), (0, 1))), np.pad(BASE, ((0, 0), (0, 1)))
    legs = q[:, None, :3] + np.einsum("nij,kj->nki", turns, seats) - feet
    u = np.einsum("nji,nkj->nki", turns, legs / np.linalg.norm(legs, axis=-1, keepdims=True))
    classical = np.concatenate([u, np.cross(seats, u)], axis=-1)
    close(robot.inverse_jacobian(q), classical, 1e-13)
    close(robot.jacobian(q), np.linalg.inv(classical), 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_jacobians_by_differences(name):
    """Motors' positions along motions of the platform; and what the platform does along those of each motor."""
    robot = machine(name)
    q, v, _ = states(name, 20)
    tree, numbers = robot.mechanism.tree, motor_positions(robot)
    v = screws(name, len(q))
    whole = np.concatenate([v, np.zeros((len(q), robot.nv - 6))], axis=-1)

    def motors(time):
        pose = tree.integrate(q, whole, np.full(len(q), time))[:, :7]
        return robot.inverse_kinematics(pose, q).q[:, numbers]

    rates = along(motors, step=3e-4)
    close(np.einsum("nij,nj->ni", robot.inverse_jacobian(q), v), rates, 1e-9)
    close(np.einsum("nij,nj->ni", robot.jacobian(q), rates), v, 1e-9)
    for k in range(len(numbers)):

        def platform(time, k=k):
            moved = q[:, numbers] + time * np.eye(len(numbers))[k]
            return tree.difference(q, robot.forward_kinematics(moved, q).q)[:, :6]

        close(along(platform, step=3e-5), robot.jacobian(q)[:, :, k], 1e-6, what=robot.active_names[k])


@pytest.mark.parametrize("name", NAMES)
def test_velocities_and_accelerations_of_the_legs(name):
    """Along a path of the platform, by differences of the legs' positions and velocities."""
    robot = machine(name)
    q, v, vd = states(name, 20)
    tree = robot.mechanism.tree
    padded = [np.concatenate([x, np.zeros((len(q), robot.nv - 6))], axis=-1) for x in (v, vd)]

    def at(time):
        """The pose moves by v t + vd t^2/2 along exponential coordinates; its velocity is exact at t = 0 only."""
        pose = tree.integrate(q, padded[0] * time + padded[1] * time**2 / 2, np.ones(len(q)))[:, :7]
        return robot.inverse_kinematics(pose, q).q

    rates, accelerations = robot.leg_motion(q, v, vd)
    close(along(lambda time: at(time)[:, 7:], step=3e-4), rates, 1e-9)
    step, here, second = 2e-3, at(0.0), 0.0
    for k, weight in ((1, 1.5), (2, -0.15), (3, 1 / 90)):  # of sixth order
        second = second + weight * (at(k * step) + at(-k * step) - 2 * here)[:, 7:] / step**2
    close(second, accelerations, 1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_freedoms(name):
    robot = machine(name)
    facts = robot.mechanism.mobility
    assert facts.freedoms == FREEDOMS[name] == len(robot.active_names)
    assert facts.independent == robot.active_names == robot.mechanism.active_names
    np.testing.assert_allclose(facts.reference[:7], robot.reference, atol=1e-12)
    assert np.abs(robot.mechanism.closure(facts.reference)[0]).max() < 1e-12
    allowed = [*SHIFTS[name], *(3 + k for k in TURNS[name])]
    others = [k for k in range(6) if k not in allowed]
    np.testing.assert_allclose(facts.motions[others], 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(facts.motions[allowed]) == FREEDOMS[name]
    assert robot.mechanism.tree.link_names[:2] == ("base", "platform")
    assert (robot.nq, robot.nv) == (robot.mechanism.nq, robot.mechanism.nv)


@pytest.mark.parametrize("name", ["delta", "orthoglide"])
@pytest.mark.filterwarnings("ignore:mechanism")
def test_translators_keep_their_orientation(name):
    """The platform, never turned, is where three spheres about the rods' feet meet, and nowhere if they do not."""
    robot = machine(name)
    here = np.array(robot.mechanism.mobility.reference)[motor_positions(robot)]
    size = 0.5 if name == "delta" else 0.1
    given = here + np.random.default_rng(0).uniform(-size, size, (300, 3))
    found = robot.forward_kinematics(given)
    for q_active, q, closed in zip(given, found.q, found.closed, strict=True):
        if name == "delta":  # knees, moved inward by the platform's radius
            radii, turns = 0.2 + 0.2 * np.cos(q_active) - 0.06, 2 * np.pi * np.arange(3) / 3
            feet = np.stack([radii * np.cos(turns), radii * np.sin(turns), -0.2 * np.sin(q_active)], axis=-1)
            meeting = _meeting(feet, 0.5)
        else:
            meeting = _meeting(np.diag(q_active + 0.03), 0.31)
        assert closed == (len(meeting) > 0)
        if closed:
            assert min(np.abs(point - q[:3]).max() for point in meeting) < 1e-11
    done = found.q[found.closed]
    assert len(done) > 280
    assert np.ptp(done[:, :3], axis=0).min() > 0.15
    np.testing.assert_allclose(done[:, 3:6], 0.0, atol=1e-10)


def _meeting(centres, radius):
    """Points of three spheres."""
    a, b = centres[1] - centres[0], centres[2] - centres[0]
    n = np.cross(a, b)
    squares = np.sum(centres**2, axis=-1)
    right = [(squares[1] - squares[0]) / 2, (squares[2] - squares[0]) / 2, n @ centres[0]]
    foot = np.linalg.solve([a, b, n], right)
    square = radius**2 - np.sum((foot - centres[0]) ** 2)
    return [foot + sign * np.sqrt(square) * n / np.linalg.norm(n) for sign in (1, -1)] if square > 0 else []


def test_the_delta_hangs_below_its_base():
    robot = machine("delta")
    q = np.array(robot.mechanism.mobility.reference)
    np.testing.assert_allclose(q[7:].reshape(3, 3), [[np.arctan2(3, 4), np.pi / 2, 0.0]] * 3, atol=1e-12)
    frames = dict(zip(robot.mechanism.tree.link_names, robot.mechanism.tree.link_poses(q), strict=True))
    for k in (1, 2, 3):
        arm, knee = frames[f"leg{k}.arm"][:3, 3], frames[f"leg{k}.forearm"][:3, 3]
        assert np.linalg.norm(knee[:2]) > np.linalg.norm(arm[:2]) + 0.1  # outward
        assert -0.52 < knee[2] < arm[2] - 0.1  # and down
        assert np.linalg.norm(arm[:2]) == pytest.approx(0.2)
    assert robot.reference[2] == -0.52


def test_the_orthoglide_is_isotropic():
    robot = machine("orthoglide")
    q = robot.mechanism.mobility.reference
    np.testing.assert_allclose(robot.jacobian(q), np.eye(6)[:, :3], atol=1e-12)
    np.testing.assert_allclose(robot.inverse_jacobian(q)[:, :3], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(robot.singularity(q), 1.0, atol=1e-12)


def test_the_planar_machine_is_symmetric():
    robot = machine("planar_3rrr")
    q = np.array(robot.mechanism.mobility.reference)
    np.testing.assert_allclose(q[:7], [0, 0, 0, 0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(q[7:].reshape(3, 2), [[np.arctan2(4, -3), np.pi / 2]] * 3, atol=1e-12)
    turned = robot.forward_kinematics(q[[7, 9, 11]] + 0.1).q
    np.testing.assert_allclose(turned[:5], 0.0, atol=1e-12)
    assert abs(turned[5]) > 0.01


# ---- dynamics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_forward_undoes_inverse(name):
    robot = machine(name)
    q, v, vd = states(name, 400)
    close(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, vd)), vd, 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_platform_and_legs_equal_the_model_with_loops(name):
    """Khalil (66) against (55)-(58) on the tree with cut joints, one solution of all loops together."""
    robot = machine(name)
    q, v, vd = states(name, 200)
    numbers = motor_numbers(robot)
    rates, accelerations = robot.leg_motion(q, v, vd)
    qd, qdd = np.concatenate([v, rates], axis=-1), np.concatenate([vd, accelerations], axis=-1)
    tree = robot.mechanism.tree_motion(q, qd[:, numbers], qdd[:, numbers])
    close(tree[0], qd, 1e-10)
    close(tree[1], qdd, 1e-10)
    tau = robot.inverse_dynamics(q, v, vd)
    close(tau, robot.mechanism.inverse_dynamics(q, qd[:, numbers], qdd[:, numbers]), 1e-11)
    close(robot.mechanism.forward_dynamics(q, qd[:, numbers], tau), qdd[:, numbers], 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_power_of_the_motors_is_the_rate_of_energy(name):
    """On a path x(t), with the platform turning about one axis where it may: P = tau . qd_a = dE/dt."""
    robot = machine(name)
    allowed = [*SHIFTS[name], *(3 + k for k in TURNS[name])]
    axis = np.array([0.6, 0.0, 0.8]) if len(TURNS[name]) == 3 else np.array([0.0, 0.0, float(bool(TURNS[name]))])
    size = np.zeros(6)
    size[allowed] = 0.04
    rate = np.array([3.0, 2.0, 4.0, 1.0, 1.0, 1.0])
    start = np.concatenate([robot.reference[:3], np.zeros(3)])

    def motion(time):
        x = start[:3] + size[:3] * np.sin(rate[:3] * time)
        xd = size[:3] * rate[:3] * np.cos(rate[:3] * time)
        xdd = -size[:3] * rate[:3] ** 2 * np.sin(rate[:3] * time)
        angle, wheel, spin = 0.2 * np.sin(2.5 * time), 0.5 * np.cos(2.5 * time), -1.25 * np.sin(2.5 * time)
        r = matrix(quaternion(axis * angle))
        w, wd = axis * wheel, axis * spin
        v = np.concatenate([r.T @ xd, w])
        vd = np.concatenate([r.T @ xdd - np.cross(w, r.T @ xd), wd])
        return robot.inverse_kinematics(np.concatenate([x, quaternion(axis * angle)])).q, v, vd

    def energy(time):
        q, v, vd = motion(time)
        rates = np.concatenate([v, robot.leg_motion(q, v, vd)[0]])
        return float(np.sum(robot.mechanism.tree.energy(q, rates)))

    for time in (0.1, 0.45, 1.3):
        q, v, vd = motion(time)
        power = robot.inverse_dynamics(q, v, vd) @ (robot.inverse_jacobian(q) @ v)
        assert abs(power) > 1e-3
        assert power == pytest.approx(along(energy, time), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_at_rest_the_motors_hold_the_gradient_of_the_potential(name):
    robot = machine(name)
    q = states(name, 10)[0]
    numbers, still = motor_positions(robot), np.zeros((len(q), 6))
    found = robot.inverse_dynamics(q, still, still)
    for k in range(len(numbers)):

        def potential(time, k=k):
            moved = robot.forward_kinematics(q[:, numbers] + time * np.eye(len(numbers))[k], q).q
            return robot.mechanism.tree.energy(moved, np.zeros((len(q), robot.nv)))[1]

        close(found[:, k], along(potential, step=3e-5), 1e-6, scale=np.abs(found).max())
    close(robot.forward_dynamics(q, still, found), still, 1e-11, scale=1.0)


def test_massless_legs_leave_the_platform_alone():
    """B^T tau = m (a - g), I wd + w x I w, with the classical B and a mass centre off the platform's origin."""
    rng = np.random.default_rng(3)
    plate = random_link(rng, "plate")
    gravity = np.array([1.0, -2.0, -9.0])
    robot = ParallelRobot("bare", plate, hexapod_legs(BASE, PLATE), gravity, machine("gough_stewart").reference)
    given = poses("gough_stewart", 50)
    q = np.array([hexapod_position(BASE, PLATE, pose) for pose in given])
    v, vd = screws("gough_stewart", 50, 1), screws("gough_stewart", 50, 2, 5.0)
    found = robot.inverse_dynamics(q, v, vd)
    seats = np.pad(PLATE, ((0, 0), (0, 1)))
    for k in range(50):
        turn, w, wd = matrix(q[k, 3:7]), v[k, 3:], vd[k, 3:]
        u = np.array([turn.T @ (q[k, :3] + turn @ b - [*a, 0.0]) for a, b in zip(BASE, seats, strict=True)])
        u /= np.linalg.norm(u, axis=-1, keepdims=True)
        rows = np.concatenate([u, np.cross(seats, u)], axis=-1)
        com, mass = np.array(plate.com), plate.mass
        acceleration = vd[k, :3] + np.cross(w, v[k, :3]) + np.cross(wd, com) + np.cross(w, np.cross(w, com))
        force = mass * (acceleration - turn.T @ gravity)
        inertia = plate.inertia_about_com
        moment = inertia @ wd + np.cross(w, inertia @ w) + np.cross(com, force)
        expected = np.linalg.solve(rows.T, np.concatenate([force, moment]))
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(robot.cartesian_force(q[k], v[k], vd[k]), [*force, *moment], rtol=0, atol=1e-11)
    close(robot.forward_dynamics(q, v, found), vd, 1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_in_the_platforms_space(name):
    robot = machine(name)
    q, v, vd = states(name, 100)
    matrices = robot.cartesian_mass_matrix(q)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
    assert np.linalg.eigvalsh(matrices).min() > 0
    force = robot.cartesian_force(q, v, vd)
    close(np.einsum("nji,nj->ni", robot.jacobian(q), force), robot.inverse_dynamics(q, v, vd), 1e-10)
    grown = force - robot.cartesian_force(q, v, np.zeros_like(v))
    close(np.einsum("nij,nj->ni", matrices, vd), grown, 1e-11)
    kinetic = robot.mechanism.tree.energy(q, np.concatenate([v, robot.leg_motion(q, v, vd)[0]], axis=-1))[0]
    close(np.einsum("ni,nij,nj->n", v, matrices, v) / 2, kinetic, 1e-12)


def test_friction_and_rotors_of_the_legs_are_felt():
    robot = machine("delta")
    q, v, vd = states("delta", 50)
    bare, tau = robot.inverse_dynamics(q, v, vd), []
    for change in ({"viscous": 0.3}, {"rotor_inertia": 2e-3 + 0.05}, {"coulomb": 0.2}):
        legs = []
        for leg in robot.legs:
            motor, *others = leg.chain.joints
            chain = leg.chain.replace(joints=[dataclasses.replace(motor, **change), *others])
            legs.append(dataclasses.replace(leg, chain=chain))
        tau.append(robot.replace(legs=legs).inverse_dynamics(q, v, vd) - bare)
    numbers = motor_numbers(robot)
    rates, accelerations = (np.concatenate([np.zeros_like(v), x], axis=-1) for x in robot.leg_motion(q, v, vd))
    close(tau[0], 0.3 * rates[:, numbers], 1e-11)
    close(tau[1], 0.05 * accelerations[:, numbers], 1e-11)
    close(tau[2], 0.2 * np.sign(rates[:, numbers]), 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_plain_numbers(name):
    """Every quantity traced on floats, one state at a time."""
    robot = machine(name)
    q, v, vd = states(name, 3)
    values = {"q": q, "v": v, "vd": vd, "tau": robot.inverse_dynamics(q, v, vd)}
    for quantity in ("inverse_dynamics", "forward_dynamics", "jacobian", "singularity", "leg_motion"):
        made = recipe(robot, quantity)
        compiled = getattr(robot, quantity)(*(values[operand.name] for operand in made.inputs))
        parts = compiled if isinstance(compiled, tuple) else (compiled,)
        for k in range(3):
            plain = made.trace({operand.name: values[operand.name][k].tolist() for operand in made.inputs})
            for array, numbers in zip(parts, plain, strict=True):
                close(np.ravel(array[k]), np.array(numbers, dtype=float), 1e-10)


def test_batches_and_one_state():
    robot = machine("delta")
    q, v, vd = states("delta", 12)
    whole = robot.inverse_dynamics(q, v, vd)
    np.testing.assert_array_equal(robot.inverse_dynamics(q[3], v[3], vd[3]), whole[3])
    shaped = robot.inverse_dynamics(q.reshape(3, 4, -1), v.reshape(3, 4, 6), vd.reshape(3, 4, 6))
    np.testing.assert_array_equal(shaped, whole.reshape(3, 4, 3))
    single = robot.compile("inverse_dynamics", dtype="float32")(q, v, vd)
    assert single.dtype == np.float32
    close(single, whole, 1e-4)


def test_gravity_and_the_catalogue():
    robot = machine("delta")
    q = states("delta", 5)[0]
    still = np.zeros((5, 6))
    assert np.abs(robot.with_gravity((0, 0, 0)).inverse_dynamics(q, still, still)).max() < 1e-14
    assert robots.get("delta") == robots.delta()
    for name in NAMES:
        chain_masses = [link.mass for leg in machine(name).legs for link in leg.chain.links[1:]]
        assert min(chain_masses) >= 0
        assert machine(name).platform.mass > 0
        assert np.linalg.eigvalsh(machine(name).platform.inertia_about_com).min() > 0
    assert isinstance(machine("delta").platform, Link)
