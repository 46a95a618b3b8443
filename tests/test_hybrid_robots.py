"""Hybrid robots: parallel modules in series, each on the platform of the one below."""

import functools
import pickle

import numpy as np
import pytest

import neuler
from neuler import Link, Transform, robots
from parallel_machines import machine, matrix, poses, screws
from random_robots import along, close

MOUNT = Transform.from_rpy((0.05, 0.02, 0.3), (0.9, 0.3, -0.4))


@functools.cache
def hybrid():
    """A planar machine that carries a Delta, askew."""
    return neuler.stack("hybrid", [("low", machine("planar_3rrr")), ("high", machine("delta"))], [MOUNT])


@functools.cache
def tower():
    return neuler.stack("tower", [(name, machine("planar_3rrr")) for name in ("low", "mid", "high")])


def pose_of(numbers):
    return Transform.from_quaternion(numbers[:3], numbers[3:7])


def composed(low, high):
    """q of the hybrid from positions of its modules, each of them alone, in the order of its joints."""
    ground = pose_of(low) @ MOUNT @ pose_of(high)
    parts = {"low.platform": low[:7], "high.platform": [*ground.translation, *ground.quaternion]}
    for name, module, q in (("low", "planar_3rrr", low), ("high", "delta", high)):
        names = [joint.name for joint in machine(module).mechanism.tree.moving_joints[1:]]
        parts |= {f"{name}.{joint}": [x] for joint, x in zip(names, q[7:], strict=True)}
    return np.concatenate([parts[joint.name] for joint in hybrid().tree.moving_joints])


def modules(count, seed=0):
    """Positions of both modules alone."""
    low = machine("planar_3rrr").inverse_kinematics(poses("planar_3rrr", count, seed)).q
    return low, machine("delta").inverse_kinematics(poses("delta", count, seed + 1)).q


def test_freedoms_add_up():
    for names in (("gough_stewart", "delta"), ("delta", "delta"), ("orthoglide", "planar_3rrr", "delta")):
        given = [(f"part{k}", machine(name)) for k, name in enumerate(names)]
        arm = neuler.stack("arm", given, [Transform.rot_x(0.3, 0.1)] * (len(names) - 1))
        expected = [machine(name).mechanism.mobility.freedoms for name in names]
        assert arm.mobility.freedoms == sum(expected) == len(arm.active_names)
        motors = [f"{key}.{motor}" for key, robot in given for motor in robot.active_names]
        assert list(arm.active_names) == list(arm.mobility.independent) == motors  # in the order of the modules
        assert arm.tree.mass == pytest.approx(sum(robot.mechanism.tree.mass for _, robot in given))
        assert arm.tree.gravity == given[0][1].gravity


def test_positions_are_those_of_the_modules():
    q = np.array([composed(*pair) for pair in zip(*modules(5), strict=True)])
    assert np.abs(hybrid().closure(q)[0]).max() < 1e-11
    numbers = [k for k, joint in enumerate(_positions()) if joint in hybrid().active_names]
    near = hybrid().tree.integrate(q, np.full((5, hybrid().nv), 1e-3), np.ones(5))
    found = hybrid().assemble(q[:, numbers], near)
    np.testing.assert_allclose(found.q, q, atol=1e-10)
    reference = composed(*(np.array(machine(name).mechanism.mobility.reference) for name in ("planar_3rrr", "delta")))
    np.testing.assert_allclose(hybrid().mobility.reference, reference, atol=1e-11)


def _positions():
    return [joint.name for joint in hybrid().tree.moving_joints for _ in range(joint.nq)]


def test_forward_undoes_inverse():
    q = np.array([composed(*pair) for pair in zip(*modules(50), strict=True)])
    qd, qdd = np.random.default_rng(2).uniform(-2, 2, (2, 50, 6))
    tau = hybrid().inverse_dynamics(q, qd, qdd)
    close(hybrid().forward_dynamics(q, qd, tau), qdd, 1e-10)


def test_on_a_locked_module():
    """The upper motors' torques are those of the upper robot alone, under gravity as its tilted base sees it."""
    low, high = modules(8)
    q = np.array([composed(*pair) for pair in zip(low, high, strict=True)])
    v, vd = screws("delta", 8, 4), screws("delta", 8, 5, 5.0)
    delta = machine("delta")
    rates, accelerations = delta.leg_motion(high, v, vd)
    zero = np.zeros((8, 3))
    qd, qdd = np.concatenate([zero, rates[:, ::3]], axis=-1), np.concatenate([zero, accelerations[:, ::3]], axis=-1)
    tau = hybrid().inverse_dynamics(q, qd, qdd)
    for k in range(8):
        base = np.array((pose_of(low[k]) @ MOUNT).rotation)
        tilted = delta.with_gravity(base.T @ hybrid().tree.gravity)
        alone = tilted.inverse_dynamics(high[k], v[k], vd[k])
        np.testing.assert_allclose(tau[k, 3:], alone, rtol=0, atol=1e-11 * np.abs(alone).max())


def test_under_a_locked_module():
    """The lower motors' torques are those of a lower robot whose platform is heavier by the upper one, frozen."""
    low, high = modules(6)
    q = np.array([composed(*pair) for pair in zip(low, high, strict=True)])
    v, vd = screws("planar_3rrr", 6, 4), screws("planar_3rrr", 6, 5, 5.0)
    planar = machine("planar_3rrr")
    rates, accelerations = planar.leg_motion(low, v, vd)
    zero = np.zeros((6, 3))
    qd, qdd = np.concatenate([rates[:, ::2], zero], axis=-1), np.concatenate([accelerations[:, ::2], zero], axis=-1)
    tau = hybrid().inverse_dynamics(q, qd, qdd)
    tree = machine("delta").mechanism.tree
    for k in range(2):
        bodies = [(planar.platform, np.eye(4))]
        bodies += [(link, MOUNT.matrix @ pose) for link, pose in zip(tree.links, tree.link_poses(high[k]), strict=True)]
        heavier = planar.replace(platform=_together(bodies))
        alone = heavier.inverse_dynamics(low[k], v[k], vd[k])
        np.testing.assert_allclose(tau[k, :3], alone, rtol=0, atol=1e-11 * np.abs(alone).max())


def _together(bodies):
    """One link of several, each at a place (4, 4)."""
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for link, place in bodies:
        r, com = place[:3, :3], place[:3, :3] @ np.array(link.com) + place[:3, 3]
        mass, moment = mass + link.mass, moment + link.mass * com
        inertia += r @ link.inertia_about_com @ r.T + link.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Link("platform", mass, tuple(moment), inertia)


def test_power_of_the_motors_is_the_rate_of_energy():
    arm = hybrid()
    names = [joint.name for joint in arm.tree.moving_joints for _ in range(joint.nq)]
    start = np.array(arm.mobility.reference)[[names.index(name) for name in arm.active_names]]
    n = len(start)
    rng = np.random.default_rng(3)
    size, rate, phase = rng.uniform(0.05, 0.15, n), rng.uniform(1, 3, n), rng.uniform(0, 6, n)

    def motion(time):
        q = arm.assemble(start + size * np.sin(rate * time + phase)).q
        return q, size * rate * np.cos(rate * time + phase), -size * rate**2 * np.sin(rate * time + phase)

    def energy(time):
        q, qd, qdd = motion(time)
        return float(np.sum(arm.tree.energy(q, arm.tree_motion(q, qd, qdd)[0])))

    for time in (0.2, 1.1):
        q, qd, qdd = motion(time)
        power = arm.inverse_dynamics(q, qd, qdd) @ qd
        assert abs(power) > 1e-3
        assert power == pytest.approx(along(energy, time), rel=1e-8)


def test_three_modules():
    arm = tower()
    assert arm.mobility.freedoms == 9
    q = np.array(arm.mobility.reference)
    rng = np.random.default_rng(4)
    qd, qdd = rng.uniform(-2, 2, (2, 20, 9))
    close(arm.forward_dynamics(q, qd, arm.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    names = [joint.name for joint in arm.tree.moving_joints for _ in range(joint.nq)]
    top = names.index("high.platform")
    turned = arm.assemble(q[[names.index(name) for name in arm.active_names]] + np.repeat([0.1, 0.0, 0.05], 3)).q
    planar = machine("planar_3rrr")
    angles = []
    for more in (0.1, 0.0, 0.05):
        alone = planar.forward_kinematics(np.array(planar.mechanism.mobility.reference)[[7, 9, 11]] + more).q
        angles.append(2 * np.arctan2(alone[5], alone[6]))
    np.testing.assert_allclose(turned[top : top + 3], 0.0, atol=1e-11)
    found = matrix(turned[top + 3 : top + 7])
    assert np.arctan2(found[1, 0], found[0, 0]) == pytest.approx(sum(angles), abs=1e-11)


def test_reactions_carry_the_weight():
    """At rest the feet on the ground bear what all links weigh; nothing goes through the platforms' free joints."""
    arm = hybrid()
    q = np.array([composed(*pair) for pair in zip(*modules(3), strict=True)])
    still = np.zeros((3, 6))
    reactions, cuts = arm.reaction_wrenches(q, still, still)
    assert np.isfinite(reactions).all()
    assert np.isfinite(cuts).all()
    assert cuts.shape == (3, 6, 6)
    pose, names = arm.tree.link_poses(q), list(arm.tree.link_names)
    force = np.zeros((3, 3))
    for joint in arm.tree.joints:
        if joint.parent == "base":
            k = names.index(joint.child)
            force += np.einsum("nij,nj->ni", pose[:, k, :3, :3], reactions[:, k, :3])
    weight = -arm.tree.mass * np.array(arm.tree.gravity)
    np.testing.assert_allclose(force, np.tile(weight, (3, 1)), atol=1e-9)
    for name in ("low.platform", "high.platform"):
        np.testing.assert_allclose(reactions[:, names.index(name)], 0.0, atol=1e-9)


def test_masses_of_the_legs_bases_ride_along():
    """On the ground they are at rest; on a platform they are carried."""
    planar = machine("planar_3rrr")
    legs = []
    for leg in planar.legs:
        foot = Link.from_com("base", mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.1))
        legs.append(neuler.Leg(leg.name, leg.chain.replace(links=[foot, *leg.chain.links[1:]]), leg.tip, leg.kind,
                               leg.attachment, leg.reference))  # fmt: skip
    heavy = planar.replace(legs=legs)
    q = np.array(planar.mechanism.mobility.reference)
    np.testing.assert_allclose(
        heavy.inverse_dynamics(q, np.zeros(6), np.zeros(6)), planar.inverse_dynamics(q, np.zeros(6), np.zeros(6))
    )
    light = neuler.stack("light", [("low", planar), ("high", planar)])
    loaded = neuler.stack("loaded", [("low", planar), ("high", heavy)])
    assert loaded.tree.mass == pytest.approx(light.tree.mass + 6.0)
    bodies = [(planar.platform, np.eye(4))]
    bodies += [(leg.chain.links[0], np.eye(4)) for leg in legs]
    same = neuler.stack("same", [("low", planar.replace(platform=_together(bodies))), ("high", planar)])
    rng = np.random.default_rng(1)
    state = (np.array(light.mobility.reference), *rng.uniform(-2, 2, (2, 6)))
    np.testing.assert_allclose(loaded.inverse_dynamics(*state), same.inverse_dynamics(*state), rtol=1e-11)


def test_pickling():
    arm = neuler.stack("arm", [("a", robots.delta()), ("b", robots.orthoglide())])
    assert pickle.loads(pickle.dumps(arm)) == arm
    assert arm.tree.locate("b.base")[0] == arm.tree.link_names.index("b.base")
