"""Loads of measured motion: physics of standing, swaying and jumping, a walk whose forces are known."""

import numpy as np
import pytest

import complex_listings
import neuler
import walking_motions as walking
from gait_walk import human, index, known, times
from neuler import InputError, gait, robots
from neuler.robots.humans import WALKING_FIXED
from random_robots import close
from work import calls


def states(count, seed=0, size=0.3):
    return np.random.default_rng(seed).normal(size=(3, count, human().nv)) * size


def com_forces(robot, q, qd, qdd):
    """m (a - g), with the acceleration of the centre of mass by differences of its velocity along the motion."""
    step = 1e-5

    def velocity(dt):
        return np.asarray(robot.momentum(q + dt * qd + 0.5 * dt * dt * qdd, qd + dt * qdd))[..., :3] / robot.mass

    acceleration = (8 * (velocity(step) - velocity(-step)) - velocity(2 * step) + velocity(-2 * step)) / (12 * step)
    return robot.mass * (acceleration - np.array(robot.gravity))


# ---- the resultant -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["joints", "free"])
def test_pinocchio_finds_the_same_resultant(tmp_path, base):
    """Its free-flyer's wrench, from the URDF file of the person with a free base."""
    pin = pytest.importorskip("pinocchio")
    from neuler.formats import save

    free = robots.human(base="free")
    save(free, tmp_path / "human.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "human.urdf"))
    data, layout = model.createData(), neuler.layouts.pinocchio(free, model)
    random = np.random.default_rng(4)
    q = np.asarray(free.integrate(free.neutral(), random.normal(size=free.nv) * 0.4, 1.0))
    qd, qdd = random.normal(size=(2, free.nv))
    wrench = pin.rnea(model, data, layout.q(q), layout.v(qd, q), layout.a(qdd, qd, q))[:6]
    pelvis = np.asarray(free.compile("link_poses", frame="pelvis")(q))
    force = pelvis[:3, :3] @ wrench[:3]
    moment = pelvis[:3, :3] @ wrench[3:] + np.cross(pelvis[:3, 3], force)
    if base == "free":
        found = gait.ground_reaction(free)(q, qd, qdd)
    else:
        one = robots.human()
        turn, lift = pelvis[:3, :3], pelvis[:3, 3] - [0, 0, walking.person().hip_height]
        yaw, pitch = np.arctan2(turn[1, 0], turn[0, 0]), -np.arcsin(turn[2, 0])
        own = np.concatenate([lift, [yaw, pitch, np.arctan2(turn[2, 1], turn[2, 2])], q[7:]])
        columns = np.asarray(one.jacobian(own, frame="pelvis", reference="link"))[:, :6]
        rate = np.concatenate([np.linalg.solve(columns, qd[:6]), qd[6:]])
        motion = one.link_motions(own, rate, np.concatenate([np.zeros(6), qdd[6:]]), np.zeros(55), frame="pelvis")
        bias, twist = np.asarray(motion.accelerations), np.asarray(motion.velocities)
        goal = qdd[:6] + np.concatenate([np.cross(twist[3:], twist[:3]), np.zeros(3)])
        found = gait.ground_reaction(one)(own, rate, np.concatenate([np.linalg.solve(columns, goal - bias), qdd[6:]]))
    close(found.force, force, 1e-10)
    close(found.moment, moment, 1e-10)
    close(found.zero_moment_point, np.array([-moment[1], moment[0], 0.0]) / max(force[2], 0.02 * 75 * 9.81), 1e-10)


def test_the_resultant_is_mass_times_acceleration_less_gravity():
    q, qd, qdd = states(20)
    close(gait.ground_reaction(human())(q, qd, qdd).force, com_forces(human(), q, qd, qdd), 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("wrt", ["q", "qd", "qdd"])
def test_sensitivities_of_force_and_zero_moment_point(wrt):
    """Exact derivatives against complex steps through the listing of operations, with no rule of differentiation."""
    walker = human().with_fixed(dict.fromkeys(WALKING_FIXED, 0.0))
    reaction = gait.ground_reaction(walker)
    point = dict(zip(("q", "qd", "qdd"), np.random.default_rng(3).normal(size=(3, walker.nv)) * 0.3, strict=True))
    assert reaction(**point).force[2] > 100.0  # the zero-moment point is that of the ground, not of its lower bound
    away = {name: np.tile(x.astype(complex), (walker.nv, 1)) for name, x in point.items()}
    away[wrt] = away[wrt] + 1j * complex_listings.STEP * np.eye(walker.nv)
    slopes = complex_listings.run(reaction, away).imag.T / complex_listings.STEP
    for name, rows in (("force", slopes[:3]), ("moment", slopes[3:6]), ("zero_moment_point", slopes[6:])):
        close(reaction.jacobian(wrt, of=name)(**point), rows, 1e-9)


@pytest.mark.slow
def test_second_derivatives_of_the_zero_moment_point():
    walker = human().with_fixed(dict.fromkeys(WALKING_FIXED, 0.0))
    reaction = gait.ground_reaction(walker)
    point = dict(zip(("q", "qd", "qdd"), np.random.default_rng(3).normal(size=(3, walker.nv)) * 0.3, strict=True))
    weights, way = np.array([1.0, -2.0, 0.0]), np.random.default_rng(1).normal(size=walker.nv)
    curve = reaction.hvp("q", of="zero_moment_point")(**point, weights=weights, dq=way)
    slope, step = reaction.vjp("q", of="zero_moment_point"), 1e-3

    def at(h):
        return np.asarray(slope(**{**point, "q": point["q"] + h * way}, weights=weights))

    differences = (45 * (at(step) - at(-step)) - 9 * (at(2 * step) - at(-2 * step)) + at(3 * step) - at(-3 * step)) / 60
    close(curve, differences / step, 1e-9)


# ---- standing, swaying, jumping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["pivot", "line"])
def test_standing_still(split):
    still = np.zeros((30, 55))
    found = gait.ground_loads(human(), times(0.29), still, still, still, split=split)
    assert found.touching.all()
    assert not found.notes
    close(found.vertical, np.full((30, 2), 0.5 * 75 * 9.81), 1e-12)
    center = human().center_of_mass(still[0])
    close(found.zero_moment_point[:, :2], np.tile(center[:2], (30, 1)), 1e-12, scale=1.0)
    close(found.center_of_pressure[..., 0], np.full((30, 2), center[0]), 1e-12, scale=1.0)
    assert (found.outside == 0.0).all()
    assert np.abs(found.residual).max() < 1e-9
    close(found.fore_aft, np.zeros((30, 2)), 1e-9, scale=1.0)
    # with "pivot" both forces point to the centre of mass; parallel ones have nothing sideways
    lean = found.foot_force[0, :, 1] / found.foot_force[0, :, 2]
    hips = walking.person().lengths["hip_half_width"]
    expected = [hips / center[2], -hips / center[2]] if split == "pivot" else [0.0, 0.0]
    close(lean, expected, 1e-9, scale=1.0)
    legs = [human().shown_names.index(f"{side}_thigh_after_flexion") for side in "rl"]
    leg = (0.1416 + 0.0433 + 0.0137) * 75.0  # what hangs below the hip pushes with less than the ground does
    close(found.reactions[:, legs, 2], np.full((30, 2), -(37.5 - leg) * 9.81), 1e-9)


def sway(amplitude=0.04, frequency=0.4, duration=6.0):
    """Ankles turn the body about the ankle joints as one: an inverted pendulum, with exact derivatives."""
    t = times(duration)
    w = 2 * np.pi * frequency
    angle = amplitude * np.array([np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)])
    lengths = walking.person().lengths
    height = lengths["thigh"] + lengths["shank"]
    c, s = np.cos(angle[0]), np.sin(angle[0])
    pelvis = np.zeros((3, 2, len(t)))  # x and z, and their rates
    pelvis[0] = height * s, height * (c - 1.0)
    pelvis[1] = height * angle[1] * c, -height * angle[1] * s
    pelvis[2] = height * (angle[2] * c - angle[1] ** 2 * s), -height * (angle[2] * s + angle[1] ** 2 * c)
    motion = np.zeros((3, len(t), 55))
    motion[:, :, index("pelvis_x", "pelvis_z")] = np.moveaxis(pelvis, 1, 2)
    for joint in ("pelvis_pitch", "r_ankle_flexion", "l_ankle_flexion"):
        motion[:, :, index(joint)[0]] = angle
    return t, motion, angle, height


def test_a_person_who_sways_is_an_inverted_pendulum():
    t, motion, angle, _ = sway()
    found = gait.ground_loads(human(), t, *motion)
    assert found.touching.all()
    robot, feet = human(), ("r_foot", "r_toes", "l_foot", "l_toes")
    body = [k for k, link in enumerate(robot.links) if link.mass > 0 and link.name not in feet]
    pose = np.asarray(robot.link_poses(np.zeros(55)))
    masses = np.array([robot.links[k].mass for k in body])
    centers = np.array([pose[k][:3, :3] @ robot.links[k].com + pose[k][:3, 3] for k in body])
    centers[:, 2] -= walking.person().lengths["ankle_height"]
    center, mass = masses @ centers / masses.sum(), masses.sum()
    turning = sum(
        (pose[k][:3, :3] @ robot.links[k].inertia_about_com @ pose[k][:3, :3].T)[1, 1] + m * (c[0] ** 2 + c[2] ** 2)
        for k, m, c in zip(body, masses, centers, strict=True)
    )
    c, s = np.cos(angle[0]), np.sin(angle[0])
    x, z = center[0] * c + center[2] * s, -center[0] * s + center[2] * c
    ax, az = angle[2] * z - angle[1] ** 2 * x, -angle[2] * x - angle[1] ** 2 * z
    force = np.stack([mass * ax, np.zeros_like(x), mass * az + 75.0 * 9.81], axis=-1)
    close(found.force, force, 1e-10)
    ankle = turning * angle[2] - mass * 9.81 * x  # about the ankles' axis, of the ground and the feet on the body
    close(found.torque("r_ankle_flexion") + found.torque("l_ankle_flexion"), ankle, 1e-9)
    close(found.force, com_forces(robot, *motion), 1e-8)
    assert np.abs(found.residual).max() < 1e-9


def test_the_measured_path_of_a_person_who_sways():
    """With noise of 0.1 degree and 0.5 mm: what a slow motion needs is a low cut-off."""
    t, motion, *_ = sway()
    exact = gait.ground_loads(human(), t, *motion)
    trial = gait.Measured(human(), t, walking.noisy(motion[0], 0.1, 5e-4))
    found = trial.loads(cutoff=1.5, floor="found")
    inner = (t > 0.7) & (t < t[-1] - 0.7)
    assert found.touching.all()
    result = gait.compare(found, exact, where=inner)
    assert result["vertical"].rmse_body_weight < 1.0
    assert result["pressure_mm"] < 8.0
    total = gait.agreement(found.force[..., 0], exact.force[..., 0], found.weight, inner)
    assert total.rmse_body_weight < 0.2
    assert total.correlation > 0.95


def jump():
    """A crouch, a push, flight under gravity and a landing: the height of the pelvis is what moves."""
    t = times(2.0)
    lengths = walking.person().lengths
    thigh, shank = lengths["thigh"], lengths["shank"]
    takeoff, speed = 0.8, 2.0
    flight = 2 * speed / 9.81
    deep = -0.03  # of the pelvis with legs that are nearly straight: take-off and landing
    from scipy.interpolate import make_interp_spline

    push = make_interp_spline(
        [0.0, 0.3, takeoff],
        [-0.10, -0.25, deep],
        k=7,
        bc_type=([(1, 0.0), (2, 0.0), (3, 0.0)], [(1, speed), (2, -9.81), (3, 0.0)]),
    )
    z = np.zeros((3, len(t)))
    up, air = t < takeoff, (t >= takeoff) & (t <= takeoff + flight)
    down = t > takeoff + flight
    s = t - takeoff
    for k in range(3):
        z[k, up] = push(t[up], k)
        z[k, down] = (-1.0) ** k * push(np.maximum(2 * takeoff + flight - t[down], 0.0), k)
    z[:, air] = deep + speed * s[air] - 4.905 * s[air] ** 2, speed - 9.81 * s[air], np.full(air.sum(), -9.81)
    held = np.where(air, deep, z[0])
    knee = np.pi - np.arccos((thigh**2 + shank**2 - (thigh + shank + held) ** 2) / (2 * thigh * shank))
    hip = np.arctan2(shank * np.sin(knee), thigh + shank * np.cos(knee))
    return t, z, air, hip, knee


def test_a_jump_has_no_force_in_flight():
    """In flight all joints are still and the body falls: forces are zero; before and after the legs carry it."""
    t, z, air, hip, knee = jump()
    q = np.zeros((len(t), 55))
    q[:, index("pelvis_z")[0]] = z[0]
    for side in "rl":
        q[:, index(f"{side}_hip_flexion", f"{side}_knee_flexion", f"{side}_ankle_flexion")] = np.stack(
            [hip, knee, knee - hip], axis=-1
        )
    exact = np.zeros((2, len(t), 55))
    exact[:, :, index("pelvis_z")[0]] = z[1:]
    inside = air & np.roll(air, 3) & np.roll(air, -3)
    flying = gait.ground_loads(human(), t, q, *exact, touching=np.repeat(~air[:, None], 2, axis=1))
    assert np.abs(flying.force[air]).max() < 1e-9
    assert np.abs(flying.tau[air]).max() < 1e-9
    assert np.isnan(flying.zero_moment_point[air]).all()
    assert np.isnan(flying.center_of_pressure[air]).all()
    found = gait.Measured(human(), t, walking.noisy(q, 0.1, 5e-4)).loads(cutoff=12.0)
    assert not found.touching[inside].any()
    assert found.touching[t < 0.6].all()
    middle = (t > t[air][0] + 0.1) & (t < t[air][-1] - 0.1)
    assert np.abs(found.force[middle]).max() < 0.15 * found.weight  # noise: the residual is reported, not hidden
    assert (found.foot_force[inside] == 0.0).all()
    close(found.residual[inside][:, :3], found.force[inside], 1e-9)
    assert found.force[:, 2].mean() == pytest.approx(found.weight, rel=0.03)  # from rest to rest
    assert found.force[:, 2].max() > 1.5 * found.weight


# ---- a walk --------------------------------------------------------------------------------------------------------


INNER = 0.2
"""Seconds at both ends that are left out: filters know nothing of what comes before and after."""


def inner(t):
    return (t > INNER) & (t < t[-1] - INNER)


def test_the_walk_is_one():
    """It stands on its feet, moves on, and its loads are within them: what is compared with is a walk."""
    _, exact = known()
    assert np.ptp(exact.vertical) / exact.weight > 1.0
    assert np.nanmax(exact.outside) < 0.03
    double = exact.touching.all(axis=-1)
    assert 0.15 < double.mean() < 0.25
    assert exact.touching.any(axis=-1).all()
    jumps = np.abs(np.diff(exact.share, axis=0)).max()
    assert jumps < 0.15  # loads pass from foot to foot, 20 ms after 10 ms
    # impulse over whole strides: weight times time, and nothing along the way
    whole = slice(0, 330)
    mean = exact.force[whole].mean(axis=0) / exact.weight
    close(mean, [0.0, 0.0, 1.0], 1e-3, scale=1.0)


@pytest.mark.parametrize("split", ["pivot", "line"])
def test_the_split_balances_and_centres_of_pressure_are_inside(split):
    walk, _ = known()
    found = gait.ground_loads(human(), *walk[:4], touching=walk.touching, split=split)
    assert np.abs(found.residual).max() < 1e-9
    close(found.foot_force.sum(axis=-2), found.force, 1e-12)
    # moments about the origin, from what a force plate would report
    place = np.nan_to_num(found.center_of_pressure)
    moment = np.cross(place, found.foot_force).sum(axis=-2)
    moment[:, 2] += found.free_moment.sum(axis=-1)
    close(moment, found.moment, 1e-10)
    assert np.nanmax(found.outside) < 0.03
    assert (found.vertical >= -1e-9).all()
    double = found.touching.all(axis=-1)
    rear = np.argmax(found.share, axis=-1)
    brake, push = found.fore_aft[double].min(), found.fore_aft[double].max()
    apart = found.fore_aft[double, 0] * found.fore_aft[double, 1]
    assert rear.max() == 1
    if split == "line":
        both = double & (found.share > 0.05).all(axis=-1)
        lean = found.foot_force[both] / found.vertical[both][..., None]
        close(lean[:, 0], lean[:, 1], 1e-9)
    else:  # the rear foot pushes while the front one brakes
        assert apart.min() < 0.0
        assert brake < -0.1 * found.weight
        assert push > 0.05 * found.weight


def test_torques_and_reactions_are_those_with_loads_on_the_feet():
    walk, exact = known()
    tau, reactions = human().inverse_dynamics(*walk[1:4], loads=exact.loads, reactions=True)
    close(exact.tau, tau, 1e-12)
    close(exact.reactions, reactions, 1e-12)
    base = human().shown_names.index("pelvis_after_x")
    assert np.abs(exact.reactions[:, base]).max() < 1e-9  # nothing holds the body but the feet
    knee = exact.joint_force("r_knee_flexion")
    stance = exact.share[:, 0] == 1.0
    assert np.corrcoef(knee[stance], exact.vertical[stance, 0])[0, 1] > 0.95
    swing = ~exact.touching[:, 0]
    assert knee[swing].max() < 0.35 * knee[stance].max()


@pytest.mark.parametrize(("given", "bound"), [(True, 3.5), (False, 4.8)])
def test_the_walk_comes_back_from_noisy_angles(given, bound):
    """0.1 degree and 0.5 mm at 100 Hz, on all 55 coordinates: fore-aft force within 8 % of range.

    The vertical force is within 3.5 %, and 4.8 % where contact is found: this walk's toes leave 20 ms before they rise.
    Predicted walks come back within 3 % and 25 mm (test_gait_predicted_measured.py).
    """
    walk, exact = known()
    trials = np.stack([walking.noisy(walk.q, 0.1, 5e-4, seed) for seed in range(5)])
    found = gait.Measured(human(), walk.t, trials).loads(touching=walk.touching if given else None)
    assert found.trials == (5,)
    assert np.abs(found.residual).max() < 1e-9
    assert (found.touching != walk.touching).mean() < 0.025
    each = [gait.compare(found.trial(k), exact, where=inner(walk.t), single=True) for k in range(5)]
    assert max(one["vertical"].nrmse for one in each) < bound
    assert max(one["fore_aft"].nrmse for one in each) < 8.0
    assert np.mean([one["pressure_mm"] for one in each]) < 30.0
    assert min(one["vertical"].correlation for one in each) > 0.99
    total = gait.agreement(
        found.force[..., 2], np.broadcast_to(exact.force[..., 2], found.force.shape[:-1]), exact.weight
    )
    assert total.rmse_body_weight < 4.0


def test_the_filtered_body_keeps_the_filtered_path_of_its_centre_of_mass():
    """Pelvis and spine move against each other: what cancels in the force must cancel behind the filters, too."""
    from neuler.gait.filtering import CLEAR, smoothed

    t = times(3.0)
    q = np.zeros((len(t), 55))
    q[:, index("pelvis_pitch")[0]] = 0.004 * np.sin(2 * np.pi * 9.0 * t)
    q[:, index("spine1_flexion")[0]] = -0.008 * np.sin(2 * np.pi * 9.0 * t)
    trial = gait.Measured(human(), t, walking.noisy(q, 0.1, 5e-4))
    found, _, qdd = trial.smooth()
    path = smoothed(np.asarray(human().center_of_mass(trial.q)), trial.rate, 6.0, 6, clear=CLEAR)
    close(human().center_of_mass(found), path, 1e-9)
    assert qdd.shape == q.shape


def test_anchors_are_where_the_sole_is_down():
    """Heel alone, flat, heel up, ball up; and in double support they start and end at the zero-moment point."""
    from neuler.gait import sharing
    from neuler.moments.contact import FLOOR

    heights = np.array([[0.0, 0.05, 0.07], [0.0, 0.0, 0.0], [0.05, 0.0, 0.0], [0.1, 0.04, 0.0]])
    points = np.zeros((4, 1, 3, 3))
    points[:, 0, :, 0], points[:, 0, :, 2] = [0.0, 0.2, 0.26], heights
    close(sharing.anchors(points, FLOOR)[:, 0, 0], [0.0, 0.1, 0.2, 0.26 - 0.3 * 0.06], 1e-12)

    count = 11
    feet = np.zeros((count, 2, 3, 3))
    feet[:, 0, :, 0], feet[:, 1, :, 0] = [0.0, 0.2, 0.26], [0.6, 0.8, 0.86]
    number = np.arange(count)
    touching = np.stack([number < 9, number > 1], axis=-1)
    place = np.zeros((count, 3))
    place[:, 0] = np.interp(number, [1, 9], [0.15, 0.65])
    ends = sharing.continued(sharing.anchors(feet, FLOOR), place, feet, touching)
    share = sharing.line_shares(place, ends, touching)
    assert share[1].tolist() == [1.0, 0.0]
    assert share[9].tolist() == [0.0, 1.0]
    assert (np.diff(share[:, 1]) >= 0.0).all()
    assert np.abs(np.diff(share[:, 1])).max() < 0.2  # loads pass over without a jump


def test_a_foot_that_lands_is_loaded_from_zero_on():
    """In the time of landing its share grows by sin^2, and the other foot has the rest; feet that stand keep theirs."""
    from neuler.gait import sharing

    count, step = 12, 0.01
    number = np.arange(count)
    touching = np.stack([number < 9, number > 1], axis=-1)
    share = np.where(touching.all(axis=-1)[:, None], [0.6, 0.4], touching.astype(float))
    found = sharing.from_zero(share, touching, step)
    grown = np.sin(0.5 * np.pi * np.clip((number - 1) * step / sharing.LANDING, 0.0, 1.0)) ** 2
    close(found[:, 1], np.where(touching.all(axis=-1), 0.4 * grown, touching[:, 1]), 1e-15)
    close(found.sum(axis=-1), np.ones(count), 1e-15)
    close(sharing.from_zero(share[:, ::-1], touching[:, ::-1], step), found[:, ::-1], 1e-15)
    stands = np.ones((count, 2), bool)  # both feet from the beginning: nobody lands
    close(sharing.from_zero(np.full((count, 2), 0.5), stands, step), np.full((count, 2), 0.5), 1e-15)
    both = sharing.from_zero(np.stack([share, share[:, ::-1]]), np.stack([touching, touching[:, ::-1]]), step)
    close(both, np.stack([found, found[:, ::-1]]), 1e-15)


def test_one_degree_of_noise():
    """Worse than what 0.1 degree gives, within bounds that are reported, not claimed."""
    walk, exact = known()
    found = gait.Measured(human(), walk.t, walking.noisy(walk.q, 1.0, 5e-4, 1)).loads()
    result = gait.compare(found, exact, where=inner(walk.t), single=True)
    assert result["vertical"].nrmse < 8.0
    assert 5.0 < result["fore_aft"].nrmse < 16.0
    assert result["pressure_mm"] < 60.0
    fixed = gait.Measured(human(), walk.t, walking.noisy(walk.q, 1.0, 5e-4, 1)).loads(adaptive=False)
    assert gait.compare(fixed, exact, where=inner(walk.t), single=True)["pressure_mm"] > 2 * result["pressure_mm"]


def test_many_trials_are_those_one_by_one():
    walk, _ = known()
    trials = np.stack([walking.noisy(walk.q, 0.1, 5e-4, seed) for seed in range(3)])
    together = gait.Measured(human(), walk.t, trials).loads(floor="found", split="line")
    height = together.settings["floor"]
    for k in range(3):
        alone = gait.Measured(human(), walk.t, trials[k]).loads(floor=height, split="line")
        one = together.trial(k)
        for name in ("force", "tau", "share", "foot_force", "center_of_pressure", "joint_forces", "forward"):
            np.testing.assert_allclose(getattr(one, name), getattr(alone, name), rtol=1e-9, atol=1e-9, equal_nan=True)
    with pytest.raises(InputError, match=r"motion needs one trial, these are \(3,\); take one: loads.trial\(0\)"):
        together.motion()


@pytest.mark.slow
def test_no_state_is_computed_alone():
    """A thousand trials take as many calls of Python as ten: kernels and array operations do the rest."""
    walk, _ = known()

    def work(count):
        trials = np.stack([walking.noisy(walk.q[:60], 0.1, 5e-4, seed) for seed in range(10)] * (count // 10))
        measured = gait.Measured(human(), walk.t[:60], trials)
        measured.loads(touching=walk.touching[:60])  # what is compiled and cached once
        return calls(measured.loads, touching=walk.touching[:60])[0]

    assert work(1000) < 1.2 * work(10)


# ---- other robots -------------------------------------------------------------------------------------------------


def test_other_robots_with_legs():
    """A planar biped: its feet are frames that it names, its base three passive joints."""
    from legged_robots import HEEL, TOE, biped

    robot = biped()
    for side in ("right", "left"):
        for name, point in (("heel", HEEL), ("toe", TOE)):
            robot = robot.with_frame(f"{side}_{name}", f"{side}_foot", neuler.Transform(translation=point))
    feet = {side: gait.Foot(f"{side}_heel", f"{side}_toe", f"{side}_toe") for side in ("right", "left")}
    q = np.zeros((30, robot.nq))
    q[:, 1] = 0.95
    q[:, 0] = np.linspace(0.0, 0.01, 30)
    found = gait.ground_loads(robot, times(0.29), q, q * 0, q * 0, feet=feet)
    close(found.force[:, 2], np.full(30, robot.mass * 9.81), 1e-12)
    assert np.abs(found.residual).max() < 1e-9
    assert found.touching.all()
