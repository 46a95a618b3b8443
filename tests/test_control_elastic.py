"""Controllers of elastic drives: Hua's equations by blocks of the robot's matrices, Lyapunov's identities, and runs."""

import dataclasses

import numpy as np
import pytest

import neuler
from control_runs import run
from elastic_robots import mixed
from neuler import InputError, Motor, RobotError
from neuler.control import (
    LQR,
    AdaptiveSlotineLi,
    ComputedTorque,
    ElasticInverseDynamics,
    ElasticPD,
    GravityPD,
    SlotineLi,
    sines,
)
from random_robots import close, few

SEEDS = range(2)
GAINS = {"kp": 400.0, "kd": 40.0, "kp_motor": 200.0, "kd_motor": 20.0}


def follower(robot, **more):
    """The controller of these tests, on a path of sines."""
    n = robot.nv - sum(motor.elastic for motor in robot.motors)
    rng = np.random.default_rng(n)
    path = sines(rng.uniform(0.2, 0.5, n), rng.uniform(0.2, 0.5, n), rng.uniform(0, 3, n))
    return ElasticInverseDynamics(robot, **{**GAINS, "reference": path, **more})


def states(robot, count=6, seed=0):
    rng = np.random.default_rng([seed, 8])
    q, qd = rng.uniform(-1, 1, (2, count, robot.nv))
    return rng.uniform(0, 4, count), q, qd


def sizes(robot):
    """Numbers of joints, of motors behind springs, and of the joints of these."""
    names = robot.joint_names
    motors = [k for k, joint in enumerate(robot.moving_joints) if joint.series]
    links = [k for k in range(robot.nv) if k not in motors]
    return links, motors, [names.index(robot.moving_joints[k].series[0]) for k in motors]


def each(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def blocks(robot, q, qd):
    """M, S, B of Hua (30), C of M alone, and C1 thetad, C2 qd and G as forces."""
    links, motors, elastic = sizes(robot)
    A = robot.mass_matrix(q)
    slow = qd.copy()
    slow[:, motors] = 0.0
    C = robot.coriolis_matrix(q, slow)[:, links][:, :, links]
    whole = each(robot.coriolis_matrix(q, qd), qd)
    loose = q.copy()
    loose[:, motors] = q[:, elastic]
    M, S, B = A[:, links][:, :, links], A[:, links][:, :, motors], A[:, motors][:, :, motors]
    return M, S, B, C, whole[:, links] - each(C, qd[:, links]), whole[:, motors], robot.gravity_force(loose)[:, links]


# ---- Hua's controller -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "robot", few([neuler.robots.hua_3r(), *(mixed(seed, friction=False) for seed in SEEDS)], 2), ids=str
)
def test_the_law_is_that_of_the_paper(robot):
    """(37)-(49) by blocks of the inertia and Coriolis matrices, with the accelerations that the torques make."""
    law = follower(robot)
    t, q, qd = states(robot)
    links, motors, elastic = sizes(robot)
    tau = law(t, q, qd).tau
    found = law.desired(q, qd, law.reference(t))
    M, S, B, C, C1, C2, G = blocks(robot, q, qd)
    plan = law.reference(t).reshape(len(t), 5, len(links))
    lam, lam_t = 400.0 / 40.0, 200.0 / 20.0
    x, xd = q[:, links], qd[:, links]
    v, a = plan[:, 1] + lam * (plan[:, 0] - x), plan[:, 2] + lam * (plan[:, 1] - xd)
    s = v - xd
    qdd = robot.forward_dynamics(q, qd, tau)
    wanted = each(M, a) + each(S, qdd[:, motors]) + each(C, v) + C1 + G + 40.0 * s  # (39)
    rigid = [k for k in links if k not in elastic]
    close(tau[:, rigid], wanted[:, [links.index(k) for k in rigid]], 1e-9)
    spot = [links.index(k) for k in elastic]
    np.testing.assert_array_equal(tau[:, elastic], 0.0)
    K = law.sides.stiffness
    close(found.theta, q[:, elastic] + wanted[:, spot] / K, 1e-10)  # (43)
    off, rate = found.theta - q[:, motors], found.thetad - qd[:, motors]
    s_t = rate + lam_t * off + s[:, spot]  # (47)
    a_t = found.thetadd + lam_t * rate + (a - qdd[:, links])[:, spot]
    motor = (
        each(np.swapaxes(S, -2, -1), qdd[:, links]) + each(B, a_t) + C2 + K * (found.theta - q[:, elastic]) + 20.0 * s_t
    )
    close(tau[:, motors], motor, 1e-9)  # (49)
    e_tau = np.zeros_like(s)
    e_tau[:, spot] = K * off
    close(each(M, a - qdd[:, links]) + each(C, s) + 40.0 * s, e_tau, 1e-8, scale=np.abs(each(M, a)).max())  # (40)
    left = each(B, a_t - qdd[:, motors]) + 20.0 * s_t + K * off
    assert np.abs(left).max() < 1e-9 * np.abs(K * off).max()  # (50)


@pytest.mark.parametrize("robot", few([neuler.robots.hua_3r(), *map(mixed, SEEDS)], 2), ids=str)
def test_lyapunovs_identities(robot):
    """dV1/dt and dV2/dt, exactly along the motion that the torques make, are (42) and (52); friction included."""
    law = follower(robot)
    t, q, qd = states(robot, 20, 1)
    qdd = robot.forward_dynamics(q, qd, law(t, q, qd).tau)
    values = law.lyapunov(t, q, qd)
    rates = law.lyapunov_function().jvp(["t", "q", "qd"], ["V1", "V2"])(t, q, qd, dt=np.ones(20), dq=qd, dqd=qdd)
    np.testing.assert_allclose(rates.dV1, values.V1_rate, rtol=1e-10, atol=1e-10 * np.abs(values.V1_rate).max())
    np.testing.assert_allclose(rates.dV2, values.V2_rate, rtol=1e-10)
    assert (values.V2_rate < 0).all()
    assert (values.V1 > 0).all()


@pytest.mark.slow
def test_the_papers_run():
    """Ten seconds of Hua's motion: tracking errors, and (42), (52) at every tenth sample to 1e-8."""
    robot = neuler.robots.hua_3r()
    path = sines([0.5] * 3, 0.25)
    law = ElasticInverseDynamics(robot, **GAINS, reference=path, period=2e-3)
    start = np.array([0.0, 0.0, -0.4363, -0.4363])
    loaded = robot.with_payload("tool", 0.3)
    q, qd, tau, _ = run(robot, law, start, np.zeros(4), 10.0, 2e-3)
    t = 2e-3 * np.arange(len(q))
    error = np.sqrt(np.mean((q[:, :3] - path(t)[:, :3]) ** 2, axis=0))
    assert (error[:2] < 5e-3).all()
    assert error[2] < 6e-2
    assert np.abs(q[-1, :3] - path(10.0)[:3]).max() < 1e-4
    t, q, qd = t[:-1:10], q[:-1:10], qd[:-1:10]
    qdd = robot.forward_dynamics(q, qd, tau[::10])
    np.testing.assert_allclose(law(t, q, qd).tau, tau[::10], rtol=1e-9, atol=1e-9)
    values = law.lyapunov(t, q, qd)
    ones = np.ones(len(t))
    rates = law.lyapunov_function().jvp(["t", "q", "qd"], ["V1", "V2"])(t, q, qd, dt=ones, dq=qd, dqd=qdd)
    for found, expected in ((rates.dV1, values.V1_rate), (rates.dV2, values.V2_rate)):
        assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()
        early = t < 1.5  # later what falls is of the size of what holding the torques leaves
        np.testing.assert_allclose(found[early], expected[early], rtol=1e-8, atol=1e-8 * np.abs(expected[early]).min())
    assert (np.diff(values.V2[t < 1.0]) < 0).all()
    carried, _, _, _ = run(robot, law, start, np.zeros(4), 4.0, 2e-3, loaded)
    assert np.abs(carried[-1, :3] - path(4.0)[:3]).max() < 0.05  # a payload that it does not know


def test_rates_of_theta_d_are_those_of_the_motion():
    """Against differences of theta_d along the closed loop, integrated with the law in every stage."""
    robot = mixed(1)
    law = follower(robot, kp_motor=1.0, kd_motor=0.1)
    t0, q0, qd0 = (x[0] for x in states(robot, 1, 3))

    def there(time, steps=24):
        q, qd, h = q0, qd0, time / steps
        for k in range(steps):
            slopes = [(np.zeros_like(q), np.zeros_like(qd))]
            for share in (0.0, 0.5, 0.5, 1.0):
                place, speed = q + share * h * slopes[-1][0], qd + share * h * slopes[-1][1]
                tau = law(t0 + (k + share) * h, place, speed).tau
                slopes.append((speed, robot.forward_dynamics(place, speed, tau)))
            (v1, a1), (v2, a2), (v3, a3), (v4, a4) = slopes[1:]
            q, qd = q + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return law.desired(q, qd, law.reference(t0 + time))

    h = 4e-4
    points = {k: there(k * h) for k in (-3, -2, -1, 1, 2, 3)}
    now = law.desired(q0, qd0, law.reference(t0))
    for of, rate in (("theta", now.thetad), ("thetad", now.thetadd)):
        total = sum(
            weight * (getattr(points[k], of) - getattr(points[-k], of)) for k, weight in ((1, 45), (2, -9), (3, 1))
        )
        close(total / (60 * h), rate, 1e-6)


def test_every_joint_elastic_as_spong_has_it():
    """Motors whose spin no carrier feels may sit anywhere; those that elastic joints feel are refused by name."""
    arm = neuler.robots.puma560()
    names = arm.joint_names[:3]
    short = neuler.robots.puma560().replace(links=arm.links[:4], joints=arm.joints[:3], frames=(), notes=())
    short = short.replace(joints=[dataclasses.replace(joint, rotor_inertia=0.0) for joint in short.joints])
    motors = [Motor(f"m{k}", name, 50.0, inertia=2e-4, stiffness=800.0) for k, name in enumerate(names)]
    with pytest.raises(
        RobotError,
        match=r"elastic_inverse_dynamics: the rotor .* is carried by joint 'joint1', whose spring.*coupled=False",
    ):
        follower(short.replace(motors=motors))
    spong = short.replace(motors=[dataclasses.replace(motor, coupled=False) for motor in motors]).without_friction()
    law = follower(spong)
    t, q, qd = states(spong, 10)
    qdd = spong.forward_dynamics(q, qd, law(t, q, qd).tau)
    rates = law.lyapunov_function().jvp(["t", "q", "qd"], "V2")(t, q, qd, dt=np.ones(10), dq=qd, dqd=qdd)
    np.testing.assert_allclose(rates, law.lyapunov(t, q, qd).V2_rate, rtol=1e-9)


def test_it_is_the_same_with_rows_of_references_and_inside_a_function():
    robot = neuler.robots.hua_3r()
    law = follower(robot)
    bare = ElasticInverseDynamics(robot, **GAINS)
    t, q, qd = states(robot, 8)
    rows = law.reference(t)
    assert bare.reference_sizes == (3, 3, 3, 3, 3)
    tau = law(t, q, qd).tau
    np.testing.assert_allclose(bare(t, q, qd, reference=rows).tau, tau, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(bare.lyapunov(t, q, qd, rows).V2, law.lyapunov(t, q, qd).V2, rtol=1e-12)
    inside = neuler.function(
        lambda t, q, qd: robot.forward_dynamics(q, qd, law(t, q, qd, None, None)[0]), {"t": (), "q": 4, "qd": 4}
    )
    close(inside(t, q, qd), robot.forward_dynamics(q, qd, tau), 1e-9)


# ---- misprints ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_hua_30(seed):
    """C1 thetad has no thetad thetad: printed C1(q, thetad), it is C1(q, qd), as in (31) and (39)."""
    robot = mixed(seed, friction=False)
    links, motors, _ = sizes(robot)
    _, q, qd = states(robot)
    still = np.zeros_like(qd)
    still[:, motors] = qd[:, motors]
    assert np.abs(each(robot.coriolis_matrix(q, still), still)).max() < 1e-13
    turning = each(robot.coriolis_matrix(q, qd), qd)
    slow = qd.copy()
    slow[:, motors] = 0.0
    assert np.abs(turning - each(robot.coriolis_matrix(q, slow), slow))[:, links].max() > 1e-4  # yet it is not zero
    twice = qd.copy()
    twice[:, motors] *= 2
    C1 = [each(robot.coriolis_matrix(q, x), x) - each(robot.coriolis_matrix(q, slow), slow) for x in (qd, twice)]
    close(C1[1][:, links], 2 * C1[0][:, links], 1e-10)  # linear in thetad


@pytest.mark.parametrize("seed", SEEDS)
def test_hua_42(seed):
    """The first line lacks s.dM/dt s / 2; the second has it, through (40) and dM/dt - 2 C."""
    robot = mixed(seed, friction=False)
    law = follower(robot)
    links, _, _ = sizes(robot)
    t, q, qd = states(robot)
    plan = law.reference(t).reshape(len(t), 5, len(links))
    error, rate = plan[:, 0] - q[:, links], plan[:, 1] - qd[:, links]
    s, lam = rate + 10.0 * error, 10.0
    qdd = robot.forward_dynamics(q, qd, law(t, q, qd).tau)
    s_rate = plan[:, 2] - qdd[:, links] + lam * rate
    M, _, _, C, *_ = blocks(robot, q, qd)
    printed = (s * each(M, s_rate)).sum(axis=-1) + (2 * lam * 40.0 * error * rate).sum(axis=-1)
    whole = printed + (s * each(C, s)).sum(axis=-1)  # s.dM/dt s / 2
    expected = law.lyapunov(t, q, qd).V1_rate
    close(whole, expected, 1e-9)
    assert np.abs(printed - expected).max() > 1e-3


# ---- PD on the motors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_elastic_pd_by_its_terms(seed):
    robot = mixed(seed)
    links, motors, elastic = sizes(robot)
    n = len(links)
    goal = np.random.default_rng(seed).uniform(-0.5, 0.5, n)
    law = ElasticPD(robot, np.arange(1.0, n + 1), np.arange(2.0, n + 2), reference=goal)
    theta = law.motor_positions(goal)
    full = np.zeros(robot.nq)
    full[links], full[motors] = goal, theta
    left = robot.gravity_force(full)  # springs included: the elastic joints are balanced
    assert np.abs(left[elastic]).max() < 1e-10
    t, q, qd = states(robot, 5)
    tau = law(t, q, qd).tau
    np.testing.assert_array_equal(tau[:, elastic], 0.0)
    for k, place in enumerate(links):
        at = motors[elastic.index(place)] if place in elastic else place
        expected = left[at] + (k + 1.0) * (full[at] - q[:, at]) - (k + 2.0) * qd[:, at]
        np.testing.assert_allclose(tau[:, at], expected, rtol=1e-10, atol=1e-10)


def test_elastic_pd_comes_to_rest_where_it_is_told():
    robot = neuler.robots.hua_3r()
    goal = np.array([0.4, -0.3, 0.5])
    law = ElasticPD(robot, [300.0, 300.0, 150.0], [80.0, 80.0, 20.0], reference=goal, period=5e-3)
    q, qd, tau, _ = run(robot, law, np.zeros((1, 4)), np.zeros((1, 4)), 6.0, 5e-3)
    np.testing.assert_allclose(q[-1, 0, :3], goal, atol=2e-3)
    np.testing.assert_allclose(q[-1, 0, 3], law.motor_positions(goal)[0], atol=2e-3)
    assert np.abs(qd[-1]).max() < 1e-2
    assert np.abs(tau[..., 2]).max() == 0.0


def test_elastic_pd_follows_with_the_motors_speed():
    """thetad_d is the rate of theta_d along the reference."""
    robot = neuler.robots.hua_3r()
    path = sines([0.3, 0.4, 0.5], 0.3)
    moving = ElasticPD(robot, 50.0, 7.0, reference=path)
    t, q, qd = states(robot, 4)
    h = 1e-4
    rate = (moving.motor_positions(path(t + h)[:, :3]) - moving.motor_positions(path(t - h)[:, :3])) / (2 * h)
    held = np.concatenate([path(t)[:, :3], np.zeros((4, 3))], axis=-1)  # the same positions, at rest
    steady = moving(t, q, qd, reference=held).tau
    more = moving(t, q, qd).tau - steady
    close(more[:, 3], 7.0 * rate[:, 0], 1e-6)
    close(more[:, :2], 7.0 * path(t)[:, 3:5], 1e-9)


# ---- who is refused, and what else works --------------------------------------------------------------------------


def test_who_is_refused():
    elastic, rigid = neuler.robots.hua_3r(), neuler.robots.two_link()
    for make in (
        lambda: ComputedTorque(elastic, 1.0),
        lambda: GravityPD(elastic, 1.0, 1.0),
        lambda: SlotineLi(elastic, 1.0, 1.0),
        lambda: AdaptiveSlotineLi(elastic, 1.0, 1.0, "link2", 1.0, 0.1),
    ):
        with pytest.raises(RobotError, match=r"the drive of 'joint3' of robot 'hua_3r' is elastic; ElasticPD"):
            make()
    motors = [motor for motor in elastic.motors if motor.joint != "joint2"]
    loose = elastic.replace(motors=motors).with_passive("joint2")
    for make in (follower, lambda r: ElasticPD(r, 1.0, 1.0)):
        with pytest.raises(RobotError, match="robot 'two_link' has no elastic drive; ComputedTorque"):
            make(rigid)
        with pytest.raises(RobotError, match="no motor drives 'joint2'"):
            make(loose)
        with pytest.raises(RobotError, match="joint 'root_joint' of robot 'hua_3r' has not one coordinate"):
            make(elastic.with_free_base())
    damped = [dataclasses.replace(motor, damping=1.0) if motor.elastic else motor for motor in elastic.motors]
    with pytest.raises(RobotError, match="elastic_inverse_dynamics: the spring of joint 'joint3' has damping"):
        follower(elastic.replace(motors=damped))
    assert ElasticPD(elastic.replace(motors=damped), 1.0, 1.0, reference=np.zeros(3))
    with pytest.raises(InputError, match="kp_motor must be positive"):
        follower(elastic, kp_motor=0.0)
    with pytest.raises(InputError, match=r"must give 3 positions, or 3 \+ 3 \+ 3 \+ 3 \+ 3 numbers"):
        follower(elastic, reference=lambda t: [t] * 4)


def test_lqr_holds_springs():
    """Of a robot with springs at rest: theta are states like others, and the links' side has no motor."""
    pytest.importorskip("scipy")
    robot = neuler.robots.hua_3r()
    goal = np.array([0.2, -0.3, 0.4])
    theta = ElasticPD(robot, 1.0, 1.0).motor_positions(goal)
    law = LQR(robot, [*goal, *theta], [100.0] * 4 + [1.0] * 4, 1e-2, period=2e-3)
    assert law.motors == [0, 1, 3]
    q, _, tau, _ = run(robot, law, [*(goal + 0.05), *theta], np.zeros(4), 3.0, 2e-3)
    np.testing.assert_allclose(q[-1], [*goal, *theta], atol=2e-3)
    assert np.abs(tau[:, 2]).max() == 0.0
    with pytest.raises(RobotError, match=r"does not rest at q: .* pull at 'joint3', which no motor holds"):
        LQR(robot, [*goal, goal[2]], 1.0, 1.0)


def test_inverse_kinematics_keeps_the_stretch_of_springs():
    robot = neuler.robots.hua_3r()
    pose = robot.compile("link_poses", frame="tool")
    guess = np.array([0.1, -0.2, 0.5, 0.6])
    found = robot.inverse_kinematics(pose([0.5, 0.3, 0.9, 0.0])[:3, 3], guess, frame="tool", orientation=False)
    assert found.q[3] - found.q[2] == pytest.approx(0.1, abs=1e-14)
    np.testing.assert_allclose(pose(found.q)[:3, 3], pose([0.5, 0.3, 0.9, 0.0])[:3, 3], atol=1e-9)
