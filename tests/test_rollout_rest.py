"""Dry friction of coupled joints: rest is exact and lasts, no step makes energy, motion converges to that by events."""

import dataclasses
import itertools

import numpy as np
import pytest

import neuler
from friction_events import Events, without_coulomb
from neuler import Coupling, Joint, Link, Motor, Robot
from neuler.robot.friction import Coulomb, LoadDependent, Stribeck
from random_robots import few, later, real_files

METHODS = ("rk4", "euler", "implicit")


def and_later(machine, *others):
    """Every method on a machine; on others, which compile for longer, with the slow tests."""
    slow = [pytest.param(*each, marks=pytest.mark.slow) for each in itertools.product(others, METHODS)]
    return [*itertools.product([machine], METHODS), *slow]


def rough(robot, *levels):
    """The robot with Coulomb friction of these levels at its joints, in turn."""
    each = iter(levels * len(robot.joints))
    joints = [dataclasses.replace(j, coulomb=next(each)) if j.type.has_axis else j for j in robot.joints]
    return robot.replace(joints=joints)


def sliders(seed, **drive):
    """Five sliders on each other in any directions: a constant mass matrix that couples all of them."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("base")], []
    for k in range(5):
        links.append(Link.from_com(f"link{k}", mass=rng.uniform(0.5, 2.0), inertia=(1, 1, 1)))
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        joints.append(Joint(f"slide{k}", "prismatic", links[k].name, links[k + 1].name, axis=tuple(axis), **drive))
    return Robot("sliders", links, joints).with_gravity((0, 0, 0))


def ur5():
    path = next(path for path in real_files() if path.name == "ur5_robot.urdf")
    return rough(neuler.load(path), 20.0, 15.0, 10.0, 2.0, 1.5, 1.0)


def hua():
    """Friction on both sides of the spring, and of the motors that sit on link 1."""
    robot = rough(neuler.robots.hua_3r(), 1.0, 0.8, 0.5)
    motors = [dataclasses.replace(m, coulomb=c) for m, c in zip(robot.motors, (0.05, 0.02, 0.06), strict=True)]
    return robot.replace(motors=motors)


def total(robot, found):
    return np.sum(robot.energy(found.q, found.qd), axis=0)


def rest_lasts(found):
    """From some step on every row rests exactly, and stays where it is."""
    still = (found.qd == 0.0).all(axis=-1)
    assert still[..., -1].all()
    for row, q in zip(still.reshape(-1, still.shape[-1]), found.q.reshape(-1, *found.q.shape[-2:]), strict=True):
        first = int(np.argmax(row))
        assert row[first:].all()
        assert np.abs(q[first:] - q[-1]).max() <= 2e-15
    return still


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_that_rests_is_not_pushed_by_one_that_stops(method):
    """The second joint is held from the beginning; the first one stops when friction has taken its momentum."""
    robot = rough(neuler.robots.two_link(), 0.5).with_gravity((0, 0, 0))
    q = np.array([0.3, 0.2])
    found = robot.rollout(q, [1.0, 0.0], np.zeros((1, 2)), 1e-3, steps=5000, method=method)
    still = rest_lasts(found)
    stop = robot.mass_matrix(q)[0, 0] / 0.5
    assert abs(1e-3 * (1 + np.argmax(still)) - stop) <= 1e-3
    assert (found.q[:, 1] == 0.2).all()
    assert (np.diff(robot.energy(found.q, found.qd).kinetic) <= 0.0).all()
    way = 0.5 * stop if method != "euler" else 0.5 * (stop - 1e-3)
    assert found.q[-1, 0] == pytest.approx(0.3 + way, abs=1e-12 if method != "euler" else 1e-3)


@pytest.mark.parametrize("method", few(METHODS, 1))
def test_a_puma_comes_to_rest_wherever_it_starts(method):
    robot = neuler.robots.puma560()
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-2, 2, (16, 6)), rng.normal(size=(16, 6))
    found = robot.rollout(q, qd, np.zeros((1, 6)), 2e-3, steps=6000, method=method)
    assert not found.status.any()
    rest_lasts(found)
    steps = np.diff(total(robot, found), axis=-1)
    free = without_coulomb(robot)
    states = [x[:, :-1].reshape(-1, 6) for x in (found.q, found.qd)]
    gained = total(robot, free.rollout(*states, np.zeros((1, 6)), 2e-3, steps=1, method=method))[:, 0]
    gained = (gained - np.sum(robot.energy(*states), axis=0)).reshape(steps.shape)
    assert (steps <= np.maximum(gained, 0.0) + 1e-12).all()


@pytest.mark.parametrize("method", few(METHODS, 1))
def test_a_controlled_arm_comes_to_rest_at_the_edge_of_its_cone(method):
    """Where friction ends the last of an exponential approach, it ends it exactly."""
    robot = neuler.robots.puma560()
    rng = np.random.default_rng(1)
    hold = neuler.control.GravityPD(robot, kp=100.0, kd=20.0, reference=np.zeros(6))
    q, qd = rng.uniform(-2, 2, (4, 6)), rng.normal(size=(4, 6))
    found = robot.rollout(q, qd, hold, 2e-3, steps=6000, method=method)
    rest_lasts(found)


LAWS = {
    "coulomb": {"coulomb": 0.5},
    "one way": {"coulomb": 0.3, "coulomb_reverse": 0.9},
    "stribeck": {"friction": Stribeck(coulomb=0.3, static=0.7, speed=0.1)},
    "load": {"friction": LoadDependent(load=0.3, coulomb=0.4)},
    "both": {"coulomb": 0.2, "friction": Coulomb(0.3, viscous=0.1)},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("seed", "law"), [(0, law) for law in LAWS] + [
    pytest.param(seed, law, marks=pytest.mark.slow) for seed in (1, 2) for law in LAWS
])  # fmt: skip
def test_with_a_constant_mass_matrix_energy_never_rises(seed, law, method):
    robot = sliders(seed, **LAWS[law])
    qd = 0.3 * np.random.default_rng(seed).normal(size=(16, 5))
    found = robot.rollout(np.zeros((16, 5)), qd, np.zeros((1, 5)), 4e-3, steps=8000, method=method)
    start = robot.energy(np.zeros((16, 5)), qd).kinetic[:, None]
    energy = np.concatenate([start, robot.energy(found.q, found.qd).kinetic], axis=1)
    assert (np.diff(energy, axis=1) <= 1e-15 * start).all()
    rest_lasts(found)


@pytest.mark.parametrize("method", few(METHODS, 1))
def test_the_work_of_dry_friction_is_never_positive(method):
    """Under changing forces, of a constant mass matrix: what energy gains, less what the forces give."""
    robot = sliders(7, coulomb=0.5, coulomb_reverse=0.8)
    rng = np.random.default_rng(3)
    tau = np.repeat(1.2 * rng.normal(size=(16, 40, 5)), 25, axis=1)
    free = without_coulomb(robot)
    found = robot.rollout(np.zeros((16, 5)), np.zeros(5), tau, 1e-3, method=method)
    q, qd = (np.concatenate([np.zeros((16, 1, 5)), x], axis=1) for x in (found.q, found.qd))
    mass = robot.mass_matrix(np.zeros(5))
    impulse = 1e-3 * tau - np.diff(qd, axis=1) @ mass  # of friction, in every step
    assert (impulse <= 1e-3 * 0.5 * (1 + 1e-9)).all()
    assert (impulse >= -1e-3 * 0.8 * (1 + 1e-9)).all()
    assert 0.05 < (found.qd == 0.0).mean() < 0.95
    kinetic = robot.energy(q, qd).kinetic
    given = np.einsum("...i,...i->...", tau, np.diff(q, axis=1))
    if method == "euler":  # the way of its steps is that of the velocity at their end
        given = given - 0.5e-3 * np.einsum("...i,...i->...", tau, np.diff(qd, axis=1))
    assert (np.diff(kinetic, axis=1) - given <= 1e-3 * np.abs(given) + 1e-9).all()
    assert free.without_friction() == free


CASES = {
    "two_link": (lambda: rough(neuler.robots.two_link(), 0.5), [0.3, 0.2], [1.0, -2.0], 1.0),
    "puma": (neuler.robots.puma560, [0.1, 0.5, -0.3, 0.2, 0.3, 0.1], [1.0, -2.0, 0.5, 3.0, -2.0, 1.0], 0.5),
    "ur5": (ur5, [0.1, -1.0, 1.2, 0.3, 0.5, 0.2], [1.0, 0.5, -1.0, 2.0, -1.0, 1.0], 0.5),
    "four_bar": (lambda: rough(neuler.robots.four_bar(), 0.5), None, [3.0], 1.0),
    "hua_3r": (hua, [0.2, 0.5, -0.4, -0.4], [1.0, -0.5, 0.8, 0.0], 1.0),
}


@pytest.mark.parametrize("name", later(CASES, "puma", "ur5", "hua_3r", "four_bar"))
def test_motion_converges_to_that_by_events(name):
    make, q, qd, duration = CASES[name]
    robot = make()
    q = robot.neutral() if q is None else np.array(q)
    expected, _, changes = Events(robot, np.zeros(robot.nu)).run(q, qd, duration)
    assert changes >= 2
    for method, least in (("euler", 0.8), ("rk4", 1.2), ("implicit", 1.2)):
        errors = []
        for dt in (4e-3, 1e-3, 2.5e-4):
            found = robot.rollout(q, qd, np.zeros((1, robot.nu)), dt, steps=round(duration / dt), method=method)
            errors.append(np.abs(found.q[-1] - expected).max())
        order = np.log(errors[0] / max(errors[-1], 1e-12)) / np.log(16)
        assert order > least, (method, errors)
        assert errors[-1] < (2e-2 if method == "euler" else 2e-6), (method, errors)


def test_one_joint_that_stops_is_right_to_rounding():
    """Constant deceleration: the stop within a step, too, is found exactly."""
    robot = rough(neuler.robots.two_link(), 0.5).with_gravity((0, 0, 0))
    inertia = robot.mass_matrix([0.0, 0.2])[0, 0]
    for dt in (7e-3, 1.1e-3):
        found = robot.rollout([0.0, 0.2], [1.0, 0.0], np.zeros((1, 2)), dt, steps=round(1.5 / dt))
        assert found.q[-1, 0] == pytest.approx(inertia / (2 * 0.5), rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", few([1e12, 1e3, 1e5, 1e7], 1))
def test_a_brake_of_any_strength_stops_and_makes_no_energy(level, method):
    """Friction that stops a joint in a small part of a step acts as an impact: v minimises (v - v*)^T M (v - v*)."""
    robot = neuler.robots.two_link()
    joints = [dataclasses.replace(joint, coulomb=c) for joint, c in zip(robot.joints, (0.0, level), strict=True)]
    robot = robot.replace(joints=joints)
    q, qd = np.array([0.3, 0.8]), np.array([1.0, 2.0])
    found = robot.rollout(q, qd, np.zeros((1, 2)), 1e-3, steps=5, method=method)
    mass = robot.mass_matrix(q)
    assert not found.status.any()
    assert (found.qd[:, 1] == 0.0).all()
    assert found.qd[0, 0] == pytest.approx(qd[0] + mass[0, 1] / mass[0, 0] * qd[1], rel=2e-3)
    energy = robot.energy(found.q, found.qd).kinetic
    assert energy[0] <= robot.energy(q, qd).kinetic
    assert (np.diff(energy) <= 1e-12).all()


# ---- friction that acts on several velocities ---------------------------------------------------------


def differential():
    """A joint that turns with the difference of two others, friction at all of them."""
    chain = neuler.robots.general_chain(4)
    first, second, _, last = chain.joint_names
    return rough(chain, 0.5).replace(couplings=[Coupling(last, (first, second), (1.0, -0.7))]).with_gravity((0, 0, 0))


@pytest.mark.parametrize("method", METHODS)
def test_a_differential_is_held_by_friction_at_its_output(method):
    robot = differential()
    chain = robot.joints
    robot = robot.replace(
        joints=[dataclasses.replace(j, coulomb=3.0 if j.name == chain[3].name else 0.0, viscous=0.05) for j in chain]
    )
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (6, 3)), rng.normal(size=(6, 3))
    found = robot.rollout(q, qd, np.zeros((1, 3)), 1e-3, steps=1500, method=method)
    rate = found.qd @ [1.0, -0.7, 0.0]
    scale = np.abs(found.qd).max(axis=-1)
    assert (np.abs(rate[:, -500:]) <= 1e-9 * scale[:, -500:]).all()  # it rests while the others move
    assert (scale[:, -1] > 1e-3).all()
    assert (np.diff(total(robot, found), axis=-1) <= 1e-13).all()


@pytest.mark.parametrize(("make", "method"), and_later(neuler.robots.slider_crank, differential, neuler.robots.delta))
def test_slides_of_several_velocities_come_to_rest(make, method):
    """Also where there are more of them than velocities: of a delta robot every joint of its legs."""
    robot = make()
    robot = rough(robot, 0.3).with_gravity((0, 0, 0)) if robot.loops else robot
    rng = np.random.default_rng(0)
    q = np.stack([robot.neutral()] * 4)
    found = robot.rollout(q, 0.2 * rng.normal(size=(4, robot.nv)), np.zeros((1, robot.nu)), 1e-3, 1500, method)
    assert not found.status.any()
    rest_lasts(found)
    assert (np.diff(total(robot, found), axis=-1) <= 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_a_differential_holds_does_not_creep(method):
    """Two sliders whose difference is held, under constant forces: they go on together, as one body would."""
    links = [
        Link("base"),
        *(Link.from_com(n, mass=m, inertia=(1, 1, 1)) for n, m in (("a", 1.0), ("b", 2.0), ("c", 0.5))),
    ]
    joints = [
        Joint("x", "prismatic", "base", "a", axis=(1, 0, 0)),
        Joint("y", "prismatic", "base", "b", axis=(0.6, 0.8, 0)),
        Joint("z", "prismatic", "base", "c", axis=(0, 1, 0), coulomb=1.0),
    ]
    couplings = [Coupling("z", ["x", "y"], [1.0, -0.7])]
    robot = Robot("sliders", links, joints, couplings=couplings, gravity=(0, 0, 0))
    found = robot.rollout([0.0, 0.0], [0.0, 0.0], [[0.5, 0.3]], 1e-3, steps=1000, method=method)
    along = np.array([0.7, 1.0])  # z stands still
    pushed = along @ [0.5, 0.3] / (along @ robot.mass_matrix([0.0, 0.0]) @ along)
    late = 1.001 if method == "euler" else 1.0
    np.testing.assert_allclose(found.q[-1], 0.5 * late * pushed * along, rtol=1e-11)
    assert np.abs(found.q @ [1.0, -0.7]).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "method"), and_later(neuler.robots.two_link, neuler.robots.puma560, neuler.robots.delta)
)
def test_rows_do_not_depend_on_their_neighbours(make, method):
    robot = rough(make(), 0.3)
    rng = np.random.default_rng(1)
    q, qd = np.stack([robot.neutral()] * 5), rng.uniform(-2, 2, (5, robot.nv))
    qd[1] = 0.0
    together = robot.rollout(q, qd, np.zeros((1, robot.nu)), 1e-3, steps=200, method=method)
    for row in range(5):
        alone = robot.rollout(q[row], qd[row], np.zeros((1, robot.nu)), 1e-3, steps=200, method=method)
        np.testing.assert_array_equal(alone.q, together.q[row])
        np.testing.assert_array_equal(alone.qd, together.qd[row])


def test_a_motor_on_another_link_is_held_by_its_own_friction():
    motors = [Motor("m", "joint2", 50.0, carrier="base", axis=(0, 1, 0), inertia=1e-4, coulomb=0.02)]
    robot = neuler.robots.two_link().with_gravity((0, 0, 0)).replace(motors=motors)
    found = robot.rollout([0.3, 0.2], [1.0, 0.3], np.zeros((1, 2)), 1e-3, steps=2000)
    assert (found.qd[-1, 1] == 0.0).all()
    assert found.qd[-1, 0] != 0.0  # nothing holds the first joint


# ---- what is not finite --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("speed", few([0.4, 0.0], 1))
@pytest.mark.parametrize("source", ["tau", "controller", "wrench", "reference"])
@pytest.mark.parametrize("value", few([np.nan, -np.inf, np.inf], 1))
def test_friction_hides_nothing_that_is_not_finite(source, value, speed, method):
    robot = rough(neuler.robots.two_link(), 50.0).with_frame("tip", "link2")
    later = (lambda t: neuler.math.where(neuler.math.less(t, 2.5e-3), 0.0, value)) if source != "tau" else None
    options, tau = {}, np.zeros((6, 2))
    if source == "tau":
        tau[3:, 1] = value
    elif source == "controller":
        tau = lambda t, q, qd, memory, reference: (np.array([0.0, later(t)]), memory)  # noqa: E731
    elif source == "wrench":
        options["external"] = {"tip": lambda t, q, qd: np.array([later(t), 0, 0, 0, 0, 0], dtype=object)}
    else:
        goal = np.zeros((6, 2))
        goal[3:, 1] = value
        options["reference"] = goal
        tau = lambda t, q, qd, memory, reference: (0.1 * (reference - q), memory)  # noqa: E731
    found = robot.rollout([0.3, 0.2], [speed, 0.0], tau, 1e-3, steps=6, method=method, **options)
    assert found.status == (5 if source in ("controller", "reference") else 1)
    step = int(found.step)
    assert step in (3, 4)  # wrenches are asked for within steps, too
    assert np.isnan(found.q[step - 1 :]).all()
    assert np.isfinite(found.q[: step - 1]).all()
