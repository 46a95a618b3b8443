"""Hybrid robots: parallel modules in series, each on the platform of the one below."""

import functools
import pickle

import numpy as np
import pytest

import neuler
from neuler import Link, Transform, robots
from parallel_machines import (
    by_motors,
    machine,
    motor_numbers,
    motor_positions,
    planar_of_legs,
    pose,
    poses,
    speeds,
    unguided,
)
from random_robots import along, close

MOUNT = Transform.from_rpy((0.05, 0.02, 0.3), (0.9, 0.3, -0.4))


@functools.cache
def hybrid():
    """A planar machine that carries a Delta, askew."""
    return neuler.stack("hybrid", [("low", machine("planar_3rrr")), ("high", machine("delta"))], [MOUNT])


@functools.cache
def tower():
    return neuler.stack("tower", [(name, machine("planar_3rrr")) for name in ("low", "mid", "high")])


def place_of(robot, q):
    numbers = pose(robot, q)
    return Transform.from_quaternion(numbers[:3], numbers[3:])


def composed(low, high):
    """q of the hybrid from positions of its modules, each of them alone, in the order of its joints."""
    parts = {}
    for name, module, q in (("low", "planar_3rrr", low), ("high", "delta", high)):
        at = 0
        for joint in machine(module).moving_joints:
            parts[f"{name}.{joint.name}"] = q[at : at + joint.nq]
            at += joint.nq
    return np.concatenate([parts[joint.name] for joint in hybrid().moving_joints])


def modules(count, seed=0):
    """Positions of both modules alone."""
    low = machine("planar_3rrr").inverse_kinematics(poses("planar_3rrr", count, seed)).q
    return low, machine("delta").inverse_kinematics(poses("delta", count, seed + 1)).q


@pytest.mark.slow
def test_freedoms_add_up():
    for names in (("gough_stewart", "delta"), ("delta", "delta"), ("orthoglide", "planar_3rrr", "delta")):
        given = [(f"part{k}", machine(name)) for k, name in enumerate(names)]
        arm = neuler.stack("arm", given, [Transform.rot_x(0.3, 0.1)] * (len(names) - 1))
        expected = [machine(name).nv for name in names]
        assert arm.mobility.freedoms == arm.nv == arm.nu == sum(expected) == len(arm.active_names)
        motors = [f"{key}.{motor}" for key, robot in given for motor in robot.active_names]
        assert list(arm.active_names) == motors  # in the order of the modules
        assert list(arm.mobility.independent) == [f"{key}.platform" for key, _ in given]
        assert list(by_motors(arm).mobility.independent) == motors
        assert arm.mass == pytest.approx(sum(robot.mass for _, robot in given))
        assert arm.gravity == given[0][1].gravity


def test_positions_are_those_of_the_modules():
    arm = hybrid()
    low, high = modules(5)
    q = np.array([composed(*pair) for pair in zip(low, high, strict=True)])
    assert np.abs(arm.closure(q)[0]).max() < 1e-11
    near = arm.tree.integrate(q, np.full((5, arm.tree.nv), 1e-3), np.ones(5))
    for chosen in (arm, by_motors(arm)):
        names = [joint.name for joint in arm.moving_joints for _ in range(joint.nq)]
        numbers = [k for k, joint in enumerate(names) if joint in chosen.mobility.independent]
        found = chosen.assemble(q[:, numbers], near)
        np.testing.assert_allclose(found.q, q, atol=1e-10)
    reference = composed(*(np.array(machine(name).mobility.reference) for name in ("planar_3rrr", "delta")))
    np.testing.assert_allclose(arm.mobility.reference, reference, atol=1e-11)
    top = arm.compile("link_poses", frame="high.platform")(q)
    for k in range(5):
        expected = place_of(machine("planar_3rrr"), low[k]) @ MOUNT @ place_of(machine("delta"), high[k])
        np.testing.assert_allclose(top[k], expected.matrix, atol=1e-13)


def test_forward_undoes_inverse():
    q = np.array([composed(*pair) for pair in zip(*modules(50), strict=True)])
    qd, qdd = np.random.default_rng(2).uniform(-2, 2, (2, 50, 6))
    tau = hybrid().inverse_dynamics(q, qd, qdd)
    close(hybrid().forward_dynamics(q, qd, tau), qdd, 1e-10)


@pytest.mark.slow
def test_platforms_and_motors_as_coordinates():
    """Khalil (66) of both modules against one solution of all loops together."""
    arm, motors = hybrid(), by_motors(hybrid())
    q = np.array([composed(*pair) for pair in zip(*modules(50), strict=True)])
    qd, qdd = np.random.default_rng(6).uniform(-2, 2, (2, 50, 6))
    numbers = motor_numbers(arm)
    rates, accelerations = (x[:, numbers] for x in arm.tree_motion(q, qd, qdd))
    tau = arm.inverse_dynamics(q, qd, qdd)
    close(motors.inverse_dynamics(q, rates, accelerations), tau, 1e-11)
    close(motors.forward_dynamics(q, rates, tau), accelerations, 1e-9)


@pytest.mark.slow
def test_on_a_locked_module():
    """The upper motors' torques are those of the upper robot alone, under gravity as its tilted base sees it."""
    low, high = modules(8)
    q = np.array([composed(*pair) for pair in zip(low, high, strict=True)])
    v, vd = speeds("delta", 8, 4), speeds("delta", 8, 5, 5.0)
    delta, zero = machine("delta"), np.zeros((8, 3))
    tau = hybrid().inverse_dynamics(q, np.concatenate([zero, v], axis=-1), np.concatenate([zero, vd], axis=-1))
    for k in range(8):
        base = np.array((place_of(machine("planar_3rrr"), low[k]) @ MOUNT).rotation)
        tilted = delta.with_gravity(base.T @ hybrid().gravity)
        alone = tilted.inverse_dynamics(high[k], v[k], vd[k])
        np.testing.assert_allclose(tau[k, 3:], alone, rtol=0, atol=1e-11 * np.abs(alone).max())


def test_under_a_locked_module():
    """The lower motors' torques are those of a lower robot whose platform is heavier by the upper one, frozen."""
    low, high = modules(6)
    q = np.array([composed(*pair) for pair in zip(low, high, strict=True)])
    v, vd = speeds("planar_3rrr", 6, 4), speeds("planar_3rrr", 6, 5, 5.0)
    planar, delta, zero = machine("planar_3rrr"), machine("delta"), np.zeros((6, 3))
    tau = hybrid().inverse_dynamics(q, np.concatenate([v, zero], axis=-1), np.concatenate([vd, zero], axis=-1))
    for k in range(2):
        places = delta.link_poses(high[k])
        bodies = [(planar.links[1], np.eye(4))]
        bodies += [(link, MOUNT.matrix @ place) for link, place in zip(delta.links, places, strict=True)]
        alone = _with_platform(planar, bodies).inverse_dynamics(low[k], v[k], vd[k])
        np.testing.assert_allclose(tau[k, :3], alone, rtol=0, atol=1e-11 * np.abs(alone).max())


def _with_platform(robot, bodies):
    """With a platform of several bodies, each at a place (4, 4) on it."""
    return robot.replace(links=[robot.links[0], _together(bodies), *robot.links[2:]])


def _together(bodies):
    """One link of several, each at a place (4, 4)."""
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for link, place in bodies:
        r, com = place[:3, :3], place[:3, :3] @ np.array(link.com) + place[:3, 3]
        mass, moment = mass + link.mass, moment + link.mass * com
        inertia += r @ link.inertia_about_com @ r.T + link.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Link("platform", mass, tuple(moment), inertia)


@pytest.mark.parametrize("chosen", ["platforms", pytest.param("motors", marks=pytest.mark.slow)])
def test_power_of_the_motors_is_the_rate_of_energy(chosen):
    arm = hybrid() if chosen == "platforms" else by_motors(hybrid())
    names = [joint.name for joint in arm.moving_joints for _ in range(joint.nq)]
    start = np.array(arm.mobility.reference)[[names.index(name) for name in arm.active_names]]
    if chosen == "platforms":
        start = np.array(arm.mobility.reference)[[k for k, name in enumerate(names) if name.endswith("platform")]]
    n = len(start)
    rng = np.random.default_rng(3)
    size, rate, phase = rng.uniform(0.05, 0.15, n), rng.uniform(1, 3, n), rng.uniform(0, 6, n)
    size = size if chosen == "motors" else 0.5 * size

    def motion(time):
        q = arm.assemble(start + size * np.sin(rate * time + phase)).q
        return q, size * rate * np.cos(rate * time + phase), -size * rate**2 * np.sin(rate * time + phase)

    def energy(time):
        q, qd, qdd = motion(time)
        return float(np.sum(arm.tree.energy(q, arm.tree_motion(q, qd, qdd)[0])))

    for time in (0.2, 1.1):
        q, qd, qdd = motion(time)
        power = arm.inverse_dynamics(q, qd, qdd) @ arm.actuation_matrix(q) @ qd
        assert abs(power) > 1e-3
        assert power == pytest.approx(along(energy, time), rel=1e-8)


@pytest.mark.slow
def test_three_modules():
    arm = tower()
    assert arm.mobility.freedoms == 9
    q = np.array(arm.mobility.reference)
    rng = np.random.default_rng(4)
    qd, qdd = rng.uniform(-2, 2, (2, 20, 9))
    close(arm.forward_dynamics(q, qd, arm.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    motors = by_motors(arm)
    given = q[motor_positions(arm)] + np.repeat([0.1, 0.0, 0.05], 3)
    turned = motors.assemble(given).q
    planar = machine("planar_3rrr")
    angles = []
    for more in (0.1, 0.0, 0.05):
        alone = planar.forward_kinematics(np.array(planar.mobility.reference)[motor_positions(planar)] + more).q
        angles.append(alone[2])
    found = arm.compile("link_poses", frame="high.platform")(turned)
    np.testing.assert_allclose(found[:3, 3], 0.0, atol=1e-11)
    assert np.arctan2(found[1, 0], found[0, 0]) == pytest.approx(sum(angles), abs=1e-11)


@pytest.mark.slow
def test_reactions_carry_the_weight():
    """At rest the feet on the ground bear what all links weigh, with platforms on guides and with free ones."""
    pairs = list(zip(*modules(3), strict=True))
    guided, free = hybrid(), unguided_hybrid()
    forces = []
    for arm, q in ((guided, [composed(*pair) for pair in pairs]), (free, [composed_free(*pair) for pair in pairs])):
        still = np.zeros((3, 6))
        reactions, cuts = arm.reaction_wrenches(q, still, still), arm.loop_wrenches(q, still, still)
        assert np.isfinite(reactions).all()
        assert np.isfinite(cuts).all()
        assert cuts.shape == (3, 6, 6)
        pose, names = arm.link_poses(q), list(arm.link_names)
        weight = np.tile(-arm.mass * np.array(arm.gravity), (3, 1))
        for ground in ("base", "low.base"):
            force = np.zeros((3, 3))
            for joint in arm.joints:
                if joint.parent == ground:
                    k = names.index(joint.child)
                    force += np.einsum("nij,nj->ni", pose[:, k, :3, :3], reactions[:, k, :3])
            np.testing.assert_allclose(force, weight, atol=1e-9, err_msg=ground)
        forces.append({name: reactions[:, names.index(name)] for name in ("low.platform", "high.platform")})
    for name, wrench in forces[1].items():  # nothing goes through free joints
        np.testing.assert_allclose(wrench, 0.0, atol=1e-9, err_msg=name)
    for name, moves in (("low.platform", (0, 1, 5)), ("high.platform", (0, 1, 2))):  # nor where a guide lets go
        np.testing.assert_allclose(forces[0][name][:, moves], 0.0, atol=1e-9, err_msg=name)


@functools.cache
def unguided_hybrid():
    """The same with platforms that their legs alone hold."""
    parts = [("low", unguided(machine("planar_3rrr"))), ("high", unguided(machine("delta")))]
    return neuler.stack("hybrid", parts, [MOUNT])


def composed_free(low, high):
    """Its q."""
    parts = {}
    for name, module, q in (("low", "planar_3rrr", low), ("high", "delta", high)):
        parts[f"{name}.platform"] = pose(machine(module), q)
        parts |= {
            f"{name}.{joint.name}": [x] for joint, x in zip(machine(module).moving_joints[1:], q[3:], strict=True)
        }
    return np.concatenate([parts[joint.name] for joint in unguided_hybrid().moving_joints])


@pytest.mark.slow
def test_guides_of_the_platforms_change_nothing():
    """The same motors' torques with platforms that are free but for their legs."""
    pairs = list(zip(*modules(30), strict=True))
    q, there = np.array([composed(*pair) for pair in pairs]), np.array([composed_free(*pair) for pair in pairs])
    qd, qdd = np.random.default_rng(7).uniform(-2, 2, (2, 30, 6))
    numbers = motor_numbers(hybrid())
    rates, accelerations = (x[:, numbers] for x in hybrid().tree_motion(q, qd, qdd))
    tau = hybrid().inverse_dynamics(q, qd, qdd)
    close(unguided_hybrid().inverse_dynamics(there, rates, accelerations), tau, 1e-10)
    close(unguided_hybrid().forward_dynamics(there, rates, tau), accelerations, 1e-9)


def test_masses_of_the_legs_bases_ride_along():
    """On the ground they are at rest; on a platform they are carried."""
    planar = machine("planar_3rrr")
    foot = Link.from_com("base", mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.1))
    heavy = planar_of_legs(foot)
    q, still = np.array(planar.mobility.reference), np.zeros(3)
    np.testing.assert_allclose(heavy.inverse_dynamics(q, still, still), planar.inverse_dynamics(q, still, still))
    light = neuler.stack("light", [("low", planar), ("high", planar)])
    loaded = neuler.stack("loaded", [("low", planar), ("high", heavy)])
    assert loaded.mass == pytest.approx(light.mass + 6.0)
    bodies = [(planar.links[1], np.eye(4)), *[(foot, np.eye(4))] * 3]
    same = neuler.stack("same", [("low", _with_platform(planar, bodies)), ("high", planar)])
    rng = np.random.default_rng(1)
    state = (np.array(light.mobility.reference), *rng.uniform(-2, 2, (2, 6)))
    np.testing.assert_allclose(loaded.inverse_dynamics(*state), same.inverse_dynamics(*state), rtol=1e-11)


def test_an_arm_on_a_platform():
    """A module without loops, and the platform below carries what it carries."""
    arm = robots.two_link().with_gravity((0, 0, -9.81))
    whole = neuler.stack("whole", [("low", machine("delta")), ("high", arm)], [Transform.rot_x(0.4, 0.1)])
    assert whole.mobility.independent == ("low.platform", "high.joint1", "high.joint2")
    assert (whole.nv, whole.nu, whole.nq) == (5, 5, 14)
    rng = np.random.default_rng(3)
    q, (qd, qdd) = whole.random_configuration(0, 20), rng.uniform(-2, 2, (2, 20, 5))
    tau = whole.inverse_dynamics(q, qd, qdd)
    close(whole.forward_dynamics(q, qd, tau), qdd, 1e-10)
    power = np.einsum("ni,nij,nj->n", tau, whole.actuation_matrix(q), qd)

    def energy(time):
        moved = whole.integrate(q, qd * time + qdd * time**2 / 2, np.ones(20))
        return np.sum(whole.energy(moved, qd + qdd * time), axis=0)

    close(along(energy, step=1e-4), power, 1e-9)


def test_pickling():
    arm = neuler.stack("arm", [("a", robots.delta()), ("b", robots.orthoglide())])
    assert pickle.loads(pickle.dumps(arm)) == arm
    assert arm.locate("b.base")[0] == arm.link_names.index("b.base")
