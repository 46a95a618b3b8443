"""Controllers of rigid robots: the equations that their closed loops obey, other libraries' torques, and runs."""

import dataclasses
import pickle

import numpy as np
import pytest

import neuler
from control_runs import derivative, run
from every_robot import made, states
from kind_robots import kind_robot
from neuler import InputError, Joint, Link, RobotError, control
from neuler.control import AdaptiveSlotineLi, ComputedTorque, GravityPD, Reference, SlotineLi, quintic, sines
from random_robots import close, friction_of, random_robot, random_states

SEEDS = range(3)
STEWART = pytest.param("gough_stewart", marks=pytest.mark.slow)
LOOPED = ("four_bar", "five_bar", "sr400", "delta", STEWART, "geared")


def all_driven(robot):
    """With motors at all joints, springs kept."""
    return robot.replace(
        joints=[j if j.type.always_passive else dataclasses.replace(j, role="driven") for j in robot.joints]
    )


def own(robot, q):
    return np.asarray(q)[..., robot.coordinates.own.places]


def flat(q, *more):
    """A reference for every row."""
    return np.concatenate([np.broadcast_to(x, (*np.shape(more[0])[:-1], np.shape(x)[-1])) for x in (q, *more)], axis=-1)


# ---- the way from one position to another ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_ways_of_traced_positions_are_differences(seed):
    """Free and spherical joints too: the logarithm over any scalar is that of arrays."""
    robot = kind_robot(seed)
    a, b = robot.random_configuration(seed, (2, 40))
    b[0], b[1] = a[0], robot.integrate(a[1], np.full(robot.nv, 1e-3), 1.0)
    every = robot.coordinates.own
    way = neuler.function(lambda x, y: every.difference(x, y), {"x": robot.nq, "y": robot.nq})
    np.testing.assert_allclose(way(a, b), robot.difference(a, b), atol=2e-13)


# ---- computed torque ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_computed_torque_leaves_a_linear_equation(seed):
    """e'' + kd e' + kp e = 0 at every state, friction, springs and rotors included."""
    robot = random_robot(seed)
    q, qd, qdd_d = random_states(robot, 20, seed)
    q_d, qd_d, _ = random_states(robot, 20, seed + 100)
    rng = np.random.default_rng(seed)
    kp, kd = rng.uniform(10, 100, robot.nv), rng.uniform(1, 20, robot.nv)
    law = ComputedTorque(robot, kp, kd)
    tau, _ = law(0.0, q, qd, reference=flat(q_d, qd_d, qdd_d))
    qdd = robot.forward_dynamics(q, qd, tau)
    close(qdd_d - qdd, -kd * (qd_d - qd) - kp * (q_d - q), 1e-10)


@pytest.mark.parametrize("name", LOOPED)
def test_computed_torque_in_loops_and_with_couplings(name):
    robot = all_driven(made(name)) if name == "geared" else made(name)
    q, qd, qdd_d = states(name)
    q_d = q[::-1]
    law = ComputedTorque(robot, 40.0)
    tau, _ = law(0.0, q, qd, reference=flat(own(robot, q_d), qd[::-1], qdd_d))
    assert tau.shape == (len(q), robot.nu)
    qdd = robot.forward_dynamics(q, qd, tau)
    error = robot.difference(q, q_d) if not robot.coordinates.own.plain else own(robot, q_d) - own(robot, q)
    close(qdd, qdd_d + 2 * np.sqrt(40) * (qd[::-1] - qd) + 40 * error, 1e-8)


def test_computed_torque_against_pinocchio():
    pin = pytest.importorskip("pinocchio")
    from pinocchio_model import columns, from_robot, positions

    robot = random_robot(3).without_friction()
    model = from_robot(robot)
    data, order = model.createData(), columns(robot, model)
    q, qd, _ = random_states(robot, 10)
    law = ComputedTorque(robot, 30.0, 8.0, reference=np.full(robot.nv, 0.1))
    told = 30.0 * (0.1 - q) - 8.0 * qd
    theirs = []
    for x, v, a in zip(positions(robot, model, q), qd, told, strict=True):
        speed, rate = np.zeros(model.nv), np.zeros(model.nv)
        speed[order], rate[order] = v, a
        theirs.append(pin.rnea(model, data, x, speed, rate)[order])
    close(law(0.0, q, qd).tau, np.array(theirs), 1e-12)


def test_joints_without_motors_are_left_loose():
    """A free base floats: no wrench on it, and the joints obey the linear equation all the same."""
    robot = neuler.robots.puma560().with_free_base()
    law = ComputedTorque(robot, 25.0)
    rng = np.random.default_rng(0)
    q, qd = robot.random_configuration(rng, 10), rng.normal(size=(10, robot.nv))
    q_d = robot.random_configuration(rng, 10)
    tau, _ = law(0.0, q, qd, reference=flat(q_d, np.zeros_like(qd), np.zeros_like(qd)))
    np.testing.assert_array_equal(tau[:, :6], 0.0)
    qdd = robot.forward_dynamics(q, qd, tau)
    close(qdd[:, 6:], 25.0 * (q_d - q)[:, 7:] - 10.0 * qd[:, 6:], 1e-9)


def test_tracking_with_computed_torque():
    """From off the path onto it; with tau held for a millisecond the error at the end is small."""
    robot = neuler.robots.puma560().without_friction()
    path = sines([0.4, 0.3, 0.5, 0.2, 0.3, 0.4], [0.5, 0.3, 0.4, 0.6, 0.5, 0.2])
    law = ComputedTorque(robot, 400.0, reference=path, period=1e-3)
    start = path(0.0)
    q0 = start[:6] + np.random.default_rng(1).uniform(-0.2, 0.2, (4, 6))
    q, qd, _, _ = run(robot, law, q0, np.broadcast_to(start[6:12], (4, 6)), 1.0)
    end = path(1.0)
    first = np.abs(q[0] - start[:6]).max()
    assert np.abs(q[-1] - end[:6]).max() < 1e-3 * first + 2e-4
    assert np.abs(qd[-1] - end[6:12]).max() < 5e-3


def test_it_is_the_same_on_numbers_alone_and_inside_a_function():
    robot = neuler.robots.puma560()
    law = ComputedTorque(robot, 100.0, reference=quintic(np.zeros(6), np.ones(6), 2.0))
    rng = np.random.default_rng(0)
    q, qd, t = rng.normal(size=(30, 6)), rng.normal(size=(30, 6)), rng.uniform(0, 3, 30)
    inside = neuler.function(lambda t, q, qd: law(t, q, qd, np.zeros(0), None)[0], {"t": (), "q": 6, "qd": 6})
    every = law(t, q, qd).tau
    np.testing.assert_allclose(inside(t, q, qd), every, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(law(t[3], q[3], qd[3]).tau, every[3], rtol=1e-12, atol=1e-10)
    plan = law.reference(t)
    told = plan[:, 12:] + 20 * (plan[:, 6:12] - qd) + 100 * (plan[:, :6] - q)
    np.testing.assert_allclose(every, robot.inverse_dynamics(q, qd, told), rtol=1e-11, atol=1e-10)
    bare = law.function()
    assert [x.name for x in bare.inputs] == ["t", "q", "qd"]
    assert law.memory == 0
    assert len(law(t, q, qd).memory) == 0
    slope = bare.jacobian("qd")(t[0], q[0], qd[0])  # with the derivatives of a function
    M = robot.mass_matrix(q[0])
    bend = robot.inverse_dynamics_sensitivities(q[0], qd[0], told[0]).dtau_dqd
    np.testing.assert_allclose(slope, bend - 20 * M, rtol=1e-9, atol=1e-9)


# ---- PD with gravity compensation ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_pd_takes_energy_away(seed):
    """V = qd.M qd / 2 + e.kp e / 2 falls by qd.kd qd and by friction, at every state."""
    robot = random_robot(seed)
    q, qd, _ = random_states(robot, 10, seed)
    q_d = random_states(robot, 1, seed + 7)[0][0]
    rng = np.random.default_rng(seed)
    kp, kd = rng.uniform(5, 50, robot.nv), rng.uniform(0, 5, robot.nv)
    law = GravityPD(robot, kp, kd, reference=q_d)
    qdd = robot.forward_dynamics(q, qd, law(0.0, q, qd).tau)
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    pushed = (M @ qdd[..., None] + C @ qd[..., None])[..., 0]  # qd . this is the rate of the kinetic energy
    rate = (qd * pushed).sum(axis=-1) - (qd * kp * (q_d - q)).sum(axis=-1)
    lost = (kd * qd**2).sum(axis=-1) + (qd * friction_of(robot, qd)).sum(axis=-1)
    close(rate, -lost, 1e-9)


def test_gravity_pd_holds_where_it_is_told():
    robot = neuler.robots.puma560()
    goal = np.array([0.3, -0.6, 0.5, 0.2, 0.4, -0.1])
    law = GravityPD(robot, [400, 400, 200, 30, 30, 20], [60, 60, 30, 5, 5, 3], reference=goal, period=2e-3)
    q, qd, tau, _ = run(robot.without_friction(), law, goal + 0.3 * np.ones((2, 6)), np.zeros((2, 6)), 3.0, 2e-3)
    assert np.abs(q[-1] - goal).max() < 1e-3
    assert np.abs(qd[-1]).max() < 1e-2
    np.testing.assert_allclose(tau[-1], np.broadcast_to(robot.gravity_force(goal), (2, 6)), atol=0.1)


@pytest.mark.parametrize("name", ["five_bar", "delta", "gough_stewart"])
def test_gravity_pd_in_loops(name):
    """Along the robot's own velocities: the motors' forces do as much as springs and dampers there would."""
    robot = made(name)
    q, qd, _ = states(name)
    law = GravityPD(robot, 50.0, 5.0)
    q_d = q[::-1]
    tau, _ = law(0.0, q, qd, reference=flat(own(robot, q_d), np.zeros_like(qd)))
    felt = (np.swapaxes(robot.actuation_matrix(q), -2, -1) @ tau[..., None])[..., 0]
    error = robot.difference(q, q_d) if not robot.coordinates.own.plain else own(robot, q_d) - own(robot, q)
    close(felt, robot.gravity_force(q) + 50.0 * error - 5.0 * qd, 1e-9)


# ---- Slotine and Li --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_slotine_li_by_its_matrices(seed):
    """tau = M a + C(q, qd) v + g + f(v) + k s, each term by its own verb."""
    robot = random_robot(seed)
    q, qd, qdd_d = random_states(robot, 10, seed)
    q_d, qd_d, _ = random_states(robot, 10, seed + 50)
    law = SlotineLi(robot, 3.0, 12.0)
    v = qd_d + 3.0 * (q_d - q)
    a, s = qdd_d + 3.0 * (qd_d - qd), v - qd
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    expected = (M @ a[..., None] + C @ v[..., None])[..., 0] + robot.gravity_force(q) + friction_of(robot, v) + 12.0 * s
    close(law(0.0, q, qd, reference=flat(q_d, qd_d, qdd_d)).tau, expected, 1e-11)


@pytest.mark.parametrize("name", ["five_bar", "sr400", STEWART, "geared", "puma560"])
def test_slotine_li_is_passive(name):
    """M ds/dt + C s + k s = 0 without friction, so V = s.M s / 2 falls by s.k s; loops and couplings too."""
    robot = all_driven(made(name)).without_friction()
    q, qd, qdd_d = states(name)
    law = SlotineLi(robot, 4.0, 10.0)
    q_d, qd_d = q[::-1], qd[::-1]
    tau, _ = law(0.0, q, qd, reference=flat(own(robot, q_d), qd_d, qdd_d))
    qdd = robot.forward_dynamics(q, qd, tau)
    plain = robot.coordinates.own.plain
    error = own(robot, q_d) - own(robot, q) if plain else robot.difference(q, q_d)
    s = qd_d + 4.0 * error - qd
    rate = qdd_d + 4.0 * (qd_d - qd) - qdd
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    residual = (M @ rate[..., None] + C @ s[..., None])[..., 0] + 10.0 * s
    scale = np.abs(M @ rate[..., None]).max() + 10 * np.abs(s).max()
    assert np.abs(residual).max() < 1e-9 * scale
    turned = np.stack([derivative(robot, robot.mass_matrix, q[k], qd[k]) for k in range(len(q))])
    skew = (s[..., None, :] @ (turned - 2 * C) @ s[..., None])[..., 0, 0]
    assert np.abs(skew).max() < 1e-7 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_the_adaptive_law_learns_along_the_regressor(seed):
    """dp = period rate Y^T s with Y by differentiation; and M ds/dt + C s = Y (p0 - p) - k s."""
    robot = random_robot(seed).without_friction()
    names = ("payload:tool", robot.link_names[-1])
    law = AdaptiveSlotineLi(robot, 3.0, 12.0, names, rate=0.5, period=0.01)
    assert law.memory == 20
    rng = np.random.default_rng(seed)
    q, qd, qdd_d = random_states(robot, 6, seed)
    q_d, qd_d, _ = random_states(robot, 6, seed + 50)
    p = law.memory0 + 0.2 * rng.normal(size=(6, 20))
    tau, after = law(0.0, q, qd, p, flat(q_d, qd_d, qdd_d))
    v = qd_d + 3.0 * (q_d - q)
    a, s = qdd_d + 3.0 * (qd_d - qd), v - qd
    mass, force = (robot.compile(x, parameters=names) for x in ("mass_matrix", "gravity_force"))
    coriolis = robot.compile("coriolis_matrix", parameters=names)

    def model(p):
        both = mass(q, p) @ a[..., None] + coriolis(q, qd, p) @ v[..., None]
        return both[..., 0] + force(q, p)

    units = np.eye(20)
    Y = np.stack([model(p + unit) - model(p) for unit in units], axis=-1)  # linear: no step is too long
    close(after - p, 0.01 * 0.5 * (s[:, None] @ Y)[:, 0], 1e-9)
    close(tau, model(p) + 12.0 * s, 1e-10)
    qdd = robot.forward_dynamics(q, qd, tau)
    rate = qdd_d + 3.0 * (qd_d - qd) - qdd
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    left = (M @ rate[..., None] + C @ s[..., None])[..., 0]
    right = (Y @ (law.memory0 - p)[..., None])[..., 0] - 12.0 * s
    close(left, right, 1e-8)


@pytest.mark.slow
def test_an_unknown_payload_is_learnt():
    """Tracking gets better than without learning, and the mass comes out."""
    robot = neuler.robots.puma560().without_friction()
    plant = robot.with_payload("link6", 3.0, com=(0.0, 0.0, 0.08))
    path = sines([0.5, 0.4, 0.5, 0.5, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    gains = {"lam": 8.0, "k": [30, 30, 15, 3, 3, 2], "reference": path}
    rate = np.array([30.0, 1, 1, 1, *[0.0] * 6])
    learning = AdaptiveSlotineLi(
        robot, parameters="payload:link6", rate=rate, period=2e-3, lower=[0, *[-9] * 9], **gains
    )
    start = path(0.0)
    state = start[:6], start[6:12]
    q, _, _, p = run(robot, learning, *state, 6.0, 2e-3, plant)
    fixed, _, _, _ = run(robot, SlotineLi(robot, **gains), *state, 6.0, 2e-3, plant)
    times = 2e-3 * np.arange(len(q))
    off, plain = (np.abs(x - path(times)[:, :6])[-1000:].max() for x in (q, fixed))
    assert off < 0.15 * plain
    assert abs(p[0] - 3.0) < 0.3
    assert abs(p[3] - 0.24) < 0.1


def test_estimates_stay_between_their_bounds():
    robot = neuler.robots.two_link()
    law = AdaptiveSlotineLi(
        robot, 5.0, 5.0, ["joint1.viscous", "link2.mass"], 1e6, 1e-3, reference=[0.3, 0.1],
        start=[0.2, 1.0], lower=[0.1, -np.inf], upper=[0.4, np.inf],
    )  # fmt: skip
    _, p = law(0.0, np.zeros((50, 2)), np.random.default_rng(0).normal(size=(50, 2)))
    assert p[:, 0].min() == 0.1
    assert p[:, 0].max() == 0.4


# ---- who is refused, and how ------------------------------------------------------------------------------------


def test_robots_without_enough_motors():
    floating = neuler.robots.two_link().with_free_base()
    for make in (lambda r: GravityPD(r, 1.0, 1.0), lambda r: SlotineLi(r, 1.0, 1.0)):
        with pytest.raises(
            RobotError, match=r"no motor drives 'root_joint' of robot 'two_link'.*ComputedTorque leaves"
        ):
            make(floating)
        with pytest.raises(RobotError, match="no motor drives 'joint2'"):
            make(neuler.robots.two_link().with_passive("joint2"))
    loose = made("loose_chain")
    with pytest.raises(RobotError, match="no motor drives 'root_joint', 'swing'"):
        ComputedTorque(loose, 1.0)
    four = neuler.robots.four_bar()
    with pytest.raises(RobotError, match="has 1 degree of freedom, of which its motors decide 0"):
        ComputedTorque(four.with_passive(*four.joint_names), 1.0)


def test_friction_that_depends_on_its_load():
    """Computed torque has it; Slotine and Li's law has no place for it."""
    robot = neuler.robots.two_link().with_friction("joint2", neuler.LoadDependent(load=0.2, coulomb=0.3))
    with pytest.raises(RobotError, match=r"friction of 'joint2' depends on its load.*ComputedTorque has it"):
        SlotineLi(robot, 1.0, 1.0)
    law = ComputedTorque(robot, 50.0, reference=[0.1, 0.2])
    q, qd = np.array([0.4, -0.3]), np.array([0.5, 0.7])
    qdd = robot.forward_dynamics(q, qd, law(0.0, q, qd).tau)
    np.testing.assert_allclose(qdd, 50.0 * ([0.1, 0.2] - q) - 2 * np.sqrt(50) * qd, rtol=1e-10)


def test_bad_input():
    robot = neuler.robots.two_link()
    law = ComputedTorque(robot, 10.0)
    for make, message in [
        (lambda: ComputedTorque("arm", 1.0), "computed_torque: a robot is needed, got str"),
        (lambda: ComputedTorque(robot, -1.0), "computed_torque: kp must be positive, got -1.0"),
        (lambda: ComputedTorque(robot, [1, 2, 3]), "kp must be a number or 2 of them"),
        (lambda: ComputedTorque(robot, np.nan), "kp must be positive"),
        (lambda: GravityPD(robot, 1.0, "much"), "gravity_pd: kd must be a number or 2 of them"),
        (lambda: ComputedTorque(robot, 1.0, period=0.0), "period must be above zero"),
        (lambda: ComputedTorque(robot, 1.0, reference=[1.0]), "expected as reference 2 positions of robot 'two_link'"),
        (lambda: ComputedTorque(robot, 1.0, reference=lambda t: [t] * 3), r"must give 2 positions, or 2 \+ 2 \+ 2"),
        (lambda: law(0.0, [0, 0], [0, 0]), "no reference of its own; give it one, or hand 6 numbers"),
        (lambda: law(0.0, [0, 0], [0, 0], reference=[1, 2]), "expected reference with last axis 6, got shape"),
        (lambda: law(0.0, [0, 0, 0], [0, 0], reference=np.zeros(6)), "computed_torque: expected q with last axis 2"),
        (
            lambda: AdaptiveSlotineLi(robot, 1, 1, ["gravity", "links"], 1, 0.1),
            r"not linear in 'gravity.x'.*'link2.mass'",
        ),
        (lambda: AdaptiveSlotineLi(robot, 1, 1, "joint2.placement", 1, 0.1), "not linear in 'joint2.placement.x'"),
        (lambda: AdaptiveSlotineLi(robot, 1, 1, "link9", 1, 0.1), "has none called 'link9'"),
        (lambda: AdaptiveSlotineLi(robot, 1, 1, "link2", 1, None), "period must be the time between samples"),
        (lambda: AdaptiveSlotineLi(robot, 1, 1, "link2", 1, 0.1, start=[1.0]), "start must be 10 numbers"),
        (lambda: AdaptiveSlotineLi(robot, 1, 1, "link2", [1, 2], 0.1), "rate must be a number or 10 of them"),
        (
            lambda: AdaptiveSlotineLi(robot, 1, 1, "link2.mass", 1, 0.1, lower=99),
            "first estimate of 'link2.mass' is not",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            make()


def test_not_a_number_in_not_a_number_out():
    law = SlotineLi(neuler.robots.puma560(), 5.0, 10.0, reference=np.zeros(6))
    q = np.zeros((3, 6))
    q[1, 2] = np.nan
    tau = law(0.0, q, np.ones((3, 6))).tau
    np.testing.assert_array_equal(np.isnan(tau).any(axis=-1), [False, True, False])


def test_references_of_joints_with_quaternions():
    """Positions alone have no velocities there: constant ones, or functions that give all three."""
    links = [Link("base"), Link.from_com("ball", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))]
    robot = neuler.Robot("ball", links, [Joint("ball", "spherical", "base", "ball")])
    turned = robot.integrate(robot.neutral(), [0.3, -0.2, 0.5], 1.0)
    law = ComputedTorque(robot, 30.0, reference=turned, period=5e-3)
    q, qd, _, _ = run(robot, law, robot.neutral(), np.zeros(3), 3.0, 5e-3)
    np.testing.assert_allclose(robot.difference(q[-1], turned), 0, atol=1e-4)
    assert np.abs(qd[-1]).max() < 1e-3
    with pytest.raises(InputError, match=r"must give 4 \+ 3 \+ 3 numbers .*; it gives 4"):
        ComputedTorque(robot, 30.0, reference=lambda t: [0, 0, 0, 1])
    spin = ComputedTorque(
        robot, 30.0,
        reference=lambda t: np.array([0, 0, np.sin(t / 2), np.cos(t / 2), 0, 0, 1.0, 0, 0, 0]),
        period=1e-3,
    )  # fmt: skip
    q, _, _, _ = run(robot, spin, robot.neutral(), [0.0, 0.0, 1.0], 1.0)
    np.testing.assert_allclose(q[-1], [0, 0, np.sin(0.5), np.cos(0.5)], atol=1e-3)
    with pytest.raises(InputError, match="must give"):
        ComputedTorque(robot, 30.0, reference=Reference(lambda t: [0, 0, 0, 1]))


def test_public_names():
    for name in control.__all__:
        assert getattr(control, name).__doc__, name
    assert "every 0.01 s" in repr(GravityPD(neuler.robots.two_link(), 1.0, 1.0, period=0.01))


def test_controllers_are_pickled():
    robot = neuler.robots.two_link()
    q, qd = np.array([0.3, -0.2]), np.array([0.1, 0.4])
    for law in (
        ComputedTorque(robot, 10.0, reference=lambda t: [np.sin(t), t]),
        AdaptiveSlotineLi(robot, 1.0, 2.0, "link2", 1.0, 0.1, reference=sines([1.0, 0.5], 0.3)),
    ):
        again = pickle.loads(pickle.dumps(law))
        for a, b in zip(law(0.7, q, qd), again(0.7, q, qd), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_law_that_is_changed_is_compiled_anew():
    arm = neuler.robots.two_link()
    changed = GravityPD(arm, kp=10.0, kd=2.0, reference=np.zeros(2))
    state = 0.2, [0.3, 0.2], [0.1, -0.1]
    before = changed(*state).tau
    arm.rollout([0.3, 0.2], [0.0, 0.0], changed, 1e-3, 5)
    changed.kp = 10 * changed.kp
    changed.reference = sines([0.2, 0.1], 1.0)  # looked at as one given to begin with
    fresh = GravityPD(arm, kp=100.0, kd=2.0, reference=sines([0.2, 0.1], 1.0))
    assert np.abs(changed(*state).tau - before).min() > 1.0
    assert np.array_equal(changed(*state).tau, fresh(*state).tau)
    runs = [arm.rollout([0.3, 0.2], [0.0, 0.0], law, 1e-3, 50).q for law in (changed, fresh)]
    assert np.array_equal(*runs)
    with pytest.raises(ValueError, match="read-only"):
        changed.kp[0] = 1.0
    with pytest.raises(InputError, match="must give"):
        changed.reference = sines([0.2, 0.1, 0.3], 1.0)


def test_an_elastic_law_that_is_changed_is_compiled_anew():
    elastic = neuler.robots.two_link().replace(motors=[neuler.Motor("m2", "joint2", 50, inertia=1e-3, stiffness=100.0)])
    laws = [
        control.ElasticInverseDynamics(elastic, 100.0, 20.0, 20.0, kd_motor, reference=sines([0.5, 0.5], 0.25))
        for kd_motor in (2.0, 3.0)
    ]
    state = 0.3, [0.1, -0.4, -0.4], [0.2, 0.0, 0.1]
    before = [np.array([*law(*state).tau, *law.lyapunov(*state)]) for law in laws]
    assert np.abs(before[0] - before[1]).max() > 1e-3
    laws[0].kd_motor = laws[1].kd_motor
    after = np.array([*laws[0](*state).tau, *laws[0].lyapunov(*state)])
    assert np.array_equal(after, before[1])
