"""Loads of measured motion: physics of standing, swaying and jumping, a walk whose forces are known, faulty tables."""

import functools

import numpy as np
import pytest

import complex_listings
import neuler
import walking_motions as walking
from neuler import InputError, gait, robots
from neuler.gait.columns import own_columns
from neuler.gait.filtering import differentiated, smoothed
from neuler.robots.humans import WALKING_FIXED
from random_robots import close
from work import calls

RATE = 100.0


@functools.cache
def human():
    return walking.human()


def index(*names):
    return [human().coordinates[name].v.start for name in names]


def times(duration):
    return np.arange(round(duration * RATE) + 1) / RATE


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


@functools.cache
def known():
    walk = walking.walk()
    return walk, gait.ground_loads(human(), walk.t, walk.q, walk.qd, walk.qdd, touching=walk.touching)


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
        lean = found.foot_force / found.vertical[..., None]
        both = double & (found.share > 0.05).all(axis=-1)
        close(lean[both, 0], lean[both, 1], 1e-9)
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


def test_the_walk_comes_back_from_noisy_angles():
    """0.1 degree and 0.5 mm at 100 Hz, contact found: vertical force within 3 %, fore-aft within 8 % of range."""
    walk, exact = known()
    trials = np.stack([walking.noisy(walk.q, 0.1, 5e-4, seed) for seed in range(5)])
    found = gait.Measured(human(), walk.t, trials).loads()
    assert found.trials == (5,)
    assert np.abs(found.residual).max() < 1e-9
    assert (found.touching != walk.touching).mean() < 0.025
    each = [gait.compare(found.trial(k), exact, where=inner(walk.t), single=True) for k in range(5)]
    assert max(one["vertical"].nrmse for one in each) < 3.0
    assert max(one["fore_aft"].nrmse for one in each) < 8.0
    assert max(one["pressure_mm"] for one in each) < 25.0
    assert min(one["vertical"].correlation for one in each) > 0.99
    total = gait.agreement(
        found.force[..., 2], np.broadcast_to(exact.force[..., 2], found.force.shape[:-1]), exact.weight
    )
    assert total.rmse_body_weight < 3.0


def test_one_degree_of_noise():
    """Worse than what 0.1 degree gives, within bounds that are reported, not claimed."""
    walk, exact = known()
    found = gait.Measured(human(), walk.t, walking.noisy(walk.q, 1.0, 5e-4, 1)).loads()
    result = gait.compare(found, exact, where=inner(walk.t), single=True)
    assert result["vertical"].nrmse < 6.0
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


def test_no_state_is_computed_alone():
    """A thousand trials take as many calls of Python as ten: kernels and array operations do the rest."""
    walk, _ = known()

    def work(count):
        trials = np.stack([walking.noisy(walk.q[:60], 0.1, 5e-4, seed) for seed in range(10)] * (count // 10))
        measured = gait.Measured(human(), walk.t[:60], trials)
        measured.loads(touching=walk.touching[:60])  # what is compiled and cached once
        return calls(measured.loads, touching=walk.touching[:60])[0]

    assert work(1000) < 1.2 * work(10)


# ---- contact --------------------------------------------------------------------------------------------------------


def test_contact_is_found_where_it_is():
    walk, _ = known()
    found = gait.ground_loads(human(), *walk[:4])
    wrong = found.touching != walk.touching
    assert wrong.mean() < 0.03
    # at most two samples before a foot lands or behind where it leaves
    starts = np.diff(walk.touching.astype(int), axis=0) != 0
    near = np.zeros_like(wrong)
    for k in range(-2, 3):
        near[1:] |= np.roll(starts, k, axis=0)
    assert not (wrong & ~near)[3:-3].any()


def test_short_gaps_and_contacts_are_not_believed():
    from neuler.gait.stance import _closed, _opened

    flags = np.array([0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)[:, None]
    closed = _closed(flags, 2)[:, 0].astype(int).tolist()
    assert closed == [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    opened = _opened(flags, 2)[:, 0].astype(int).tolist()
    assert opened == [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]  # what reaches an end stays


def test_contact_may_be_given():
    walk, exact = known()
    named = gait.ground_loads(human(), *walk[:4], touching={"left": walk.touching[:, 1], "right": walk.touching[:, 0]})
    close(named.foot_force, exact.foot_force, 1e-15)
    with pytest.raises(InputError, match="touching must have the feet right, left, got left"):
        gait.ground_loads(human(), *walk[:4], touching={"left": walk.touching[:, 1]})
    with pytest.raises(InputError, match="touching must be true or false"):
        gait.ground_loads(human(), *walk[:4], touching=walk.touching.astype(float))
    with pytest.raises(InputError, match=r"a value for each sample and foot, \(331, 2\), got \(5, 2\)"):
        gait.ground_loads(human(), *walk[:4], touching=walk.touching[:5])


def test_loads_that_no_foot_carries_are_told():
    walk, _ = known()
    found = gait.ground_loads(human(), *walk[:4], touching=np.zeros((len(walk.t), 2), bool))
    assert "no foot stands in 331 samples in which the motion asks for up to 1." in found.notes[0]
    close(found.residual[:, :3], found.force, 1e-9)
    lost = gait.ground_loads(human(), *walk[:4], touching=np.tile([True, False], (len(walk.t), 1)))
    assert "more than 5 cm outside the soles" in lost.notes[0]


# ---- filtering ------------------------------------------------------------------------------------------------------


def test_both_passes_together_halve_the_power_at_the_cutoff_and_delay_nothing():
    t = times(20.0)
    for order in (2, 4, 8):
        for cutoff in (3.0, 6.0, 12.0):
            wave = np.sin(2 * np.pi * cutoff * t)[:, None]
            found, used = smoothed(wave, RATE, cutoff, order)
            middle = slice(500, 1500)
            gain = (found[middle] * wave[middle]).sum() / (wave[middle] ** 2).sum()
            assert gain == pytest.approx(np.sqrt(0.5), abs=2e-3)
            assert used.tolist() == [cutoff]
            late = (found[middle] * np.cos(2 * np.pi * cutoff * t)[middle, None]).sum() / (wave[middle] ** 2).sum()
            assert abs(late) < 1e-3


def test_cutoffs_are_lowered_where_there_is_nothing_to_keep():
    t, random = times(5.0), np.random.default_rng(2)
    slow, fast = np.sin(2 * np.pi * 0.5 * t), 0.05 * np.sin(2 * np.pi * 5.0 * t)
    columns = np.stack([slow, slow + fast, np.zeros_like(t)], axis=-1) + 1e-3 * random.normal(size=(len(t), 3))
    found, used = smoothed(columns, RATE, 8.0, adaptive=True)
    assert used[0] <= 2.0
    assert used[1] >= 5.0
    assert used[2] == 1.0
    kept, fixed = smoothed(columns, RATE, 8.0)
    assert fixed.tolist() == [8.0, 8.0, 8.0]
    exact = np.stack([-((np.pi) ** 2) * slow, -((np.pi) ** 2) * slow - (10 * np.pi) ** 2 * fast, 0 * t], axis=-1)
    error, other = (np.sqrt(((differentiated(t, x)[1] - exact)[50:-50] ** 2).mean(axis=0)) for x in (found, kept))
    assert error[0] < 0.1 * other[0]
    assert error[2] < 0.02 * other[2]
    assert error[1] < 1.1 * other[1]


def test_faulty_filters_are_named():
    trial = gait.Measured(human(), times(1.0), np.zeros((101, 55)))
    for options, message in (
        ({"cutoff": 0.0}, r"cutoff must be above zero \(Hz\)"),
        ({"cutoff": 45.0}, "cutoff is 45 Hz and the rate 100 Hz"),
        ({"order": 3}, "order must be even"),
        ({"limbs": -1.0}, "limbs must be above zero"),
        ({"split": "half"}, "split must be one of 'pivot', 'line'"),
        ({"floor": "under"}, "floor must be a number"),
        ({"thresholds": 0.1}, r"thresholds must be gait.Thresholds\(...\)"),
        ({"feet": {"left": gait.FEET["left"]}}, "feet must map two names"),
        ({"feet": {"a": gait.Foot("r_heal", "r_ball", "r_tip"), "b": gait.FEET["left"]}}, "did you mean 'r_heel'"),
    ):
        with pytest.raises(InputError, match=message):
            trial.loads(**options)


# ---- tables ---------------------------------------------------------------------------------------------------------


def opensim_table(columns=gait.OPENSIM):
    """The walk as OpenSim would have it, in degrees."""
    from neuler.gait.columns import opensim_angles

    walk, _ = known()
    return {"time": walk.t, **opensim_angles(human(), walk.q, columns)}


def own_table(degrees=True):
    walk, _ = known()
    names, units = human().coordinates.names("q"), human().coordinates.units("q")
    scale = [180 / np.pi if degrees and unit == "rad" else 1.0 for unit in units]
    return {"time": walk.t, **dict(zip(names, (walk.q * scale).T, strict=True))}


def test_opensim_files_come_back(tmp_path):
    """Angles written with OpenSim's names, axes and signs are the motion again, of a pelvis that turns every way."""
    t, random = times(1.0), np.random.default_rng(5)
    q = np.zeros((101, 55))
    joints = [joint for joint, _ in gait.OPENSIM.joints.values()] + ["pelvis_x", "pelvis_y", "pelvis_z"]
    joints += ["pelvis_yaw", "pelvis_pitch", "pelvis_roll"]
    q[:, index(*joints)] = 0.4 * np.sin(
        random.uniform(1, 5, len(joints)) * t[:, None] + random.uniform(0, 6, len(joints))
    )
    q[:, index("r_knee_flexion", "l_knee_flexion")] += 0.5
    found = gait.Measured(human(), t, q).loads(cutoff=None, touching=np.ones((101, 2), bool))
    for name, columns in (("a.mot", gait.OPENSIM), ("a.sto", gait.GAIT2392)):
        gait.save_angles(found, tmp_path / name, columns)
        again = gait.Measured.read(tmp_path / name, human(), columns)
        close(again.q, q, 1e-12, scale=1.0)
        assert "held at zero: spine2_flexion" in again.notes[0]


def test_axes_and_signs_of_opensim():
    """Written from the meaning of OpenSim's coordinates, not from our inverse of them."""
    count = 30
    still = {"time": np.arange(count) / 100, **{name: np.zeros(count) for name in gait.OPENSIM.pelvis}}
    still |= {name: np.zeros(count) for name in gait.OPENSIM.joints}
    hips = walking.person().hip_height
    columns = gait.Columns(gait.OPENSIM.joints, "y", (0.1, 0.0, 0.2))

    def q_of(**angles):
        table = still | {"pelvis_ty": np.full(count, 1.0)} | {k: np.full(count, v) for k, v in angles.items()}
        return gait.Measured.of_table(table, human(), columns, degrees=True).q[0]

    def place(q, link):
        return np.asarray(human().compile("link_poses", frame=link)(q))[:3, 3]

    close(place(q_of(), "pelvis"), [-0.1, 0.0, 0.8], 1e-12)  # the point that is given, and the hips below it
    close(place(q_of(pelvis_tx=2.0, pelvis_tz=0.5), "pelvis"), [1.9, -0.5, 0.8], 1e-12)
    assert q_of(pelvis_ty=hips + 0.2)[index("pelvis_z")[0]] == pytest.approx(0.0, abs=1e-12)
    # positive tilt lifts what is in front, positive list the left hip, rotation turns to the left
    head = place(q_of(pelvis_tilt=10.0), "head_top") - place(q_of(pelvis_tilt=10.0), "pelvis")
    assert head[0] < -0.1
    left = place(q_of(pelvis_list=10.0), "l_thigh") - place(q_of(pelvis_list=10.0), "r_thigh")
    assert left[2] > 0.01
    turned = place(q_of(pelvis_rotation=10.0), "l_thigh") - place(q_of(pelvis_rotation=10.0), "r_thigh")
    assert turned[0] < -0.01
    base = q_of()
    ways = {
        "hip_flexion_r": ("r_knee", 0, 1), "hip_adduction_r": ("r_knee", 1, 1), "hip_adduction_l": ("l_knee", 1, -1),
        "knee_angle_r": ("r_foot", 0, -1), "ankle_angle_l": ("l_tip", 2, 1), "lumbar_extension": ("head_top", 0, -1),
        "lumbar_bending": ("head_top", 1, -1), "arm_flex_r": ("r_hand", 0, 1), "arm_add_l": ("l_hand", 1, -1),
        "elbow_flex_l": ("l_hand", 0, 1), "mtp_angle_r": ("r_tip", 2, 1), "hip_rotation_r": ("r_tip", 1, 1),
    }  # fmt: skip
    for column, (link, axis, sign) in ways.items():
        link = link.replace("_knee", "_shank")
        moved = place(q_of(**{column: 20.0}), link) - place(base, link)
        assert sign * moved[axis] > 0.01, column


def test_tables_of_our_own_names(tmp_path):
    walk, _ = known()
    table = own_table()
    text = "\n".join(
        [",".join(table), *(",".join(map(repr, row)) for row in np.stack(list(table.values()), -1).tolist())]
    )
    (tmp_path / "walk.csv").write_text(text)
    trial = gait.Measured.read(tmp_path / "walk.csv", human(), degrees=True)
    close(trial.q, walk.q, 1e-12, scale=1.0)
    assert trial.notes == ()
    assert trial.rate == pytest.approx(100.0)
    with pytest.raises(InputError, match=r"does not say whether angles are in degrees; say degrees=True or"):
        gait.Measured.read(tmp_path / "walk.csv", human())
    radians = gait.Measured.of_table(own_table(degrees=False), human(), degrees=False)
    close(radians.q, walk.q, 1e-12, scale=1.0)
    # names and signs of one's own
    renamed = {("KneeL" if key == "l_knee_flexion" else key): value for key, value in table.items()}
    renamed["KneeL"] = -renamed["KneeL"]
    mapping = {**own_columns(human()).joints, "KneeL": ("l_knee_flexion", -1.0)}
    del mapping["l_knee_flexion"]
    close(gait.Measured.of_table(renamed, human(), mapping, degrees=True).q, walk.q, 1e-12, scale=1.0)
    upright = {key: value for key, value in table.items() if key not in ("pelvis_x", "pelvis_y", "pelvis_z")}
    upright |= dict(
        zip(
            ("pelvis_tx", "pelvis_ty", "pelvis_tz"),
            (walk.q[:, :3] + [0, 0, walking.person().hip_height]).T,
            strict=True,
        )
    )
    z_up = gait.Columns({key: key for key in list(table)[7:]}, "z")
    close(gait.Measured.of_table(upright, human(), z_up, degrees=True).q, walk.q, 1e-12, scale=1.0)
    held = gait.Measured.of_table(
        {key: value for key, value in table.items() if key != "l_elbow_flexion"}, human(), degrees=True,
        held={"l_elbow_flexion": 0.4},
    )  # fmt: skip
    assert (held.q[:, index("l_elbow_flexion")] == 0.4).all()


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet", "mot", "sto"])
def test_loads_on_disk(tmp_path, suffix):
    _, exact = known()
    path = tmp_path / f"loads.{suffix}"
    exact.save(path)
    if suffix == "npz":
        with np.load(path) as found:
            np.testing.assert_array_equal(found["tau"], exact.tau)
            np.testing.assert_array_equal(found["center_of_pressure"], exact.center_of_pressure)
        return
    if suffix in ("mot", "sto"):
        from neuler.files.opensim import read_storage

        found = read_storage(path).columns
        np.testing.assert_array_equal(found["ground_force_right_vy"], exact.foot_force[:, 0, 2])
        np.testing.assert_array_equal(found["ground_force_left_vz"], -exact.foot_force[:, 1, 1])
        np.testing.assert_array_equal(found["ground_torque_left_y"], exact.free_moment[:, 1])
        stands = exact.share[:, 0] > 0.0
        np.testing.assert_array_equal(found["ground_force_right_px"][stands], exact.center_of_pressure[stands, 0, 0])
        return
    pandas = pytest.importorskip("pandas")
    found = pandas.read_csv(path) if suffix == "csv" else pandas.read_parquet(path)
    np.testing.assert_allclose(found["left_vertical"], exact.vertical[:, 1], rtol=1e-15)
    np.testing.assert_allclose(found["tau_r_knee_flexion"], exact.torque("r_knee_flexion"), rtol=1e-15)
    np.testing.assert_allclose(found["force_l_hip_flexion"], exact.joint_force("l_hip_flexion"), rtol=1e-15)


def test_loads_are_a_motion(tmp_path):
    walk, exact = known()
    motion = exact.motion()
    assert motion.duration == pytest.approx(3.3)
    t = walk.t[[3, 60, 200]]
    close(motion.torques(t), exact.tau[[3, 60, 200]], 1e-9)
    close(motion.contact_loads(t)["r_ball"], exact.loads["r_ball"][[3, 60, 200]], 1e-9)
    k = motion.force_names.index("r_knee_flexion")
    close(motion.forces(t)[:, k], exact.joint_force("r_knee_flexion")[[3, 60, 200]], 1e-9)
    motion.save(tmp_path / "walk.csv")
    assert neuler.motions.load(tmp_path / "walk.csv", human()).duration == pytest.approx(3.3)


def test_agreement():
    measured = np.array([0.0, 400.0, 800.0, 400.0, np.nan])
    found = gait.agreement(measured + 10.0, measured, 800.0)
    assert (found.rmse, found.rmse_body_weight, found.nrmse) == pytest.approx((10.0, 1.25, 1.25))
    assert found.correlation == pytest.approx(1.0)
    assert found.samples == 4
    assert "1.25 % of range" in str(found)
    assert gait.agreement(-measured, measured).correlation == pytest.approx(-1.0)
    assert np.isnan(gait.agreement(measured, measured).rmse_body_weight)
    assert gait.pressure_error(np.full((4, 3), 0.003), np.zeros((4, 3))) == pytest.approx(3.0 * np.sqrt(2.0))
    with pytest.raises(InputError, match="two arrays of one shape"):
        gait.agreement([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="no sample that both curves have"):
        gait.agreement([np.nan], [1.0])


# ---- faulty tables --------------------------------------------------------------------------------------------------


def without(table, *names):
    return {key: value for key, value in table.items() if key not in names}


def changed(table, **new):
    return {key: new[key](value) if key in new else value for key, value in table.items()}


def in_radians(table):
    return {
        key: value if key in ("time", *gait.OPENSIM.pelvis[:3]) else np.radians(value) for key, value in table.items()
    }


def with_gap(values):
    values = values.copy()
    values[40:47] = np.nan
    return values


def late(t):
    return np.where(t > 1.0, t + 0.03, t)


FAULTS = {
    "radians marked as degrees": (lambda table: in_radians(table), {}, "they look like radians marked as degrees"),
    "degrees marked as radians": (lambda table: table, {"degrees": False}, "they look like degrees; say degrees=True"),
    "z up instead of y": (
        lambda table: changed(table) | {"pelvis_ty": -table["pelvis_tz"], "pelvis_tz": table["pelvis_ty"]}, {},
        "y is said to point up, .* z seems to point up; take columns with pelvis_up='z'",
    ),
    "missing": (
        lambda table: without(table, "knee_angle_r", "pelvis_tx"), {}, "columns are missing: 'pelvis_tx'.*knee_angle_r",
    ),
    "renamed": (
        lambda table: without(table, "knee_angle_r") | {"knee_angle": table["knee_angle_r"]}, {}, "is it 'knee_angle'",
    ),
    "gap": (
        lambda table: changed(table, hip_flexion_l=with_gap), {},
        "'hip_flexion_l' has no value in 7 samples from 0.4 s on",
    ),
    "frames lost": (lambda table: changed(table, time=late), {}, "frames are missing or times are irregular"),
    "back in time": (lambda table: changed(table, time=lambda t: t[::-1]), {}, "times must rise"),
    "slow": (lambda table: {key: value[::4] for key, value in table.items()}, {}, "25 samples a second are too few"),
    "short": (lambda table: {key: value[:9] for key, value in table.items()}, {}, "9 samples are too few"),
    "millimetres": (
        lambda table: changed(table, **dict.fromkeys(gait.OPENSIM.pelvis[:3], lambda x: 1000 * x)), {},
        "looks like millimetres; divide positions by 1000",
    ),
    "centimetres": (
        lambda table: changed(table, **dict.fromkeys(gait.OPENSIM.pelvis[:3], lambda x: 100 * x)), {},
        "looks like centimetres",
    ),
    "knees the other way": (lambda table: changed(table, knee_angle_l=lambda x: -x), {}, "columns=gait.GAIT2392"),
    "no time": (lambda table: without(table, "time"), {}, "a column 'time' .s. is missing"),
    "held unknown": (lambda table: table, {"held": {"tail": 1.0}}, "'tail' is no joint of robot 'human'"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_tables_are_named(fault):
    change, options, message = FAULTS[fault]
    table = opensim_table()
    gait.Measured.of_table(table, human(), gait.OPENSIM, degrees=True)  # without the fault it is taken
    with pytest.raises(InputError, match=message):
        gait.Measured.of_table(change(table), human(), gait.OPENSIM, **{"degrees": True, **options})


def test_y_up_where_z_is_expected():
    table = opensim_table()
    z_up = gait.Columns(gait.OPENSIM.joints, "z")
    turned = table | dict.fromkeys(("pelvis_yaw", "pelvis_pitch", "pelvis_roll"), np.zeros(len(table["time"])))
    with pytest.raises(
        InputError, match=r"z is said to point up, .* y seems to point up; take columns with pelvis_up='y'"
    ):
        gait.Measured.of_table(turned, human(), z_up, degrees=True)


def test_feet_that_never_touch_are_named():
    walk, _ = known()
    high = walk.q.copy()
    high[:, 2] += 0.2
    with pytest.raises(
        InputError, match=r"the feet never touch the ground: the lowest point of a sole is at 0\.19\d m"
    ):
        gait.Measured(human(), walk.t, high).loads()
    found = gait.Measured(human(), walk.t, high).loads(floor="found")
    assert found.settings["floor"] == pytest.approx(0.2, abs=0.01)
    assert (found.touching != walk.touching).mean() < 0.02
    assert np.nanmax(np.abs(found.center_of_pressure[..., 2] - found.settings["floor"])) < 1e-9
    with pytest.raises(InputError, match=r"in trial 1 \(1 of 2\)"):
        gait.Measured(human(), walk.t, np.stack([walk.q, high])).loads()


def test_a_person_who_stands_still_in_small_degrees_is_no_fault():
    """Small angles are refused only where the body moves: standing people have them."""
    count = 60
    table = {"time": np.arange(count) / 100, **{name: np.full(count, 0.3) for name in human().coordinates.names("q")}}
    table |= {"pelvis_x": np.zeros(count), "pelvis_y": np.zeros(count), "pelvis_z": np.zeros(count)}
    assert gait.Measured.of_table(table, human(), degrees=True).q.max() < 0.01


def test_motions_that_cannot_be_are_named():
    walk, _ = known()
    with pytest.raises(InputError, match="quaternions or loops; measured angles need a person with"):
        gait.Measured(robots.human(base="free"), walk.t, np.zeros((len(walk.t), 56)))
    gap = walk.q.copy()
    gap[2, index("l_toe_extension")] = np.nan
    with pytest.raises(InputError, match=r"'l_toe_extension' has no value at 0.02 s \(1 in all\)"):
        gait.Measured(human(), walk.t, gap)
    with pytest.raises(InputError, match="has no base that moves without motors"):
        gait.ground_reaction(robots.puma560(), feet=(gait.Foot("link6", "link5", "link6"),))
    with pytest.raises(InputError, match="with a sample for each of 331 times"):
        gait.ground_loads(human(), walk.t, walk.q[:9], walk.qd[:9], walk.qdd[:9])
    with pytest.raises(InputError, match="column 'Knee' is mapped to 'knee', no joint of robot 'human'"):
        gait.Measured.of_table(own_table(), human(), {"Knee": "knee"}, degrees=True)


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
