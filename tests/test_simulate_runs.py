"""What a run can do, and what simulate refuses."""

import inspect
import math

import numpy as np
import pytest

import neuler
from neuler import InputError, Limits, Link, Robot, control
from neuler.simulation import Run, simulate
from simulated_robots import Integrating, pendulum, top

# ---- a run ---------------------------------------------------------------------------------------


def batch():
    robot = neuler.robots.two_link()
    return simulate(robot, [0.1, 0.0], (0.2 * np.arange(12).reshape(2, 3, 2), None), 0.1, every=10)


def test_rows_of_a_batch():
    run = batch()
    assert (run.batch, len(run)) == ((2, 3), 2)
    assert run[1].batch == (3,)
    one = run[1, 2]
    assert one.batch == ()
    np.testing.assert_array_equal(one.q, run.q[1, 2])
    np.testing.assert_array_equal(one.drift, run.drift[1, 2])
    assert [part.batch for part in run] == [(3,), (3,)]
    assert run[run.status == 0].batch == (6,)
    with pytest.raises(InputError, match="single run"):
        one[0]
    with pytest.raises(InputError, match="batch axes"):
        run[0, 0, 3]
    with pytest.raises(TypeError, match="no rows"):
        len(one)


def test_columns_have_names_and_units():
    robot = neuler.robots.stanford()
    run = simulate(robot, None, None, 0.01, loads={"link6": [0, 0, 1, 0, 0, 0]})
    names = list(run.columns)
    assert names[:4] == ["t", "q_joint1", "q_joint2", "q_joint3"]
    assert run.units["q_joint3"] == "m"
    assert run.units["qd_joint1"] == "rad/s"
    assert run.units["tau_joint3"] == "N"
    assert run.units["load_link6_fz"] == "N"
    assert run.units["t"] == "s"
    assert set(run.units) == set(names)
    free = simulate(top(), None, None, 0.01)
    assert [free.units[name] for name in free.names["q"]] == ["m", "m", "m", "", "", "", ""]
    assert free.units["tau_free_mx"] == "N m"


def test_tables_are_those_of_the_run(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run = batch()
    for kind in ("csv", "npz", "parquet"):
        run.save(tmp_path / f"run.{kind}")
    with np.load(tmp_path / "run.npz") as arrays:
        for name in ("t", "q", "qd", "tau", "status", "work", "gap"):
            np.testing.assert_array_equal(arrays[name], getattr(run, name))
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert lines[0].split(",")[:4] == ["run", "t", "q_joint1", "q_joint2"]
    rows = np.array([line.split(",") for line in lines[1:]], dtype=float)
    assert rows.shape == (66, len(run.columns))
    np.testing.assert_array_equal(rows[:, 2:4], run.q.reshape(-1, 2))
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.schema.field("q_joint1").metadata == {b"unit": b"rad"}
    np.testing.assert_array_equal(table["qd_joint2"].to_numpy(), run.qd[..., 1].ravel())
    with pytest.raises(neuler.FormatError, match=r"ends in \.csv, \.npz, \.parquet"):
        run.save(tmp_path / "run.xlsx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv", "run.npz", "run.parquet"]


def test_a_table_feeds_the_command_eval(tmp_path, capsys):
    """What is written is read: energies of the states of a run."""
    from neuler.cli import main

    robot = neuler.robots.two_link()
    run = simulate(robot, None, ([0.5, 0.2], [1.0, 0.0]), 0.1, every=10)
    run.save(tmp_path / "run.csv")
    arguments = ["--in", str(tmp_path / "run.csv"), "--out", str(tmp_path / "e.csv"), "--drop"]
    assert main(["eval", "energy", "two_link", *arguments]) == 0
    found = np.loadtxt(tmp_path / "e.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(found.sum(axis=1), run.energy, rtol=1e-14)


def test_pages_and_figures(tmp_path):
    run = batch()
    run.page(tmp_path / "run.html", rows=4)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "run 1, 0" in text
    assert "run 1, 1" not in text
    figure = run.plot()
    assert len([ax for ax in figure.axes if ax.get_visible()]) == 5
    robot = neuler.robots.four_bar()
    law = control.ComputedTorque(robot, kp=100.0, reference=robot.neutral()[:1])
    figure = simulate(robot, law, None, 0.02).plot()
    dashed = [line for ax in figure.axes for line in ax.lines if line.get_linestyle() == "--"]
    finite = [np.isfinite(line.get_ydata()).all() for line in dashed]
    assert finite == [True, False, False]  # of the crank alone something is asked
    assert "errors, rad" in [ax.get_ylabel() for ax in figure.axes]


@pytest.mark.parametrize(("old", "new"), [("goal", "wanted"), ("led", "followed"), ("other", "work_of_losses")])
def test_old_names_of_fields_are_answered_with_the_new(old, new):
    run = simulate(pendulum(), None, None, 0.01)
    assert hasattr(run, new)
    assert not hasattr(run, old)
    with pytest.raises(AttributeError, match=f"'{old}'; it is called '{new}'"):
        getattr(run, old)


def test_the_summary_is_plain():
    import json

    robot = pendulum(limits=Limits(-1.0, 1.0))
    run = simulate(robot, None, (None, None), 1.0, limits="stop")
    found = run.summary()
    json.dumps(found, allow_nan=False)
    assert found["events"][0]["joint"] == "hinge"
    assert found["energy"]["largest_relative_drift"] < 1e-6
    assert found["rms_error"] is None


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"method": "rk5"}, "there is no method 'rk5'; did you mean 'rk4'"),
        ({"limits": "halt"}, "limits must be"),
        ({"t": -1.0}, "duration must be above zero"),
        ({"t": 0.01234}, "no whole number of steps of 0.001 s; step=0.00102833333 fits"),
        ({"t": math.nan}, "t must be a duration"),
        ({"t": [0.0]}, "at least two times"),
        ({"t": [0.0, 0.1, 0.15]}, "equal distances"),
        ({"t": [0.0, 0.1], "every": 2}, "every is for a duration"),
        ({"step": 0.0}, "step must be above zero"),
        ({"every": 7}, "every = 7 does not divide the 10 steps"),
        ({"every": 0}, "every must be a whole number"),
        ({"x0": [0.1, 0.2, 0.3]}, "x0 must be"),
        ({"x0": ([0.1], [0.0])}, "expected q0 with last axis 2"),
        ({"x0": ([0.1, math.nan], [0.0, 0.0])}, "q0 is not finite"),
        ({"x0": ([0.1, 0.1], [0.0])}, "expected qd0 with last axis 2"),
        ({"x0": ([0.1, 0.1], [0.0, math.inf])}, "qd0 is not finite"),
        ({"x0": (np.zeros((2, 2)), np.zeros((3, 2)))}, "do not broadcast"),
        ({"x0": (np.zeros((0, 2)), None)}, "is empty"),
        ({"controller": [1.0]}, "expected forces with last axis 2"),
        ({"controller": np.zeros((7, 2))}, "forces are given for 7 steps, and there are 10"),
        ({"controller": [1.0, math.nan]}, "the forces are not finite"),
        ({"controller": "pd"}, "must be a function"),
        ({"controller": lambda t, q, qd, m, r: np.zeros(2)}, "returns (tau, memory)"),
        ({"controller": lambda t, q, qd, m, r: (np.zeros(3), m)}, "tau must be numbers of shape (2,)"),
        ({"controller": lambda t, q, qd, m, r: ("x", m)}, "tau must be numbers"),
        ({"loads": {"link2": [1.0, 2.0]}}, "must be 6 finite numbers"),
        ({"loads": [1.0]}, "must map frames to wrenches"),
        ({"loads": {"link2": np.zeros((3, 6))}}, "does not fit the batch"),
        ({"method": "dop853", "x0": (np.zeros((2, 2)), None)}, "integrates a single run"),
        ({"method": "dop853", "rtol": 0.0}, "rtol must be above zero"),
        ({"method": "dop853", "t": [0.0, 0.2, 0.1]}, "times that grow"),
    ],
)
def test_what_is_refused(change, told):
    given = {"controller": None, "x0": None, "t": 0.01, **change}
    with pytest.raises(InputError) as error:
        simulate(neuler.robots.two_link(), given.pop("controller"), given.pop("x0"), given.pop("t"), **given)
    assert told in str(error.value)


def test_states_that_are_none_are_refused():
    with pytest.raises(InputError, match="the loops are open by"):
        simulate(neuler.robots.four_bar(), None, ([1.0, 0.0, 0.0], None), 0.01)
    with pytest.raises(InputError, match="the quaternion of joint 'free' has the length 2"):
        simulate(top(), None, ([0, 0, 0, 0, 0, 0, 2.0], None), 0.01)
    with pytest.raises(InputError, match="nothing that moves"):
        simulate(Robot("block", [Link("base")]), None, None, 0.01)
    with pytest.raises(neuler.RobotError, match="no link or frame"):
        simulate(pendulum(), None, None, 0.01, loads={"rood": np.zeros(6)})
    law = control.GravityPD(neuler.robots.two_link(), kp=1.0, kd=1.0)
    with pytest.raises(InputError, match="gravity_pd has no reference"):
        simulate(neuler.robots.two_link(), law, None, 0.01)
    with pytest.raises(InputError, match="the controller is one of 'two_link' with 2 forces"):
        simulate(pendulum(), law, None, 0.01)
    law = Integrating(neuler.robots.two_link(), [0.0, 0.0])
    law.period = None
    with pytest.raises(InputError, match="with memory needs a period"):
        simulate(neuler.robots.two_link(), law, None, 0.01, method="dop853")
    law.period = 1.5e-3
    with pytest.raises(InputError, match="period"):
        simulate(neuler.robots.two_link(), law, None, 0.01)


@pytest.mark.slow
def test_times_may_start_later_and_be_given():
    robot = pendulum()

    def law(t, q, qd, memory, reference):
        return np.array([3.0 * math.sin(5 * t)]), memory

    whole = simulate(robot, law, ([0.2], None), 0.4, every=20)
    for method in ("rk4", "dop853"):
        later = simulate(robot, law, (whole.q[5], whole.qd[5]), whole.t[5:], method=method)
        np.testing.assert_allclose(later.t, whole.t[5:])
        np.testing.assert_allclose(later.q, whole.q[5:], atol=1e-12 if method == "rk4" else 1e-3)
    uneven = simulate(robot, None, ([0.2], None), [0.0, 0.1, 0.15, 0.4], method="dop853")
    even = simulate(robot, None, ([0.2], None), 0.4, every=10)
    np.testing.assert_allclose(uneven.q, even.q[[0, 10, 15, 40]], atol=1e-9)


def test_it_is_a_function_with_a_signature_and_a_text():
    """Also where the package has been imported: they do not share a name."""
    import neuler.simulation.run

    assert inspect.isfunction(neuler.simulate)
    assert list(inspect.signature(neuler.simulate).parameters)[:4] == ["robot", "controller", "x0", "t"]
    assert "duration (s)" in (inspect.getdoc(neuler.simulate) or "")
    assert neuler.simulation.Run is Run


def test_wide_batches_keep_fewer_states():
    run = simulate(pendulum(), None, None, 20.0, audit=False)
    assert len(run.t) == 10_001


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_controller_may_spoil_what_it_is_given(method):
    def spoils(t, q, qd, memory, reference):
        tau = -5.0 * q - qd
        q *= 0.0
        qd += 7.0
        return tau, memory

    def keeps(t, q, qd, memory, reference):
        return -5.0 * q - qd, memory

    robot = neuler.robots.two_link()
    runs = [simulate(robot, law, ([0.3, 0.2], None), 0.05, method=method) for law in (spoils, keeps)]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_what_is_no_robot_is_refused():
    with pytest.raises(InputError, match="a robot is needed, got str"):
        simulate("puma560", None, None, 1.0)
