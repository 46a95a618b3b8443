"""Exciting motions: their derivatives, their limits on a fine grid, and what identification gains by them."""

import dataclasses
import importlib.metadata
import inspect
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import identify, plan
from neuler.identify.criterion import Criterion, condition_of
from neuler.identify.diagnosis import excitation
from neuler.identify.excite import _base
from neuler.identify.exciting_limits import kept_limits
from neuler.identify.exciting_search import ROOM, Search
from neuler.identify.information import Experiment, RegressorRows
from neuler.motions.fourier import FourierProfiles, fourier_basis
from neuler.plan.fourier import FourierTranscription

REFERENCE = Path(__file__).parents[2] / "shared" / "reference" / "identify" / "ur10" / "ur10_nominal.urdf"
SLOW = plan.within(plan.velocity, 3.0)
ARM = {"reach": 1.2, "limits": [SLOW], "starts": 1, "columns": "links"}


@pytest.fixture(scope="module")
def three():
    """The first three joints of a PUMA, with gravity, friction and limits of their own."""
    robot = neuler.robots.puma560()
    return robot.with_fixed(dict.fromkeys(robot.joint_names[3:], 0.0))


@pytest.fixture(scope="module")
def found(three):
    return identify.excite(three, 5.0, **ARM)


def random_motion(robot, reach, speed, T, seed):
    """A random sum of five sines within a range and velocities, as large as they allow, at 100 Hz."""
    random, s = np.random.default_rng(seed), np.arange(round(100 * T)) / round(100 * T)
    c = random.normal(size=(11, robot.nv))
    c[0] = 0.0
    q, qd, qdd = (fourier_basis(5, s, k) @ c / T**k for k in range(3))
    size = np.minimum(reach / np.abs(q).max(axis=0), speed / np.abs(qd).max(axis=0))
    return q * size, qd * size, qdd * size


# ---- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [Criterion(0.0, 1.0), Criterion(1.0, 0.0, 3.0), Criterion(1.0, 0.1, 24.0)])
def test_derivatives_of_criteria(criterion):
    random = np.random.default_rng(4)
    A = random.normal(size=(30, 6)) * np.exp(random.normal(size=6))
    M, moves, h = A.T @ A, random.normal(size=(4, 6, 6)), 1e-5
    moves = moves + moves.transpose(0, 2, 1)
    judged = criterion(M)
    values = [(criterion(M + h * X).value - criterion(M - h * X).value) / (2 * h) for X in moves]
    assert np.allclose([(judged.gradient * X).sum() for X in moves], values, rtol=1e-7, atol=1e-9)
    slopes = [(criterion(M + h * X).gradient - criterion(M - h * X).gradient) / (2 * h) for X in moves]
    second = [[(slope * Z).sum() for Z in moves] for slope in slopes]
    assert np.allclose(judged.second(moves), second, rtol=1e-6, atol=1e-8 * np.abs(second).max())


def test_second_derivatives_where_eigenvalues_are_alike():
    criterion, M, h = Criterion(1.0, 0.1, 4.0), np.diag([1.0, 4.0, 9.0]), 1e-4
    X = np.array([[[0.0, 1.0, 0.5], [1.0, 0.0, -0.3], [0.5, -0.3, 0.0]]])
    numbers = (criterion(M + h * X[0]).value - 2 * criterion(M).value + criterion(M - h * X[0]).value) / h**2
    assert criterion(M).second(X)[0, 0] == pytest.approx(numbers, rel=1e-4)


def test_the_smoothed_condition_number_is_above_the_true_one_and_tends_to_it():
    A = np.random.default_rng(0).normal(size=(40, 5))
    true = np.log(condition_of(A.T @ A)[0])
    smooth = [Criterion(1.0, 0.0, s)(A.T @ A).value for s in (1.0, 4.0, 16.0, 64.0)]
    assert all(a > b > true for a, b in itertools.pairwise(smooth))
    assert smooth[-1] - true < np.log(5) / 64 + 1e-12


def test_figures_of_a_matrix_are_those_of_its_regressor():
    W = np.random.default_rng(1).normal(size=(50, 2, 4)) * [1.0, 10.0, 0.1, 3.0]
    A = W.reshape(-1, 4)
    scaled, plain, log_det = condition_of(A.T @ A)
    assert scaled == pytest.approx(np.linalg.cond(A / np.linalg.norm(A, axis=0)))
    assert plain == pytest.approx(np.linalg.cond(A))
    assert log_det == pytest.approx(np.linalg.slogdet(A.T @ A)[1])
    assert condition_of(np.diag([1.0, 0.0])) == (np.inf, np.inf, -np.inf)


@pytest.mark.parametrize("harmonics", [None, 3])
def test_derivatives_of_the_objective(three, harmonics):
    """Against central differences, over all variables of a programme with known information."""
    kept = kept_limits(three, 1.0, None, (1.0, 1.0), None, [SLOW], as_rows=harmonics is not None)
    base = three.base_parameters(("links", "rotors"))
    statement = plan.Plan(three, duration=4.0, limits=kept.limits, robot_limits=False, degree=5, control_points=12)
    transcription = statement.transcription
    if harmonics is not None:
        transcription = FourierTranscription.of(transcription, harmonics)
    rows = RegressorRows(transcription.phases[0].model, base.names)
    precision = np.array([1.0, 4.0, 0.25])
    experiment = Experiment(rows, precision, 400.0, np.eye(len(base)))
    search = Search(statement, transcription, experiment, base.regressor(), kept, (), 0.0, None)
    profiles = transcription.profiles()
    x = search._random(profiles, np.random.default_rng(0), ROOM)
    block = experiment.block(profiles[0], len(x), Criterion(1.0, 0.2, 6.0))
    y, step = x[block._columns], 1e-6

    def gradient(y):
        z = x.copy()
        z[block._columns] = y
        inputs = block.inputs(z)
        return (block.gradient_operator(len(x)) @ block.jacobian_entries(inputs))[block._columns], inputs

    def value(y):
        return block.values(gradient(y)[1])[0, 0]

    slope, inputs = gradient(y)
    H = np.zeros((len(y),) * 2)
    H[np.tril_indices(len(y))] = block.hessian_entries(inputs, np.ones((1, 1)))
    H = H + np.tril(H, -1).T
    for seed in range(3):
        move = np.random.default_rng(seed).normal(size=len(y))
        numbers = (value(y + step * move) - value(y - step * move)) / (2 * step)
        assert slope @ move == pytest.approx(numbers, rel=1e-6, abs=1e-7)
        bent = (gradient(y + step * move)[0] - gradient(y - step * move)[0]) / (2 * step)
        assert np.abs(H @ move - bent).max() < 1e-6 * np.abs(bent).max()
    # what the block takes for M is that of the robot's own regressor at its points
    q, qd, qdd = (c / 4.0**k for k, c in enumerate(profiles[0].evaluate(x, profiles[0].grid, 2)))
    Y = base.regressor()(q, qd, qdd)
    weights = 400.0 * profiles[0].weights[:, None] * precision
    M = np.einsum("ti,tia,tib->ab", weights, Y, Y) + np.eye(len(base))
    assert value(y) == pytest.approx(Criterion(1.0, 0.2, 6.0)(M).value, rel=1e-9)


def test_fourier_profiles_are_their_series():
    random, s, h = np.random.default_rng(2), np.linspace(0.0, 1.0, 9), 1e-5
    grid = np.linspace(0.0, 1.0, 5)
    mine = FourierProfiles(2, 9, grid, grid, grid, harmonics=3)
    x = random.normal(size=15)
    c = x[:14].reshape(7, 2)
    k = np.arange(1, 4)
    angle = 2 * np.pi * k * s[:, None]
    assert np.allclose(mine.evaluate(x, s, 0)[0], c[0] + np.sin(angle) / k @ c[1:4] + np.cos(angle) / k @ c[4:])
    for order in range(3):
        ahead, back = (mine.evaluate(x, s + step, order)[order] for step in (h, -h))
        assert np.allclose((ahead - back) / (2 * h), mine.evaluate(x, s, order + 1)[order + 1], rtol=1e-6, atol=1e-4)
        terms = mine.coefficients(0.3, order, 1)
        wanted = mine.evaluate(x, np.array([0.3]), order)[order][0, 1]
        assert sum(v * x[place] for place, v in terms.items()) == pytest.approx(wanted)
        z = mine.input_matrix([f"c{order}"], s, len(x)) @ x
        assert np.allclose(z.reshape(-1, 2), mine.evaluate(x, s, order)[order])


# ---- motions -------------------------------------------------------------------------------------------------------


def test_limits_hold_on_a_fine_grid(three, found):
    assert found.valid
    assert found.worst_violation <= 1e-6
    assert found.checked_points >= 10 * len(found.motion.profiles[0].grid)
    t = np.linspace(0.0, 5.0, 5001)
    state = found.at(t)
    limits = [joint.limits for joint in three.joints if joint.moves]
    lower, upper = (np.array([getattr(each, side) for each in limits]) for side in ("lower", "upper"))
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(bounded, 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0)), 0.0)
    assert (np.abs(state.q - middle) <= 1.2 + 1e-6).all()
    assert (np.abs(state.qd) <= 3.0 + 4e-6).all()
    effort = 0.8 * np.array([each.effort for each in limits])
    assert (np.abs(three.inverse_dynamics(*state[:3])) <= effort * (1 + 1e-6) + 1e-6).all()
    first, last = found.at(0.0), found.at(5.0)
    for a, b in zip(first, last, strict=True):
        assert np.allclose(a, b, atol=1e-8)  # it can be repeated


def test_it_is_better_than_random_motions(three, found):
    kernel = found.base.regressor()
    random = [excitation(kernel(*random_motion(three, 1.2, 3.0, 5.0, seed))).scaled_condition for seed in range(20)]
    W = kernel(*found.at(np.arange(3000) / 3000 * 5.0)[:3])
    again = excitation(W, found.base.names)
    assert again.scaled_condition == pytest.approx(found.scaled_condition, rel=1e-2)
    assert again.condition == pytest.approx(found.condition, rel=1e-2)
    assert found.scaled_condition < 0.8 * min(random)
    assert found.scaled_condition < 0.6 * np.median(random)
    assert found.tried[0].first > found.scaled_condition
    assert len(found.excitation.directions) == 3
    assert found.excitation.directions[0].singular_value == pytest.approx(1 / found.scaled_condition, rel=1e-2)


def test_what_it_says(found):
    text = str(found)
    assert "valid" in text
    assert f"{found.scaled_condition:.3g}" in text
    assert "least determined" in text
    summary = found.summary()
    assert json.loads(json.dumps(summary))["scaled_condition"] == found.scaled_condition
    assert summary["seeds"] == [0]
    assert "scaled condition" in repr(found)


@pytest.mark.parametrize("options", [{}, {"harmonics": 4}])
def test_from_rest_to_rest(options):
    found = identify.excite(neuler.robots.two_link(), 4.0, rest=True, **ARM, **options)
    assert found.valid
    for t in (0.0, 4.0):
        state = found.at(t)
        assert np.abs(state.qd).max() < 1e-9
        assert np.abs(state.qdd).max() < 1e-8
    assert np.allclose(found.at(0.0).q, found.at(4.0).q)
    assert found.scaled_condition <= 4.2


@pytest.mark.slow
def test_the_same_seed_gives_the_same_motion():
    arm, t = neuler.robots.two_link(), np.linspace(0.0, 4.0, 50)
    one, two, other = (identify.excite(arm, 4.0, **ARM, harmonics=2, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.at(t).q, two.at(t).q)
    assert not np.allclose(one.at(t).q, other.at(t).q)
    both = identify.excite(arm, 4.0, **(ARM | {"starts": 2}), harmonics=2, seed=3)
    assert [each.seed for each in both.tried] == [3, 4]
    assert both.log_det == pytest.approx(max(one.log_det, other.log_det))  # both are conditioned well enough


def test_criteria_are_what_they_say():
    arm = neuler.robots.two_link()
    by = {
        name: identify.excite(arm, 4.0, **ARM, harmonics=3, criterion=name)
        for name in ("condition", "balanced", "information")
    }
    assert by["condition"].scaled_condition < by["balanced"].scaled_condition
    assert by["balanced"].scaled_condition <= 4.2
    assert by["information"].log_det > by["condition"].log_det + 1.0
    assert by["balanced"].log_det > by["condition"].log_det
    tight = identify.excite(arm, 4.0, **ARM, harmonics=3, target=1.5)
    assert tight.scaled_condition <= 1.5


@pytest.mark.slow
def test_units_of_columns_do_not_matter_but_forces_do():
    arm = neuler.robots.two_link()
    even = identify.excite(arm, 4.0, **ARM, harmonics=3)
    loud = identify.excite(arm, 4.0, **ARM, harmonics=3, force_sd=[10.0, 1.0])
    alike = identify.excite(arm, 4.0, **ARM, harmonics=3, force_sd=2.0)
    assert alike.scaled_condition == pytest.approx(even.scaled_condition, rel=1e-3)
    W = loud.base.regressor()(*loud.at(np.arange(2000) / 500)[:3]) / np.array([10.0, 1.0])[:, None]
    assert excitation(W).scaled_condition == pytest.approx(loud.scaled_condition, rel=1e-2)


@pytest.mark.slow
def test_accelerations_and_limits_that_replace_those_of_the_robot(three):
    tight = plan.limit(plan.position, {three.joint_names[1]: -0.3}, {three.joint_names[1]: 0.2})
    found = identify.excite(three, 5.0, acceleration=4.0, harmonics=3, starts=1, limits=[SLOW, tight], columns="links")
    state = found.at(np.linspace(0.0, 5.0, 2000))
    assert found.valid
    assert np.abs(state.qdd).max() <= 4.0 + 5e-6
    assert state.q[:, 1].min() >= -0.3 - 2e-6
    assert state.q[:, 1].max() <= 0.2 + 2e-6


def test_obstacles_are_kept_clear_of():
    arm = neuler.robots.two_link()
    wall = plan.clear_of([plan.Ball("tool", 0.05)], [plan.HalfSpace((0.6, 0, 0), (-1, 0, 0))], margin=0.01)
    found = identify.excite(arm, 4.0, **(ARM | {"limits": [SLOW, wall]}), harmonics=3)
    assert found.valid
    x = arm.compile("link_poses", frame="tool")(found.at(np.linspace(0.0, 4.0, 2000)).q)[:, 0, 3]
    assert x.max() <= 0.54 + 2e-6
    free = identify.excite(arm, 4.0, **ARM, harmonics=3)
    assert arm.compile("link_poses", frame="tool")(free.at(np.linspace(0.0, 4.0, 2000)).q)[:, 0, 3].max() > 0.6


@pytest.mark.slow
def test_friction_and_rotors_can_be_asked_for():
    rough = neuler.robots.two_link().with_parameters({"joint1.coulomb": 0.5, "joint2.viscous": 0.1})
    found = identify.excite(rough, 4.0, **(ARM | {"columns": ("links", "friction", "rotors")}), harmonics=3)
    assert found.valid
    assert {"joint1.coulomb", "joint2.viscous", "joint2.rotor_inertia"} <= set(found.base.names)
    W = found.base.regressor()(*found.at(np.arange(3000) / 750)[:3])
    assert excitation(W).scaled_condition == pytest.approx(found.scaled_condition, rel=2e-2)
    assert found.scaled_condition < 10.0


@pytest.mark.slow
def test_a_loop():
    bar = neuler.robots.four_bar()
    found = identify.excite(bar, 4.0, reach=1.0, limits=[plan.within(plan.velocity, 2.0)], starts=1, columns="links")
    q = found.at(np.linspace(0.0, 4.0, 300)).q
    assert found.valid
    assert np.abs(bar.closure(q).open_by).max() < 1e-6
    assert found.scaled_condition < 0.5 * found.tried[0].first


# ---- in use --------------------------------------------------------------------------------------------------------


def test_files_are_read_back(three, found, tmp_path):
    found.save(tmp_path / "motion.csv", step=0.01)
    again = neuler.motions.load(tmp_path / "motion.csv", three)
    t = np.linspace(0.0, 5.0, 77)
    assert np.allclose(again.at(t).q, found.at(t).q, atol=1e-6)
    found.save(tmp_path / "motion.json", step=0.01)
    message = json.loads((tmp_path / "motion.json").read_text())
    assert message["joint_names"] == list(three.joint_names)
    points = message["points"]
    times = np.array([p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points])
    assert np.allclose([p["positions"] for p in points], found.at(times).q, atol=1e-8)
    assert np.allclose([p["effort"] for p in points], found.torques(times), atol=1e-6)
    log = identify.Log.read(tmp_path / "motion.csv", three)
    assert len(log.t) == 501


def test_a_series_can_be_replayed_and_followed():
    arm = neuler.robots.two_link()
    found = identify.excite(arm, 4.0, **ARM, harmonics=3)
    assert found.replay().error.max() < 1e-5
    followed = found.track("computed_torque", kp=400.0, kd=40.0)
    assert np.abs(followed.q[-1] - found.at(4.0).q).max() < 1e-3


def simulated(robot, q, qd, qdd, seed):
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.2 * np.random.default_rng(seed).normal(size=tau.shape)
    return identify.Log(robot, np.arange(len(q)) / 100, q, tau, qd, qdd, name=f"log{seed}")


@pytest.mark.slow
def test_standard_deviations_are_smaller_than_with_random_motions(three, found):
    rigid = three.without_friction()
    design = identify.excite(rigid, 5.0, **ARM)
    t = np.arange(500) / 100
    settings = {"cutoff": float("inf"), "torque_cutoff": 20.0, "check": False}
    good = identify.fit(simulated(rigid, *design.at(t)[:3], 1), columns="links", **settings)
    others = [
        identify.fit(simulated(rigid, *random_motion(rigid, 1.2, 3.0, 5.0, seed), seed), columns="links", **settings)
        for seed in (2, 3, 4)
    ]
    assert good.estimate.names == others[0].estimate.names
    ratios = [good.estimate.sd / each.estimate.sd for each in others]
    assert all(np.exp(np.log(ratio).mean()) < 0.8 for ratio in ratios)
    assert good.excitation.scaled_condition < min(each.excitation.scaled_condition for each in others)


def test_what_is_known_is_added_to():
    rigid = neuler.robots.two_link()
    q, qd, qdd = random_motion(rigid, 0.4, 1.0, 5.0, 7)
    for x in (q, qd, qdd):
        x[:, 1] = 0.3 * x[:, 0]  # joints that move together tell little apart
    log = simulated(rigid, q, qd, qdd, 7).prepare(float("inf"), check=False)
    before = identify.fit(log, columns="links")
    more = identify.excite(rigid, 5.0, **ARM, harmonics=3, known=log)
    assert more.valid
    assert more.scaled_condition < 0.7 * more.known_condition
    W0, W = log.filter(more.base.regressor()(log.q, log.qd, log.qdd)), more.base.regressor()(*more.at(log.t)[:3])
    alone = excitation(W0, more.base.names)
    assert more.known_condition == pytest.approx(alone.scaled_condition, rel=0.2)  # rows at rest are left out there
    both = excitation(np.concatenate([W0, W]), more.base.names)
    assert both.scaled_condition < 0.7 * alone.scaled_condition
    after = identify.excite(rigid, 5.0, **ARM, harmonics=3, known=before)
    assert after.base.names == before.estimate.names
    assert after.scaled_condition < 0.7 * after.known_condition
    A = W0.reshape(-1, W0.shape[2])
    plain = identify.excite(rigid, 5.0, **ARM, harmonics=3, known=A.T @ A)
    assert plain.known_condition == pytest.approx(alone.scaled_condition, rel=1e-6)


# ---- bad input -----------------------------------------------------------------------------------------------------

BAD = {
    "no velocity limit of 'joint1', 'joint2'": {"limits": []},
    "duration must be above zero": {"duration": 0.0},
    "duration must be finite": {"duration": float("nan")},
    "duration must be a number": {"duration": "long"},
    "leave 'joint1', 'joint2' no motion": {"limits": [SLOW, plan.limit(plan.velocity, lower=5.0)]},
    "leave 'joint2' no motion": {"limits": [plan.within(plan.velocity, [3.0, 0.0])]},
    "lower bound 2 is above": {"limits": [SLOW, plan.limit(plan.position, 2.0, 1.0)]},
    "center has joint1 at 0, outside": {"limits": [SLOW, plan.limit(plan.position, 2.0, 3.0)], "center": [0.0, 0.0]},
    "none called 'lnks'; did you mean 'links'": {"columns": "lnks"},
    "depends on 'link1.mass', whatever": {"columns": ("link2", "link1.mass")},
    "columns must be a name": {"columns": ()},
    "harmonics must be a whole number": {"harmonics": 0},
    "control_points must be a whole number": {"control_points": 4},
    "did you mean 'condition'": {"criterion": "conditon"},
    "reach must be one number above zero": {"reach": -1.0},
    "center must be 2 positions": {"center": [0.0]},
    "velocity, a share of the robot's limits, must be above zero": {"velocity": 0.0},
    "acceleration must be one number above zero": {"acceleration": [1.0, 2.0, 3.0]},
    "limits are made by": {"limits": [plan.total(plan.effort(), upper=3.0)]},
    "target must be above 1": {"target": 0.5},
    "rest must be True or False": {"rest": "yes"},
    "force_sd must be one number above zero": {"force_sd": [1.0, 0.0]},
    "known must be logs": {"known": 3},
    "known must be symmetric": {"known": np.arange(16.0).reshape(4, 4)},
    "rate must be above zero": {"rate": 0.0},
    "seed must be a whole number": {"seed": -1},
    "starts must be a whole number": {"starts": 0},
    "seconds must be above zero": {"seconds": -1.0},
    "unknown solver": {"solver": "none"},
    "progress must be": {"progress": 3},
    "a robot is needed": {"robot": "two_link"},
    "determine 0 of 4 columns": {"harmonics": 1, "rest": True},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    options = {"robot": neuler.robots.two_link(), "duration": 4.0} | ARM | BAD[message]
    with pytest.raises(neuler.InputError, match=message):
        identify.excite(options.pop("robot"), options.pop("duration"), **options)


def test_robots_that_cannot_be_moved_at_will(three):
    with pytest.raises(neuler.InputError, match="a free base or a passive joint"):
        identify.excite(neuler.robots.puma560().with_free_base(), 4.0, **ARM)
    weak = [SLOW, plan.within(plan.torque, {three.joint_names[1]: 0.5})]
    with pytest.raises(neuler.InputError, match="against gravity at none of"):
        identify.excite(three, 4.0, limits=weak, reach=0.3, center=[0.0, 0.0, 0.0], columns="links")
    other = identify.fit(simulated(three, *random_motion(three, 1.0, 3.0, 5.0, 0), 0), columns="links", check=False)
    with pytest.raises(neuler.InputError, match="another robot"):
        identify.excite(neuler.robots.two_link(), 4.0, **ARM, known=other)
    with pytest.raises(neuler.InputError, match="columns that are not"):
        identify.excite(three, 4.0, **(ARM | {"columns": ("links", "rotors")}), known=other)


def test_a_slide_without_end_needs_a_reach():
    slide = neuler.robots.prismatic_revolute()
    endless = dataclasses.replace(
        slide, joints=tuple(dataclasses.replace(each, limits=type(each.limits)()) for each in slide.joints)
    )
    with pytest.raises(neuler.InputError, match="slides without end"):
        identify.excite(endless, 4.0, limits=[SLOW], starts=1)
    found = identify.excite(endless, 4.0, **(ARM | {"reach": [0.3, 1.0]}), harmonics=3)
    assert found.valid


def test_what_fit_looks_for_by_default_shows():
    """A slide that links alone need not move: friction and rotor of it are looked for, too."""
    parameters = inspect.signature(identify.excite).parameters, inspect.signature(identify.fit).parameters
    assert parameters[0]["columns"].default == parameters[1]["columns"].default
    drive = {"joint1.coulomb": 4.0, "joint1.viscous": 2.0, "joint1.rotor_inertia": 0.5}
    lift = neuler.from_dh([{"kind": "prismatic", "mass": 3.0}], gravity=(0.0, 0.0, -9.81)).with_parameters(drive)
    options = {"limits": [plan.within(plan.velocity, 0.5)], "reach": 0.1, "harmonics": 3, "starts": 1}
    design = identify.excite(lift, 5.0, **options)
    log = simulated(lift, *design.at(np.arange(500) / 100)[:3], 1)
    found = identify.fit(log, cutoff=float("inf"), torque_cutoff=20.0, check=False)
    assert found.base.names == design.base.names
    assert found.excitation.scaled_condition < 3.0 * design.scaled_condition
    assert _base(lift, parameters[0]["columns"].default, found) is found.base


# ---- robots of industry --------------------------------------------------------------------------------------------


def universal(name):
    if name == "ur10":
        if not REFERENCE.exists():
            pytest.skip("the UR10 of the reference data is not here")
        return neuler.load(REFERENCE)
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots/ur_description/urdf")))
    return neuler.load(folder / "ur5_robot.urdf")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bound"), [("ur10", 5.0), ("ur5", 4.5)])
@pytest.mark.parametrize("options", [{}, {"harmonics": 5}])
def test_universal_robots(name, bound, options):
    robot = universal(name)
    found = identify.excite(robot, 10.0, reach=1.2, columns="links", **options)
    assert len(found.base) == 36
    assert found.valid
    assert found.scaled_condition <= bound
    t = np.linspace(0.0, 10.0, 4001)
    q, qd, qdd, _ = found.at(t)
    limits = [joint.limits for joint in robot.joints if joint.moves]
    assert np.abs(q).max() <= 1.2 + 3e-6
    assert (np.abs(qd) / [each.velocity for each in limits]).max() <= 0.7 + 1e-5
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)) / [each.effort for each in limits]).max() <= 0.8 + 1e-5
