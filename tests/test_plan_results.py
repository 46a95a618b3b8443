"""What plans give: samples, files, words, replays and references, on motions from a source of the tests' own."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy.interpolate import BSpline, make_interp_spline

import neuler
from neuler import FormatError, InputError
from neuler.control.pieces import Pieces
from neuler.motions import Bound, Samples
from neuler.plan.planned import Planned, Violation
from neuler.view.motion_figures import stroboscope
from random_robots import few


class Splined:
    """A motion source over SciPy's splines of a robot's own plain coordinates, closed loops assembled in between."""

    contact_frames = ()

    def __init__(self, robot, points, duration, degree=5):
        points = np.asarray(points, dtype=float)
        inner = len(points) - degree
        shares = np.concatenate([np.zeros(degree), np.linspace(0, 1, inner + 1), np.ones(degree)])
        self.robot, self.robots, self.duration = robot, (robot,), duration
        self.curve = BSpline(shares * duration, points, degree)
        self.knots = np.linspace(0, duration, inner + 1)
        self.breaks = np.array([0.0, duration])
        self.force_names = robot.joint_names if not robot.loops else ()

    def evaluate(self, t, order):
        found = [self.curve(t)] + [self.curve.derivative(k)(t) for k in range(1, order + 1)]
        if self.robot.loops:
            found[0] = np.asarray(self.robot.assemble(found[0]).q)
        return found

    def torques(self, t):
        return np.asarray(self.robot.inverse_dynamics(*self.evaluate(t, 2)))

    def torque_rates(self, t):
        return np.asarray(self.robot.inverse_dynamics_rate(*self.evaluate(t, 3)).tau_rate)

    def forces(self, t):
        if self.robot.loops:
            return np.zeros((len(t), 0))
        return np.linalg.norm(np.asarray(self.robot.reaction_wrenches(*self.evaluate(t, 2)))[:, 1:, :3], axis=-1)

    def measure(self, what, t):
        return what(*self.evaluate(t, 3))


def planned(robot, points, duration=0.5, degree=5, **more):
    facts = {"valid": True, "optimal": True, "status": "optimal", "message": "", "objective": duration,
             "worst_violation": 0.0, "solver": "none", **more}  # fmt: skip
    return Planned(robot, Splined(robot, points, duration, degree), **facts)


def two_link(degree=5, **more):
    rng = np.random.default_rng(0)
    return planned(neuler.robots.two_link(), 0.5 * rng.normal(size=(11, 2)).cumsum(axis=0), 0.8, degree, **more)


# ---- samples and files ---------------------------------------------------------------------------


def test_samples_are_the_motion_at_its_times():
    plan = two_link()
    found = plan.sample(count=11)
    assert found.t.tolist() == np.linspace(0, 0.8, 11).tolist()
    np.testing.assert_array_equal(found.qdd, plan.at(found.t).qdd)
    np.testing.assert_allclose(found.tau, plan.robot.inverse_dynamics(found.q, found.qd, found.qdd), atol=1e-12)
    one = plan.at(0.32)
    assert one.q.shape == (2,)
    np.testing.assert_array_equal(one.q, found.q[4])
    assert plan.torques(0.32).shape == (2,)
    uneven = plan.sample(step=0.3).t
    np.testing.assert_allclose(uneven, [0.0, 0.3, 0.6, 0.8])
    np.testing.assert_allclose(plan.sample(step=0.2).t, [0.0, 0.2, 0.4, 0.6, 0.8], atol=1e-15)


def test_samples_are_computed_once(tmp_path, monkeypatch):
    """For tables, figures and pages alike; what a caller does to them is not the plan's affair."""
    plan = two_link()
    asked, torques = [], plan.motion.torques
    monkeypatch.setattr(plan.motion, "torques", lambda t: asked.append(len(t)) or torques(t), raising=False)
    for kind in ("csv", "npz", "json"):
        plan.save(tmp_path / f"plan.{kind}")
    plan.figures()
    plan.plot()
    assert asked == [201, 601]
    first = plan.sample()
    wanted = first.q.copy()
    first.q[:] = 0.0
    np.testing.assert_array_equal(plan.sample().q, wanted)
    assert asked == [201, 601]
    plan.sample(count=20_000)
    plan.sample(count=20_000)  # too many to be stored; they are asked for in parts
    assert sum(asked) == 201 + 601 + 2 * 20_000


def test_samples_are_no_part_of_a_pickle():
    plan = two_link()
    size = len(pickle.dumps(plan))
    plan.sample()
    assert len(pickle.dumps(plan)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan)).sample().q, plan.sample().q)


@pytest.mark.parametrize("kind", ["csv", "npz"])
@pytest.mark.parametrize("name", ["two_link", "five_bar"])
def test_files_come_back(tmp_path, kind, name):
    plan = two_link() if name == "two_link" else five_bar()
    path = tmp_path / f"plan.{kind}"
    plan.save(path, count=31)
    wanted, found = plan.sample(count=31), Samples.load(path, plan.robot)
    for array, values in wanted.arrays.items():
        np.testing.assert_array_equal(getattr(found, array), values)  # every digit
    assert found.force_names == wanted.force_names


def test_the_table_is_one_of_states(tmp_path, capsys):
    """``neuler eval`` takes it as it is, and finds the plan's torques again."""
    from neuler.cli import main

    plan = two_link()
    plan.save(tmp_path / "plan.csv", count=21)
    code = main(["eval", "inverse_dynamics", "two_link", "--in", str(tmp_path / "plan.csv"), "--ignore", "tau_joint*",
                 "--out", str(tmp_path / "out.npz")])  # fmt: skip
    assert code == 0, capsys.readouterr().err
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["tau"], plan.sample(count=21).tau, atol=1e-12)


def test_joint_trajectory(tmp_path):
    plan = two_link()
    plan.save(tmp_path / "plan.json", step=0.05)
    found = json.loads((tmp_path / "plan.json").read_text())
    assert list(found) == ["header", "joint_names", "points"]
    assert found["joint_names"] == ["joint1", "joint2"]
    assert list(found["points"][0]) == ["positions", "velocities", "accelerations", "effort", "time_from_start"]
    times = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in found["points"]]
    sample = plan.sample(step=0.05)
    np.testing.assert_allclose(times, sample.t, atol=1e-9)
    np.testing.assert_array_equal([p["effort"] for p in found["points"]], sample.tau)
    np.testing.assert_array_equal([p["accelerations"] for p in found["points"]], sample.qdd)
    long = planned(plan.robot, np.zeros((6, 2)), 2.5).sample(count=3).joint_trajectory()
    assert [p["time_from_start"] for p in long["points"]] == [
        {"sec": 0, "nanosec": 0}, {"sec": 1, "nanosec": 250_000_000}, {"sec": 2, "nanosec": 500_000_000},
    ]  # fmt: skip


@pytest.mark.slow
def test_a_joint_trajectory_of_loops_has_the_motors():
    """Positions and velocities of the driven joints: these are each other's differences."""
    plan = delta()
    found = plan.sample(step=1e-5).joint_trajectory()
    assert found["joint_names"] == ["leg1.motor", "leg2.motor", "leg3.motor"]
    q, qd, qdd = (np.array([p[key] for p in found["points"]]) for key in ("positions", "velocities", "accelerations"))
    np.testing.assert_allclose(np.diff(q, axis=0)[5000] / 1e-5, (qd[5000] + qd[5001]) / 2, atol=1e-6)
    np.testing.assert_allclose(np.diff(qd, axis=0)[5000] / 1e-5, (qdd[5000] + qdd[5001]) / 2, atol=1e-5)


def test_bad_files_and_times(tmp_path):
    plan = two_link()
    with pytest.raises(FormatError, match=r"\.csv, \.npz, \.parquet, \.json"):
        plan.save(tmp_path / "plan.txt")
    for t in (-0.1, 0.9, [0.1, np.nan], [[0.1]], "x"):
        with pytest.raises(InputError, match=r"from 0 to 0\.8 s"):
            plan.at(t)
    for options in ({"step": 0.0}, {"step": "a"}, {"count": 1}, {"count": 2.5}):
        with pytest.raises(InputError, match="sample"):
            plan.sample(**options)
    plan.save(tmp_path / "plan.csv")
    with pytest.raises(FormatError, match="has no column 'q_joint3'"):
        Samples.load(tmp_path / "plan.csv", neuler.robots.puma560())
    plan.save(tmp_path / "plan.npz")
    with pytest.raises(FormatError, match=r"array 'q'.*must have the shape"):
        Samples.load(tmp_path / "plan.npz", neuler.robots.puma560())
    with pytest.raises(FormatError, match=r"from \.csv and \.npz"):
        Samples.load(tmp_path / "plan.json", plan.robot)


# ---- words ---------------------------------------------------------------------------------------


def test_words_say_what_to_relax():
    worst = Violation("torque", "joint2", 0.1234, 10.5, 10.0, "raise the limit or let it take longer")
    plan = two_link(valid=False, optimal=True, violations=(worst,), worst_violation=worst.relative)
    told = str(plan)
    assert "NOT valid; optimal says none" in told
    assert "torque of joint2 at 0.1234 s is 10.5, bound 10 (passed by 0.5); raise the limit" in told
    assert worst.relative == pytest.approx(0.5 / 11)
    good = two_link(optimal=False, status="limit", worst_violation=3e-9, notes=("a note",))
    assert "valid; not optimal (limit)" in str(good)
    assert "counts as held" in str(good)
    assert str(good).endswith("note: a note")
    assert json.loads(json.dumps(plan.summary(), allow_nan=False))["violations"][0]["excess"] == pytest.approx(0.5)
    lost = two_link(valid=False, objective=np.nan, worst_violation=np.inf)
    assert "not finite" in str(lost)
    assert lost.summary()["objective"] is None


# ---- pieces --------------------------------------------------------------------------------------


def test_pieces_have_exact_derivatives():
    """Of a spline of degree five: those of the traced polynomials are SciPy's, the fifth among them."""
    plan = two_link()
    path = neuler.control.Reference(Pieces.integrated(lambda t: plan.motion.evaluate(t, 3), plan.motion.knots), 5)
    t = np.random.default_rng(1).uniform(0, 0.8, 200)
    found = np.asarray(path(t)).reshape(200, 6, 2)
    for k, wanted in enumerate(plan.motion.evaluate(t, 5)):
        np.testing.assert_allclose(found[:, k], wanted, atol=1e-12 * 10 ** (2 * max(k - 2, 0)), rtol=1e-12)


def test_pieces_halve_where_no_degree_is_enough():
    wild = Pieces.fitted(lambda t: np.sin(60 * t)[:, None], np.array([0.0, 1.0]))
    assert len(wild.times) > 2
    t = np.linspace(0, 1, 101)
    np.testing.assert_allclose([wild(x)[0] for x in t], np.sin(60 * t), atol=1e-11)


# ---- replays -------------------------------------------------------------------------------------


def five_bar():
    robot = neuler.robots.five_bar()
    start = robot.neutral()[robot.coordinates.own.places]
    way = np.array([0, 0, 0, 0.15, 0.4, 0.6, 0.6, 0.6])[:, None] * np.array([0.5, -0.3])
    return planned(robot, start + way, 0.4)


def delta():
    robot = neuler.robots.delta()
    start = robot.neutral()[robot.coordinates.own.places]
    way = np.array([0, 0, 0, 0.5, 1, 1, 1])[:, None] * np.array([0.05, 0.02, 0.03])
    return planned(robot, start + way, 0.3)


@pytest.mark.parametrize("make", few([two_link, five_bar, delta], 2))
def test_without_feedback_the_motion_comes_out(make):
    plan = make()
    run = plan.replay()
    assert run.status == 0
    assert np.abs(run.error).max() < 2e-6
    assert run.gap.max() < 1e-9
    np.testing.assert_allclose(run.q[-1], plan.at(plan.duration).q, atol=2e-6)


def test_the_replay_is_of_the_second_order_and_adaptive_ones_are_exact():
    plan = two_link()
    rough, fine = (np.abs(plan.replay(step=h).error).max() for h in (2e-3, 1e-3))
    assert 3.0 < rough / fine < 5.0
    exact = plan.replay(step=0.01, method="dop853", rtol=1e-11, atol=1e-12)
    assert np.abs(exact.error).max() < 1e-8
    wrong = plan.replay(robot=plan.robot.with_payload("tool", 0.5))
    assert np.abs(wrong.error).max() > 1e-2  # a replay tells a wrong model


def test_replays_go_on_after_the_end():
    robot = neuler.robots.two_link()
    still = planned(robot, np.repeat([[0.2, 0.4]], 3, axis=0).tolist() + [[0.5, 0.1]] * 3, 0.5)
    run = still.replay(after=0.25)
    assert run.t[-1] == pytest.approx(0.75, abs=1e-4)
    late = run.t > 0.5
    assert np.abs(run.error[late]).max() < 1e-5  # it arrives at rest and stays
    with pytest.raises(InputError, match="after must be a time"):
        still.replay(after=-1.0)
    with pytest.raises(InputError, match="step must be a time"):
        still.replay(step=2.0)


def test_forces_that_no_motor_gives_are_left_out():
    """A plan that pushes a passive joint does not come out, and its replay says so."""
    robot = neuler.robots.two_link().with_passive("joint2")
    points = np.array([0, 0, 0, 1, 1, 1])[:, None] * np.array([0.3, 0.6])
    run = planned(robot, points).replay()
    assert np.abs(run.tau[:, 1]).max() == 0.0
    assert np.abs(run.error).max() > 0.01


# ---- references and tracking ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [two_link, five_bar])
def test_computed_torque_keeps_the_plan(make):
    plan = make()
    run = plan.track("computed_torque", kp=900.0)
    assert run.status == 0
    assert np.abs(run.error).max() < 5e-3
    finer = plan.track("computed_torque", step=2.5e-4, kp=900.0)
    assert np.abs(finer.error).max() < 0.3 * np.abs(run.error).max()  # samples held are all that is between them
    off = (plan.at(0.0).q, plan.at(0.0).qd + 0.3)
    caught = plan.track("computed_torque", kp=900.0, x0=off, after=0.5)
    assert np.abs(caught.error).max() > 3e-3
    assert np.abs(caught.error[-1]).max() < np.abs(caught.error).max() / 5


def test_controllers_by_class_and_instance():
    plan = two_link()
    law = neuler.control.ComputedTorque(plan.robot, kp=400.0, period=2e-3)
    run = plan.track(law)
    assert law.reference is None  # it stays as it was
    again = plan.track(neuler.control.ComputedTorque, kp=400.0, period=2e-3)
    np.testing.assert_array_equal(run.q, again.q)
    with pytest.raises(InputError, match="did you mean 'computed_torque'"):
        plan.track("computed_torq", kp=1.0)
    with pytest.raises(InputError, match="has its gains already"):
        plan.track(law, kp=1.0)
    with pytest.raises(InputError, match="kq"):
        plan.track("computed_torque", kq=1.0)
    with pytest.raises(InputError, match="expected a controller"):
        plan.track(3.0)


def test_an_elastic_drive_follows_by_its_own_controller():
    """References of links up to the fourth derivative, as the inverse dynamics of springs needs."""
    robot = neuler.robots.hua_3r()
    own = robot.coordinates.links
    path = np.array([0, 0, 0, 0, 0.3, 0.8, 1, 1, 1, 1])[:, None] * np.array([0.4, -0.3, 0.2])
    curve = make_interp_spline(np.linspace(0, 1, len(path)), path, 5)

    class Links(Splined):
        def evaluate(self, t, order):
            found = [curve.derivative(k)(t) if k else curve(t) for k in range(order + 1)]
            return [np.concatenate([x, x[:, 2:]], axis=1) for x in found]

    source = Links(robot, np.zeros((6, 3)), 1.0)
    source.knots = np.unique(curve.t)
    plan = Planned(robot, source, True, True, "optimal", "", 1.0, 0.0)
    goal = plan.reference(4)
    assert goal.size == own.size == 3
    t = np.linspace(0.01, 0.99, 50)
    wanted = np.concatenate([curve.derivative(k)(t) if k else curve(t) for k in range(5)], axis=1)
    np.testing.assert_allclose(goal(t), wanted, rtol=1e-9, atol=1e-7)
    run = plan.track("elastic_inverse_dynamics", kp=400.0, kd=40.0, kp_motor=900.0, kd_motor=60.0)
    assert run.status == 0
    assert np.abs(run.error).max() < 0.02


def test_a_free_base_has_a_reference_of_quaternions():
    robot = neuler.robots.two_link().with_free_base()
    wing = np.array([0.4, -0.2, 0.3])

    class Turning(Splined):
        """A base that turns about a fixed axis by an angle, exactly."""

        def angle(self, t, order):
            return [self.curve(t)[:, 0]] + [self.curve.derivative(k)(t)[:, 0] for k in range(1, order + 1)]

        def evaluate(self, t, order):
            axis = wing / np.linalg.norm(wing)
            angle, *rates = self.angle(t, order)
            q = np.zeros((len(t), robot.nq))
            q[:, 3:6], q[:, 6] = np.sin(angle / 2)[:, None] * axis, np.cos(angle / 2)
            found = [q]
            for rate in rates:
                qd = np.zeros((len(t), robot.nv))
                qd[:, 3:6] = rate[:, None] * axis
                found.append(qd)
            return found

    source = Turning(robot, np.array([0, 0, 0, 0.5, 1, 1, 1])[:, None], 0.6)
    plan = Planned(robot, source, True, True, "optimal", "", 1.0, 0.0)
    goal = plan.reference()
    t = np.linspace(0.0, 0.6, 41)
    wanted = np.concatenate(source.evaluate(t, 2), axis=1)
    np.testing.assert_allclose(goal(t), wanted, atol=1e-10)
    end = np.asarray(goal(0.7))
    np.testing.assert_allclose(end[: robot.nq], wanted[-1, : robot.nq], atol=1e-12)
    assert not end[robot.nq :].any()


def test_bounds_are_arrays_with_labels():
    bound = Bound("torque", ("joint1",), np.array([-1.0]), np.array([1.0]))
    assert bound.labels == ("joint1",)


# ---- pictures and pages --------------------------------------------------------------------------


def limited(**more):
    lim = np.array([12.0, 12.0])
    points = [[0, -2], [0, -2], [0, -2], [0.1, -2.2], [0.3, -1.6], [0.8, -1.2], [1, -1], [1, -1], [1, -1]]
    bounds = (Bound("torque", ("joint1", "joint2"), -lim, lim),)
    return planned(neuler.robots.two_link(), points, 0.5, bounds=bounds, **more)


def test_figures_show_limits_and_curves():
    plan = limited()
    found = plan.figures()
    assert list(found) == ["torque", "torque_rate", "position", "velocity", "acceleration", "joint_force", "motion"]
    ax = found["torque"].axes[0]
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    np.testing.assert_allclose(curves[1].get_ydata(), plan.torques(curves[1].get_xdata())[:, 1])
    flat = sorted(float(line.get_ydata()[0]) for line in ax.lines if len(line.get_xdata()) == 2)
    assert flat == [-12.0, 12.0]
    assert not [line for line in found["velocity"].axes[0].lines if len(line.get_xdata()) == 2]
    whole = plan.plot()
    assert whole.axes[0].name == "3d"
    assert [ax.get_ylabel() for ax in whole.axes[1:3]] == ["torques, N m", "torque rates, N m/s"]


def test_limits_that_differ_stand_apart_and_as_shares():
    robot = neuler.robots.puma560().without_friction()
    most = np.array([60.0, 100, 30, 4, 2, 1])
    way = np.array([0, 0, 0, 0.2, 0.7, 1, 1, 1])[:, None] * np.array([0.5, -0.4, 0.6, 1.0, -1.0, 1.0])
    plan = planned(robot, way, 0.6, bounds=(Bound("torque", robot.joint_names, -most, most),))
    assert len(plan.figures()["torque"].axes) == 6
    ax = plan.plot().axes[1]
    assert ax.get_ylabel() == "torques, of limits"
    line = next(line for line in ax.lines if line.get_label() == "joint3")
    np.testing.assert_allclose(line.get_ydata(), plan.torques(line.get_xdata())[:, 2] / 30.0)


def test_the_stroboscope_draws_where_the_robot_is():
    """The path of the tip is the forward kinematics written out."""
    plan = limited()
    figure = plan.figures()["motion"]
    path = max(figure.axes[0].lines, key=lambda line: len(line.get_data_3d()[0]))
    x, y, z = path.get_data_3d()
    q = plan.at(np.linspace(0, plan.duration, len(x))).q
    np.testing.assert_allclose(x, 0.4 * np.cos(q[:, 0]) + 0.4 * np.cos(q.sum(axis=1)), atol=1e-12)
    np.testing.assert_allclose(y, 0.4 * np.sin(q[:, 0]) + 0.4 * np.sin(q.sum(axis=1)), atol=1e-12)
    assert not np.any(z)
    with pytest.raises(InputError, match="expected finite positions"):
        stroboscope(plan.robot, np.zeros((3, 5)))


@pytest.mark.parametrize("make", [five_bar, delta])
def test_pictures_of_machines_with_loops(make):
    plan = make()
    whole = plan.plot(poses=4)
    assert len(whole.axes) >= 5
    told = {text.get_text() for ax in whole.axes for text in (ax.get_legend().get_texts() if ax.get_legend() else [])}
    assert "leg1.sway" not in told


def test_a_page_plays_the_plan(tmp_path):
    plan = limited(valid=False, violations=(Violation("torque", "<b>", 0.1, 13.0, 12.0),), worst_violation=0.08)
    plan.page(tmp_path / "plan.html", title="a plan")
    text = (tmp_path / "plan.html").read_text()
    assert "<h1>a plan</h1>" in text
    assert "\n  torque of &lt;b&gt; at 0.1 s is 13" in text
    assert "not valid" in text
    assert '<option value="0.25" selected>' in text
    assert text.count("data:image/svg+xml") >= 5
