"""The examples of plans do what they say; most take long and run with the slow tests."""

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from neuler.files.problems import Problem
from neuler.plan.problem import read_plan

FOLDER = Path(__file__).resolve().parent.parent / "examples"
PROBLEMS = sorted(path.name for path in FOLDER.glob("*.toml") if "[goal]" in path.read_text())


@pytest.fixture
def example(monkeypatch, tmp_path):
    """By name: the module of an example; what it writes goes to a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def loaded(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


def solved(name, *changes):
    problem = Problem.read(FOLDER / f"{name}.toml")
    for table, key, value in changes:
        problem.table.setdefault(table, {})[key] = value
    return read_plan(problem).run()


def test_all_problems_are_read():
    assert len(PROBLEMS) >= 6
    assert {"barman_4_1.toml", "barman_4_2.toml", "delta_pick.toml"} <= set(PROBLEMS)


def test_an_arm_with_springs_stops_without_vibration(example, capsys):
    """A millionth of what is left where the springs are ignored."""
    module = example("plan_elastic")
    found = module.plans()
    assert all(each.valid for each in found.values())
    done = module.runs(found)
    duration = found["springs known"].duration
    known, ignored = (module.left(run, duration) for run in done.values())
    assert (known < 1e-5).all()
    assert (ignored > 0.02).all()
    module.picture(done, duration)
    assert "written" in capsys.readouterr().out
    assert Path("plan_elastic.png").stat().st_size > 20_000


@pytest.mark.slow
def test_the_least_peak_of_forces_is_below_that_of_least_effort():
    gentle = solved("least_force")
    cheap = solved("least_force", ("objective", "peak_joint_force", 0.0), ("objective", "effort", 1.0))
    t = np.linspace(0, gentle.duration, 2001)
    assert gentle.valid
    assert cheap.valid
    assert gentle.forces(t).max() < 0.9 * cheap.forces(t).max()
    squares = [np.trapezoid((each.torques(t) ** 2).sum(axis=1), t) for each in (gentle, cheap)]
    assert squares[1] < squares[0]


@pytest.mark.slow
def test_a_delta_robot_picks_and_places():
    found = solved("delta_pick")
    assert found.valid
    t = np.linspace(0, found.duration, 1001)
    q = found.at(t).q
    np.testing.assert_allclose(q[[0, -1], :3], [[-0.10, -0.03, -0.55], [0.12, 0.05, -0.55]], atol=1e-7)
    above = (t > 0.25 * found.duration) & (t < 0.75 * found.duration)
    assert q[above, 2].min() > -0.505 - 1e-6
    assert np.linalg.norm(np.asarray(found.robot.closure(q).open_by), axis=-1).max() < 1e-7
    assert np.abs(found.replay(audit=False).error[-1]).max() < 1e-5


@pytest.mark.slow
def test_a_space_robot_keeps_its_attitude(example, capsys):
    module = example("plan_space")
    machine = module.robot()
    found = module.planned(machine)
    assert found.valid
    run = found.replay(audit=False)
    end = run.q[-1]
    tool = np.asarray(machine.compile("link_poses", frame="tool")(end))[:3, 3]
    np.testing.assert_allclose(tool, module.TARGET, atol=1e-6)
    assert module.turned(end) < 1e-6
    assert np.abs(np.asarray(machine.momentum(run.q, run.qd))).max() < 1e-9
    assert module.turned(module.straight(machine, found).q[-1]) > 0.3


@pytest.mark.slow
def test_a_panda_keeps_torques_and_their_rates(example, capsys):
    try:
        importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    module = example("plan_panda")
    robot = module.arm()
    found = module.planned(robot)
    assert found.valid
    t = np.linspace(0, found.duration, 5001)
    effort = np.array([joint.limits.effort for joint in robot.moving_joints])
    assert (np.abs(found.torques(t)) / effort).max() < 1 + 1e-5
    assert np.abs(found.torque_rates(t)).max() < module.RATE * (1 + 1e-5)
    pose = np.asarray(robot.compile("link_poses", frame="panda_hand_tcp")(found.at(found.duration).q))
    np.testing.assert_allclose(pose, module.goal_pose(), atol=1e-6)


@pytest.mark.slow
def test_a_biped_makes_a_step(example, capsys):
    """Its feet may push against each other, which costs less than parallel forces; replayed, the step comes out."""
    module = example("plan_step")
    module.main()
    told = capsys.readouterr().out
    assert "valid; optimal" in told
    assert Path("plan_step.png").stat().st_size > 20_000
    assert Path("plan_step.html").exists()
    free, line = (module.task(module.robot(), split).solve().objective for split in ("free", "line"))
    assert free < line
