"""Parallel robots: kinematics against geometry and differences, dynamics against physics and by the motors."""

import dataclasses

import numpy as np
import pytest

from neuler import Link, parallel_robot, robots
from neuler.quantities.catalogue import recipe
from neuler.robots.platforms import _BASE, _PLATE
from parallel_machines import (
    FREEDOMS,
    NAMES,
    SHIFTS,
    TURNS,
    by_motors,
    hexapod_legs,
    hexapod_position,
    machine,
    matrix,
    motor_numbers,
    motor_positions,
    place,
    pose,
    poses,
    quaternion,
    screw,
    speeds,
    states,
    unguided,
)
from random_robots import along, close, few, random_link

BASE, PLATE = np.array(_BASE), np.array(_PLATE)

# ---- kinematics --------------------------------------------------------------------------------------------


def test_published_leg_lengths():
    """At (.25, .433, 1), not turned. The first is printed as 1.02468; it is sqrt(.1^2 + .2^2 + 1) = 1.024695."""
    robot = machine("gough_stewart")
    found = robot.inverse_kinematics(place(robot, robot.reference)).q[motor_positions(robot)]
    np.testing.assert_allclose(found, [1.02468, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863], atol=2e-5)
    np.testing.assert_allclose(found[1:], [1.03923, 1.14175, 1.12604, 1.02037, 1.09863], atol=5e-6)
    assert found[0] == pytest.approx(np.sqrt(1.05), abs=1e-12)


def test_inverse_kinematics_is_geometry():
    given = poses("gough_stewart", 300)
    expected = [hexapod_position(BASE, PLATE, there) for there in given]
    found = machine("gough_stewart").inverse_kinematics(given)
    assert found.closed.all()
    np.testing.assert_allclose(found.q, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_forward_kinematics_returns_to_the_pose(name):
    robot = machine(name)
    given = robot.inverse_kinematics(poses(name, 100)).q
    beside = place(robot, given).copy()
    shifts = list(SHIFTS[name])
    beside[:, shifts] += 0.2 * (poses(name, 100, 5) - beside)[:, shifts]
    near = robot.inverse_kinematics(beside).q
    found = robot.forward_kinematics(given[:, motor_positions(robot)], near)
    assert found.closed.all()
    assert np.abs(near - given).max() > 1e-3
    np.testing.assert_allclose(found.q, given, rtol=0, atol=1e-10)


def test_the_actuation_matrix_is_the_classical_inverse_jacobian():
    """A row a leg: its direction u, and the moment b x u, in the platform's axes."""
    robot = machine("gough_stewart")
    q = states("gough_stewart", 100)[0]
    turns = matrix(q[:, 3:7])
    seats, feet = np.pad(PLATE, ((0, 0), (0, 1))), np.pad(BASE, ((0, 0), (0, 1)))
    legs = q[:, None, :3] + np.einsum("nij,kj->nki", turns, seats) - feet
    u = np.einsum("nji,nkj->nki", turns, legs / np.linalg.norm(legs, axis=-1, keepdims=True))
    classical = np.concatenate([u, np.cross(seats, u)], axis=-1)
    close(robot.actuation_matrix(q), classical, 1e-13)
    close(robot.platform_jacobian(q), np.linalg.inv(classical), 1e-11)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_jacobians_by_differences(name):
    """Motors' positions along motions of the platform; and what the platform does along those of each motor."""
    robot = machine(name)
    q, qd, _ = states(name, 20)
    numbers = motor_positions(robot)

    def motors(time):
        return robot.inverse_kinematics(moved(robot, q, time * qd), q).q[:, numbers]

    rates = along(motors, step=3e-4)
    close(np.einsum("nij,nj->ni", robot.actuation_matrix(q), qd), rates, 1e-9)
    close(np.einsum("nij,nj->ni", robot.platform_jacobian(q), rates), qd, 1e-9)
    for k in range(len(numbers)):

        def platform(time, k=k):
            turned = q[:, numbers] + time * np.eye(len(numbers))[k]
            return robot.tree.difference(q, robot.forward_kinematics(turned, q).q)[:, : robot.nv]

        close(along(platform, step=3e-5), robot.platform_jacobian(q)[:, :, k], 1e-6, what=robot.active_names[k])


def moved(robot, q, way):
    """The platform's position after a step of its joint alone, legs left where they are."""
    steps = np.concatenate([way, np.zeros((len(q), robot.tree.nv - robot.nv))], axis=-1)
    return place(robot, robot.tree.integrate(q, steps, np.ones(len(q))))


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_velocities_and_accelerations_of_the_legs(name):
    """Along a path of the platform, by differences of the legs' positions and velocities."""
    robot = machine(name)
    q, qd, qdd = states(name, 20)
    first = robot.moving_joints[0].nq

    def at(time):
        """The pose moves by qd t + qdd t^2/2 along exponential coordinates; its velocity is exact at t = 0 only."""
        return robot.inverse_kinematics(moved(robot, q, qd * time + qdd * time**2 / 2), q).q

    rates, accelerations = robot.tree_motion(q, qd, qdd)
    np.testing.assert_array_equal(rates[:, : robot.nv], qd)
    np.testing.assert_array_equal(accelerations[:, : robot.nv], qdd)
    close(along(lambda time: at(time)[:, first:], step=3e-4), rates[:, robot.nv :], 1e-9)
    step, here, second = 2e-3, at(0.0), 0.0
    for k, weight in ((1, 1.5), (2, -0.15), (3, 1 / 90)):  # of sixth order
        second = second + weight * (at(k * step) + at(-k * step) - 2 * here)[:, first:] / step**2
    close(second, accelerations[:, robot.nv :], 1e-7)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_the_frame_jacobian_gives_the_platforms_screw(name):
    """``jacobian`` of the platform: its screw in its own axes, whatever its joint counts."""
    robot = machine(name)
    q, qd, qdd = states(name, 30)
    found = np.einsum("nij,nj->ni", robot.compile("jacobian", frame="platform")(q), qd)
    close(found, screw(robot, q, qd, qdd)[0], 1e-13)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_freedoms(name):
    robot = machine(name)
    facts = robot.mobility
    assert facts.freedoms == facts.driven == robot.nv == robot.nu == FREEDOMS[name] == len(robot.active_names)
    assert facts.independent == robot.independent == ("platform",)
    assert by_motors(robot).mobility.independent == robot.active_names == facts.active
    np.testing.assert_allclose(place(robot, facts.reference), place(robot, robot.reference), atol=1e-12)
    assert np.abs(robot.closure(facts.reference)[0]).max() < 1e-12
    assert np.linalg.matrix_rank(facts.motions[: robot.nv]) == FREEDOMS[name]
    assert robot.link_names[:2] == ("base", "platform")
    assert robot.joint_names[0] == "platform"
    assert robot.nq == sum(joint.nq for joint in robot.tree.moving_joints)


@pytest.mark.parametrize("name", few(("planar_3rrr", "delta", "gough_stewart", "orthoglide"), 1))
def test_the_legs_alone_hold_the_platform(name):
    """With a platform free but for its legs: the same freedoms, and none where its joint has none."""
    robot, free = machine(name), unguided(machine(name))
    facts = free.mobility
    assert facts.freedoms == facts.driven == FREEDOMS[name]
    assert facts.independent == robot.active_names
    allowed = [*SHIFTS[name], *(3 + k for k in TURNS[name])]
    others = [k for k in range(6) if k not in allowed]
    np.testing.assert_allclose(facts.motions[others], 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(facts.motions[allowed]) == FREEDOMS[name]
    q, qd, qdd = states(name, 50)
    numbers = motor_numbers(robot)
    rates, accelerations = (x[:, numbers] for x in robot.tree_motion(q, qd, qdd))
    there = np.concatenate([pose(robot, q), q[:, robot.moving_joints[0].nq :]], axis=-1)
    for found, expected in zip(free.tree_motion(there, rates, accelerations), screw(robot, q, qd, qdd), strict=True):
        close(found[:, :6], expected, 1e-10)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(free.inverse_dynamics(there, rates, accelerations), tau, 1e-10)
    close(free.forward_dynamics(there, rates, tau), accelerations, 1e-9)


@pytest.mark.parametrize("name", ["delta", "orthoglide"])
@pytest.mark.filterwarnings("ignore:robot")
def test_translators_keep_their_orientation(name):
    """A platform that its legs alone hold, never turned, is where three spheres about the rods' feet meet.

    And nowhere if they do not.
    """
    robot = unguided(machine(name))
    here = np.array(robot.mobility.reference)[motor_positions(robot)]
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
    led = machine(name).forward_kinematics(given[found.closed])
    assert led.closed.all()
    np.testing.assert_allclose(led.q, np.delete(done, range(3, 7), axis=-1), atol=1e-10)


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
    q = np.array(robot.mobility.reference)
    np.testing.assert_allclose(q[3:].reshape(3, 3), [[np.arctan2(3, 4), np.pi / 2, 0.0]] * 3, atol=1e-12)
    frames = dict(zip(robot.link_names, robot.link_poses(q), strict=True))
    for k in (1, 2, 3):
        arm, knee = frames[f"leg{k}.arm"][:3, 3], frames[f"leg{k}.forearm"][:3, 3]
        assert np.linalg.norm(knee[:2]) > np.linalg.norm(arm[:2]) + 0.1  # outward
        assert -0.52 < knee[2] < arm[2] - 0.1  # and down
        assert np.linalg.norm(arm[:2]) == pytest.approx(0.2)
    assert robot.reference[2] == -0.52


def test_the_orthoglide_is_isotropic():
    robot = machine("orthoglide")
    q = robot.mobility.reference
    np.testing.assert_allclose(robot.platform_jacobian(q), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(robot.actuation_matrix(q), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(robot.singularity(q).motors, 1.0, atol=1e-12)


def test_the_planar_machine_is_symmetric():
    robot = machine("planar_3rrr")
    q = np.array(robot.mobility.reference)
    np.testing.assert_allclose(q[:3], 0.0, atol=1e-12)
    np.testing.assert_allclose(q[3:].reshape(3, 2), [[np.arctan2(4, -3), np.pi / 2]] * 3, atol=1e-12)
    turned = robot.forward_kinematics(q[[3, 5, 7]] + 0.1).q
    np.testing.assert_allclose(turned[:2], 0.0, atol=1e-12)
    assert abs(turned[2]) > 0.02


# ---- dynamics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", few(NAMES, 2))
def test_forward_undoes_inverse(name):
    robot = machine(name)
    q, qd, qdd = states(name, 400)
    close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, 1e-9)


@pytest.mark.parametrize("name", few(NAMES, 1))
def test_platform_and_motors_as_coordinates(name):
    """Khalil (66), each leg by itself, against (55)-(58) by the motors, one solution of all loops together."""
    robot, motors = machine(name), by_motors(machine(name))
    q, qd, qdd = states(name, 200)
    numbers = motor_numbers(robot)
    rates, accelerations = robot.tree_motion(q, qd, qdd)
    tree = motors.tree_motion(q, rates[:, numbers], accelerations[:, numbers])
    close(tree[0], rates, 1e-10)
    close(tree[1], accelerations, 1e-10)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(tau, motors.inverse_dynamics(q, rates[:, numbers], accelerations[:, numbers]), 1e-11)
    close(motors.forward_dynamics(q, rates[:, numbers], tau), accelerations[:, numbers], 1e-9)


@pytest.mark.parametrize("name", few(NAMES, 2))
def test_power_of_the_motors_is_the_rate_of_energy(name):
    """On a path x(t), with the platform turning about one axis where it may: P = tau . qd_a = dE/dt."""
    robot = machine(name)
    shifts, n = list(SHIFTS[name]), len(SHIFTS[name])
    axis, rate = np.array([0.6, 0.0, 0.8]), np.array([3.0, 2.0, 4.0])[:n]
    start = np.array(robot.reference)[shifts]

    def motion(time):
        x = start + 0.04 * np.sin(rate * time)
        xd, xdd = 0.04 * rate * np.cos(rate * time), -0.04 * rate**2 * np.sin(rate * time)
        angle, wheel, spin = 0.2 * np.sin(2.5 * time), 0.5 * np.cos(2.5 * time), -1.25 * np.sin(2.5 * time)
        if name == "planar_3rrr":
            x, xd, xdd = [*x, angle], np.append(xd, wheel), np.append(xdd, spin)
        elif name == "gough_stewart":
            r, w = matrix(quaternion(axis * angle)), axis * wheel
            x = [*x, *quaternion(axis * angle)]
            xd, xdd = r.T @ xd, r.T @ xdd
            xd, xdd = np.append(xd, w), np.append(xdd - np.cross(w, xd), axis * spin)
        return robot.inverse_kinematics(x).q, xd, xdd

    def energy(time):
        q, qd, qdd = motion(time)
        whole = float(np.sum(robot.tree.energy(q, robot.tree_motion(q, qd, qdd)[0])))
        assert whole == pytest.approx(float(np.sum(robot.energy(q, qd))), rel=1e-12)
        return whole

    for time in (0.1, 0.45, 1.3):
        q, qd, qdd = motion(time)
        power = robot.inverse_dynamics(q, qd, qdd) @ (robot.actuation_matrix(q) @ qd)
        assert abs(power) > 1e-3
        assert power == pytest.approx(along(energy, time), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_at_rest_the_motors_hold_the_gradient_of_the_potential(name):
    robot = machine(name)
    q = states(name, 10)[0]
    numbers, still = motor_positions(robot), np.zeros((len(q), robot.nv))
    found = robot.inverse_dynamics(q, still, still)
    for k in range(len(numbers)):

        def potential(time, k=k):
            turned = robot.forward_kinematics(q[:, numbers] + time * np.eye(len(numbers))[k], q).q
            return robot.tree.energy(turned, np.zeros((len(q), robot.tree.nv)))[1]

        close(found[:, k], along(potential, step=3e-5), 1e-6, scale=np.abs(found).max())
    close(robot.forward_dynamics(q, still, found), still, 1e-11, scale=1.0)
    close(np.einsum("nij,ni->nj", robot.actuation_matrix(q), found), robot.gravity_force(q), 1e-11)


def test_massless_legs_leave_the_platform_alone():
    """B^T tau = m (a - g), I wd + w x I w, with the classical B and a centre of mass off the platform's origin."""
    rng = np.random.default_rng(3)
    plate = random_link(rng, "plate")
    gravity = np.array([1.0, -2.0, -9.0])
    reference = place(machine("gough_stewart"), machine("gough_stewart").reference)
    robot = parallel_robot("bare", plate, hexapod_legs(BASE, PLATE), gravity, reference)
    given = poses("gough_stewart", 50)
    q = np.array([hexapod_position(BASE, PLATE, there) for there in given])
    v, vd = speeds("gough_stewart", 50, 1), speeds("gough_stewart", 50, 2, 5.0)
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
        np.testing.assert_allclose(robot.generalized_force(q[k], v[k], vd[k]), [*force, *moment], rtol=0, atol=1e-11)
    close(robot.forward_dynamics(q, v, found), vd, 1e-10)


@pytest.mark.parametrize("name", few(NAMES, 2))
def test_the_model_in_the_platforms_space(name):
    robot = machine(name)
    q, qd, qdd = states(name, 100)
    matrices = robot.mass_matrix(q)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
    assert np.linalg.eigvalsh(matrices).min() > 0
    force = robot.generalized_force(q, qd, qdd)
    close(np.einsum("nji,nj->ni", robot.platform_jacobian(q), force), robot.inverse_dynamics(q, qd, qdd), 1e-10)
    grown = force - robot.generalized_force(q, qd, np.zeros_like(qd))
    close(np.einsum("nij,nj->ni", matrices, qdd), grown, 1e-11)
    close(force - grown, robot.bias_force(q, qd), 1e-11)
    kinetic = robot.tree.energy(q, robot.tree_motion(q, qd, qdd)[0])[0]
    close(np.einsum("ni,nij,nj->n", qd, matrices, qd) / 2, kinetic, 1e-12)


def test_friction_and_rotors_of_the_legs_are_felt():
    robot = machine("delta")
    q, qd, qdd = states("delta", 50)
    bare, tau = robot.inverse_dynamics(q, qd, qdd), []
    for change in ({"viscous": 0.3}, {"rotor_inertia": 2e-3 + 0.05}, {"coulomb": 0.2}):
        joints = [
            dataclasses.replace(joint, **change) if joint.name in robot.active_names else joint
            for joint in robot.joints
        ]
        tau.append(robot.replace(joints=joints).inverse_dynamics(q, qd, qdd) - bare)
    rates, accelerations = (x[:, motor_numbers(robot)] for x in robot.tree_motion(q, qd, qdd))
    close(tau[0], 0.3 * rates, 1e-11)
    close(tau[1], 0.05 * accelerations, 1e-11)
    close(tau[2], 0.2 * np.sign(rates), 1e-11)


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_compiled_equals_plain_numbers(name):
    """Every quantity traced on floats, one state at a time."""
    robot = machine(name)
    q, qd, qdd = states(name, 3)
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": robot.inverse_dynamics(q, qd, qdd)}
    for quantity in ("inverse_dynamics", "forward_dynamics", "platform_jacobian", "singularity", "tree_motion"):
        made = recipe(robot, quantity)
        compiled = getattr(robot, quantity)(*(values[operand.name] for operand in made.inputs))
        parts = compiled if isinstance(compiled, tuple) else (compiled,)
        for k in range(3):
            plain = made.trace({operand.name: values[operand.name][k].tolist() for operand in made.inputs})
            for array, numbers in zip(parts, plain, strict=True):
                close(np.ravel(array[k]), np.array(numbers, dtype=float), 1e-10)


def test_batches_and_one_state():
    robot = machine("delta")
    q, qd, qdd = states("delta", 12)
    whole = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_array_equal(robot.inverse_dynamics(q[3], qd[3], qdd[3]), whole[3])
    shaped = robot.inverse_dynamics(q.reshape(3, 4, -1), qd.reshape(3, 4, 3), qdd.reshape(3, 4, 3))
    np.testing.assert_array_equal(shaped, whole.reshape(3, 4, 3))
    single = robot.compile("inverse_dynamics", dtype="float32")(q, qd, qdd)
    assert single.dtype == np.float32
    close(single, whole, 1e-4)


def test_gravity_and_the_catalogue():
    robot = machine("delta")
    q = states("delta", 5)[0]
    still = np.zeros((5, 3))
    assert np.abs(robot.with_gravity((0, 0, 0)).inverse_dynamics(q, still, still)).max() < 1e-14
    assert robots.get("delta") == robots.delta()
    for name in NAMES:
        assert min(link.mass for link in machine(name).links) >= 0
        platform = machine(name).links[1]
        assert isinstance(platform, Link)
        assert platform.name == "platform"
        assert platform.mass > 0
        assert np.linalg.eigvalsh(platform.inertia_about_com).min() > 0
