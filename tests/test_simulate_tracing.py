"""A simulation traces its controller and its wrenches once, and again when they have changed."""

import copy
import pickle

import numpy as np
import pytest

import neuler
from neuler.control import ComputedTorque, Controller, GravityPD, sines
from neuler.files import problem_robots
from neuler.files.problems import Problem
from neuler.simulation.problem import read_simulation
from neuler.trace.graph import Node
from simulated_robots import Integrating

ROBOT = neuler.robots.two_link()
START = ([0.3, 0.2], [0.0, 0.0])
PIECES = {"t": 2.0, "step": 1e-3, "every": 4}
"""2000 steps, which are done in several pieces: the first of them has 128."""


def traced(value):
    """Whether a function is called with values of a graph."""
    return any(isinstance(x, Node) for x in np.asarray(value, dtype=object).flat)


class Counted(Controller):
    """A spring to the neutral position, of gains that are a list."""

    name = "counted"
    reference_sizes = ()

    def __init__(self, robot):
        super().__init__(robot)
        self.gains = [10.0, 4.0]
        self.__dict__["traces"] = 0

    def law(self, t, q, qd, memory, wanted):
        self.__dict__["traces"] += traced(q)
        return -self.gains[0] * q - self.gains[1] * qd


class Function:
    """A controller of no class of the library."""

    memory0 = np.zeros(0)

    def __init__(self):
        self.gain, self.traces = 5.0, 0

    def __call__(self, t, q, qd, memory, reference):
        self.traces += traced(q)
        return -self.gain * q, memory


def run(controller, **more):
    given = {**PIECES, **more}
    return neuler.simulate(ROBOT, controller, START, given.pop("t"), **given)


@pytest.mark.parametrize("effort", ["ignore", "clip"])
def test_a_controller_is_traced_once(effort):
    law = Counted(ROBOT)
    first = run(law, effort=effort)
    assert law.traces == 1
    assert np.array_equal(run(law, effort=effort).q, first.q)
    assert law.traces == 1
    run(law, effort=effort, audit=False)
    ROBOT.rollout(*START, law, 1e-3, 20)
    law(0.0, *START)
    assert law.traces == 1


def test_a_callable_is_traced_once_a_run():
    law = Function()
    first = run(law)
    assert law.traces == 1
    law.gain = 50.0
    changed = run(law)
    assert law.traces == 2
    assert np.abs(changed.q - first.q).max() > 0.1


def test_a_plain_function_that_may_be_compiled_is_traced_once_a_run():
    calls = []

    def law(t, q, qd):
        calls.append(traced(q))
        return -3.0 * qd

    run(law, compile=True)
    assert calls == [True]
    run(law, compile=True, method="dop853", t=0.1)
    assert calls == [True, True]


def test_wrenches_that_are_functions_are_traced_once_a_run():
    calls = []

    def push(t, q, qd):
        calls.append(traced(qd))
        return [0.1 * t, 0.0, 0.0, 0.0, 0.0, -qd[1]]

    found = run(None, loads={"link2": push})
    assert calls == [True]
    again = run(None, loads={"link2": neuler.function(push, {"t": (), "q": 2, "qd": 2}, {"wrench": 6})})
    assert calls == [True, True]
    assert np.array_equal(found.q, again.q)
    held = ROBOT.rollout(*START, None, 1e-3, 2000, every=4, loads={"link2": push})
    assert np.array_equal(found.q[1:], held.q)


@pytest.mark.slow
def test_the_operations_of_a_controller_are_those_of_a_rollout_with_it():
    """One that is asked for its operations moves as one that is traced from outside."""
    law = ComputedTorque(ROBOT, 100.0, reference=sines([0.4, 0.3], 0.5))
    hidden = lambda t, q, qd, memory, reference: law(t, q, qd)  # noqa: E731
    one, other = (ROBOT.rollout(*START, each, 1e-3, 300).q for each in (law, hidden))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


# ---- what has changed is traced again --------------------------------------------------------------


def fresh(gains):
    law = Counted(ROBOT)
    law.gains = gains
    return law


def test_gains_that_are_set_and_gains_that_change_in_place():
    law = Counted(ROBOT)
    first = run(law)
    law.gains = [20.0, 4.0]
    assert np.array_equal(run(law).q, run(fresh([20.0, 4.0])).q)
    assert law.traces == 2
    law.gains[0] = 30.0  # nobody is told
    second = run(law)
    assert law.traces == 3
    assert np.array_equal(second.q, run(fresh([30.0, 4.0])).q)
    assert np.abs(second.q - first.q).max() > 0.01
    assert np.array_equal(law(0.0, *START).tau, fresh([30.0, 4.0])(0.0, *START).tau)


def test_a_reference_that_is_changed():
    law = GravityPD(ROBOT, kp=10.0, kd=2.0, reference=np.zeros(2))
    before = run(law)
    law.reference = [0.4, -0.1]
    after = run(law)
    assert np.array_equal(after.q, run(GravityPD(ROBOT, kp=10.0, kd=2.0, reference=[0.4, -0.1])).q)
    assert np.abs(after.q - before.q).max() > 0.1
    law.kp = 50.0 * np.ones(2)
    assert np.array_equal(run(law).q, run(GravityPD(ROBOT, kp=50.0, kd=2.0, reference=[0.4, -0.1])).q)


class Loose(Counted):
    """With gains in an object that cannot be pickled."""

    def __init__(self, robot):
        super().__init__(robot)
        self.box = type("Box", (), {"gain": 5.0})()

    def law(self, t, q, qd, memory, wanted):
        self.__dict__["traces"] += traced(q)
        return -self.box.gain * q


def test_what_cannot_be_compared_is_traced_every_time():
    law = Loose(ROBOT)
    first = run(law)
    law.box.gain = 25.0
    second = run(law)
    assert law.traces == 2
    assert np.abs(second.q - first.q).max() > 0.1


def test_copies_and_pickles_of_a_controller_change_by_themselves():
    law = GravityPD(ROBOT, kp=10.0, kd=2.0, reference=np.zeros(2))
    tau = law(0.0, *START).tau
    other = copy.copy(law)
    other.kp = 20.0 * np.ones(2)
    again = pickle.loads(pickle.dumps(law))
    assert np.array_equal(law(0.0, *START).tau, tau)
    assert np.array_equal(again(0.0, *START).tau, tau)
    assert np.abs(other(0.0, *START).tau - tau).max() > 1.0
    with pytest.raises(ValueError, match="read-only"):
        again.kp[0] = 1.0


@pytest.mark.slow
def test_a_controller_that_is_called_in_a_way_of_its_own():
    class Doubled(GravityPD):
        def __call__(self, t, q, qd, memory=None, reference=None):
            tau, memory = super().__call__(t, q, qd, memory)
            return 2.0 * tau, memory

    laws = [kind(ROBOT, kp=5.0, kd=1.0, reference=np.zeros(2)) for kind in (Doubled, GravityPD)]
    runs = [ROBOT.rollout(*START, law, 1e-3, 5).tau[0] for law in laws]
    np.testing.assert_allclose(runs[0], 2.0 * runs[1], rtol=1e-14)


@pytest.mark.slow
def test_memory_is_that_of_the_run():
    law = Integrating(ROBOT, [0.1, 0.1])
    compiled = neuler.simulate(ROBOT, law, START, 0.4)
    called = neuler.simulate(ROBOT, law, START, 0.4, compile=False)
    np.testing.assert_allclose(compiled.q, called.q, rtol=0, atol=1e-12)


# ---- problem files -----------------------------------------------------------------------------------

PROBLEM = """
[robot]
name = "two_link"
{payload}
[controller]
kind = "counted"
[simulate]
duration = 0.1
"""


def test_a_problem_is_read_with_one_robot_and_one_controller(monkeypatch):
    made, loaded = [], []

    class Seen(GravityPD):
        def __init__(self, robot, kp, kd, reference=None):
            made.append(robot)
            super().__init__(robot, kp, kd, reference)

    load = problem_robots._loaded
    monkeypatch.setattr(problem_robots, "_ROBOTS", {})  # none was read before
    monkeypatch.setattr(problem_robots, "_loaded", lambda section: loaded.append(1) or load(section))
    monkeypatch.setitem(neuler.control.CONTROLLERS, "counted", Seen)
    text = PROBLEM.replace('kind = "counted"', 'kind = "counted"\nkp = 10.0\nkd = 1.0')
    task = read_simulation(Problem.of_text(text.format(payload="")))
    assert loaded == [1]
    assert made == [task.robot]
    assert made[0] is task.robot
    payload = '[[robot.payload]]\nframe = "link2"\nmass = 0.5\nknown = false'
    task = read_simulation(Problem.of_text(text.format(payload=payload)))
    assert loaded == [1, 1]
    assert made[1] == made[0]
    assert task.robot == ROBOT.with_payload("link2", 0.5, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
