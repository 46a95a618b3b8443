"""Phases with payloads, objectives and robots of their own, starts from known motions, velocities of frames."""

import functools
import pickle

import numpy as np
import pytest

import neuler
from neuler import Robot, plan
from neuler.errors import InputError
from neuler.motions import Recorded

LIMITS = [plan.within(plan.torque, 25.0), plan.within(plan.velocity, 6.0)]


@functools.cache
def arm() -> Robot:
    return neuler.robots.two_link()


def tip():
    return arm().shown_names[-1]


@functools.cache
def carried():
    """There with a payload, back without."""
    load = plan.Payload(tip(), 2.0, (0.05, 0.0, 0.0), (0.01, 0.01, 0.02))
    there = plan.Phase(end=plan.Boundary([1.0, -1.0]), payload=load, name="there")
    return load, plan.Plan(arm(), start=[0.0, -2.0], phases=[there, plan.Phase(end=[0.0, -2.0], name="back")],
                           limits=LIMITS, control_points=10).solve()  # fmt: skip


def test_a_payload_of_one_phase_counts_there_alone():
    load, found = carried()
    assert found.valid
    heavy = arm().with_payload(load.frame, load.mass, load.com, load.inertia)
    middle = found.breaks[1]
    t = np.array([0.3 * middle, 0.5 * (middle + found.duration)])
    q, qd, qdd = found.evaluate(t, 2)
    expected = [heavy.inverse_dynamics(q[0], qd[0], qdd[0]), arm().inverse_dynamics(q[1], qd[1], qdd[1])]
    np.testing.assert_allclose(found.torques(t), expected, rtol=1e-12, atol=1e-12)
    assert [robot.mass for robot in found.robots] == pytest.approx([heavy.mass, arm().mass])
    wrenches = [heavy.reaction_wrenches(q[0], qd[0], qdd[0]), arm().reaction_wrenches(q[1], qd[1], qdd[1])]
    norms = np.linalg.norm(np.array(wrenches)[:, 1:, :3], axis=-1)
    np.testing.assert_allclose(found.forces(t), norms, rtol=1e-10)
    sampled = found.sample(count=51)
    np.testing.assert_allclose(sampled.tau, found.torques(sampled.t), rtol=1e-12, atol=1e-12)


def test_its_replay_changes_the_robot_on_the_way():
    _, found = carried()
    run = found.replay()
    assert not run.status
    assert run.t[-1] == pytest.approx(found.duration)
    assert np.abs(run.error).max() < 2e-4
    wrong = found.replay(robot=arm())  # without the payload its forces lead elsewhere
    assert np.abs(wrong.error).max() > 0.02
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.torques([0.1]), found.torques([0.1]))


def test_torques_that_jump_with_the_load_are_noted() -> None:
    """No motion avoids that a load which is picked up changes torques: limits on their rates say so."""
    load = plan.Payload(arm().tip, 1.0, (0.4, 0.0, 0.0))
    phases = [plan.Phase(end=plan.Boundary([0.5, -1.5], qd=None)), plan.Phase(end=[1.0, -1.0], payload=load)]
    robot = arm().with_gravity((0.0, -9.81, 0.0))
    slow = [plan.within(plan.torque, 40.0), plan.within(plan.torque_rate, 1000.0)]
    task = plan.Plan(robot, start=[0.0, -2.0], phases=phases, limits=slow, control_points=10)
    found = task.solve()
    notes = [note for note in found.notes if "do not count this" in note]
    assert len(notes) == 1
    begin = found.breaks[1]
    before, after = (found.measure(plan.torque, np.array([t]))[0] for t in (begin - 1e-9, begin))
    jump = np.abs(after - before)
    told = float(notes[0].split(" by ")[1].split()[0])
    assert told == pytest.approx(jump.max(), rel=5e-3)
    assert not any("do not count this" in note for note in task.replace(limits=slow[:1]).solve().notes)


def test_a_payload_makes_the_way_longer():
    load, found = carried()
    there, back = np.diff(found.breaks)
    assert there > back
    alone = plan.Plan(
        arm(), start=[0.0, -2.0], goal=[1.0, -1.0], limits=LIMITS, payload=load, control_points=10
    ).solve()
    assert alone.duration <= there * (1.0 + 1e-3)  # knots at switches differ


def test_a_robot_of_one_phase():
    """Another end effector, as heavy as the payload, is the same as carrying it."""
    load, found = carried()
    other = arm().with_payload(load.frame, load.mass, load.com, load.inertia)
    phases = [plan.Phase(end=plan.Boundary([1.0, -1.0]), robot=other), plan.Phase(end=[0.0, -2.0])]
    same = plan.Plan(arm(), start=[0.0, -2.0], phases=phases, limits=LIMITS, control_points=10).solve()
    assert same.duration == pytest.approx(found.duration, rel=1e-6)
    with pytest.raises(InputError, match="same coordinates"):
        plan.Plan(arm(), start=[0.0, -2.0], phases=[plan.Phase(end=[1, 0], robot=neuler.robots.puma560())])


def test_objectives_of_phases():
    """The first phase quick, the second one gentle: its own objective counts there alone."""
    gentle = plan.Phase(end=[0.0, -2.0], objective=plan.effort(), duration=(0.1, 1.5), name="gentle")
    task = plan.Plan(arm(), start=[0.0, -2.0], phases=[plan.Phase(end=plan.Boundary([1.0, -1.0])), gentle],
                     limits=LIMITS, control_points=10)  # fmt: skip
    found = task.solve()
    assert found.valid
    assert set(found.parts) == {"duration", "effort"}
    first, second = np.diff(found.breaks)
    assert found.parts["duration"] == pytest.approx(first)
    alone = plan.Plan(arm(), start=[0.0, -2.0], goal=[1.0, -1.0], limits=LIMITS, control_points=10).solve()
    assert alone.duration < first < 1.15 * alone.duration  # accelerations go on into the next phase
    assert second > 2 * first
    t = np.linspace(found.breaks[1], found.duration, 4001)
    effort = np.trapezoid((found.torques(t) ** 2).sum(axis=1), t)
    assert found.parts["effort"] == pytest.approx(effort, rel=1e-3)


def test_peaks_of_phases_are_their_own():
    quiet = plan.Phase(end=[0.0, -2.0], objective=plan.peak(plan.torque) + plan.duration())
    found = plan.Plan(arm(), start=[0.0, -2.0], phases=[plan.Phase(end=plan.Boundary([1.0, -1.0])), quiet],
                      limits=LIMITS, control_points=10).solve()  # fmt: skip
    assert found.valid
    t = np.linspace(found.breaks[1], found.duration, 2001)
    assert found.parts["peak torque"] == pytest.approx(np.abs(found.torques(t)).max(), rel=1e-4)
    assert found.parts["peak torque"] < 0.9 * np.abs(found.torques(np.linspace(0, found.breaks[1], 999))).max()


# ---- where a solve begins ----------------------------------------------------------------------------------------


def task(**more):
    given = {"start": [0.0, -2.0], "goal": [1.0, -1.0], "limits": LIMITS, "control_points": 12, **more}
    return plan.Plan(arm(), **given)


def test_a_guess_from_an_earlier_plan():
    first = task().solve()
    again = task().solve(guess=first)
    assert again.valid
    assert again.objective == pytest.approx(first.objective, rel=1e-5)
    near = task(goal=[1.05, -1.0]).solve(guess=first)
    assert near.valid
    finer = task(control_points=30).solve(guess=first)
    assert finer.valid
    assert finer.objective < first.objective


@pytest.mark.slow
def test_a_guess_from_any_motion():
    t = np.linspace(0.0, 2.0, 41)
    s = (t / 2) ** 2 * (3 - t)
    recorded = Recorded(arm(), t, np.stack([s, s - 2.0], axis=1))
    timed = neuler.timing.time_path(arm(), [[0.0, -2.0], [1.0, -1.0]], torque=25.0, velocity=6.0, grid=100)
    run = neuler.simulate(arm(), None, ([0.0, -2.0], None), 0.5)
    expected = task().solve().objective
    for guess in (recorded, timed, run):
        found = task().solve(guess=guess)
        assert found.valid
        assert found.objective == pytest.approx(expected, rel=1e-5)
    several = task(goal=None, phases=[plan.Phase(end=plan.Boundary([0.5, -1.5], None)), plan.Phase(end=[1.0, -1.0])])
    assert several.solve(guess=recorded).valid


def test_guesses_that_do_not_fit_are_refused():
    other = neuler.robots.puma560()
    with pytest.raises(InputError, match="coordinates are not those"):
        task().solve(guess=Recorded(other, [0.0, 1.0], np.zeros((2, 6))))
    with pytest.raises(InputError, match="guess must be a motion"):
        task().solve(guess=[0.0, 1.0])


def test_replace():
    first = task()
    second = first.replace(objective=plan.effort(), duration=1.0)
    assert second.robot == first.robot
    assert str(second.objective) == "1 effort"
    assert second.solve().duration == pytest.approx(1.0)
    assert first.objective.terms[0].name == "duration"
    with pytest.raises(InputError, match=r"no argument 'objektive'.*'objective'"):
        first.replace(objektive=plan.effort())


def test_a_tolerance_of_ones_own():
    strict = task().solve(valid_to=1e-9)
    loose = task().solve(valid_to=1e-2, refine=False)
    assert loose.valid
    assert loose.valid_to == 1e-2
    assert not strict.valid or strict.worst_violation <= 1e-9
    with pytest.raises(InputError, match="valid_to must be above zero"):
        task().solve(valid_to=0.0)


# ---- velocities of frames ----------------------------------------------------------------------------------------


def test_velocities_of_frames_at_boundaries():
    thrower = arm().with_frame("hand", tip(), neuler.Transform.from_rpy((0.3, 0.0, 0.0)))

    def thrown(goal):
        given = {"limits": LIMITS, "control_points": 12}
        return plan.Plan(thrower, start=[0.0, -2.0], goal=goal, **given).solve()

    found = thrown(plan.Boundary({"joint1": 0.5}, None, velocities={"hand": [0.0, 1.0, 0.0]}))
    assert found.valid
    end = found.at(found.duration)
    J = thrower.jacobian(end.q, frame="hand", reference="world")
    np.testing.assert_allclose((J @ end.qd)[:3], [0.0, 1.0, 0.0], atol=1e-6)
    assert end.q[0] == pytest.approx(0.5)
    rest = thrown(plan.Boundary([1.0, -1.0], None, velocities={"hand": np.zeros(6)}))
    np.testing.assert_allclose(rest.at(rest.duration).qd, 0.0, atol=1e-6)
    for bad in ({"hand": [1.0, 2.0]}, {"hand": [np.nan, 0, 0]}, {"nowhere": [0, 0, 0]}, [1, 2, 3]):
        with pytest.raises((InputError, neuler.RobotError)):
            thrown(plan.Boundary([1.0, -1.0], None, velocities=bad))


def test_a_note_where_the_robot_cannot_be_held():
    heavy = neuler.robots.two_link().with_gravity((0.0, -9.81, 0.0))

    def notes(most, start=(0.0, 0.0)):
        limits = [plan.within(plan.torque, most)]
        task = plan.Plan(heavy, start=start, goal=[-1.5, 0.0], limits=limits, control_points=8)
        return task.solve(iterations=3, refine=False).notes

    assert any(note.startswith("start: joint1 needs") and "cannot stay" in note for note in notes(2.0))
    assert not any("cannot stay" in note for note in notes(500.0))
    assert not any(note.startswith("start") for note in notes(2.0, plan.Boundary([0.0, 0.0], 1.0)))


def test_obstacles_of_python_are_drawn():
    ball = plan.Sphere((1.0, 1.0, 0.0), 0.2)
    found = task(limits=[*LIMITS, plan.clear_of([plan.Ball(tip(), 0.05)], [ball])]).solve()
    assert found.scenery == (ball,)
    drawn = found.figures()["motion"].axes[0]
    assert any("Poly3D" in type(each).__name__ for each in drawn.collections)


def test_measures_of_a_plan_with_loops_and_springs():
    """Along a plan every measure is there, also of robots whose other motions are refused."""
    bars = neuler.robots.five_bar()
    start = np.asarray(bars.neutral())
    found = plan.Plan(bars, start=start, goal={"left_arm": float(start[0]) + 0.2}, control_points=8,
                      limits=[plan.within(plan.torque, 5.0)]).solve()  # fmt: skip
    t = np.array([0.4 * found.duration])
    q, qd, qdd = found.evaluate(t, 2)
    np.testing.assert_allclose(found.measure("torque", t), bars.inverse_dynamics(q, qd, qdd), atol=1e-8)
    np.testing.assert_allclose(found.torques(float(t[0])), found.torques(t)[0])
