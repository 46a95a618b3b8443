"""Motion plans and bad input: every one is refused with what is meant, what was expected and what came."""

import pickle

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot, plan
from neuler.errors import FormatError, InputError, NeulerError, RobotError

pytest.importorskip("scipy")

ARM = neuler.robots.two_link()
NAN, INF = np.nan, np.inf
ROUND = (0.1, 0.2, 0.3, 0.0, 0.0, 0.0)
BALL = Robot(
    "ball", [Link("base"), Link("ball", 1.0, (0, 0, 0.1), ROUND)], [Joint("s", "spherical", "base", "ball")],
    gravity=(0, 0, 0),
)  # fmt: skip


def task(robot=ARM, objective=None, **given):
    given = {"start": [0, 0], "goal": [1, 1], "limits": [plan.within(plan.torque, 20.0)], "control_points": 6} | given
    return plan.Plan(robot, objective, **given)


def mine(f, **options):
    return task(limits=[plan.limit(plan.measure(f, "mine", **options), -1.0, 1.0)])


def refused(make, *words, error=InputError):
    """Before the solve, by an error that says all the words."""
    with pytest.raises(error) as caught:
        make()
    said = str(caught.value)
    assert isinstance(caught.value, NeulerError)
    for word in words:
        assert word in said, f"{word!r} is not in {said!r}"


POSITIONS = [
    ([NAN, 0], "finite"),
    ([INF, 0], "finite"),
    ([None, 0], "got"),
    ("home", "'home'"),
    ([1j, 0], "1j"),
    (np.array([1 + 1j, 0]), "got"),
    ([0], "2 numbers"),
    ([[0, 0]], "2 numbers"),
    (0, "2 numbers"),
    ([[0], [0, 1]], "got"),
    ({0, 1}, "got"),
    ({"jointx": 0}, "jointx"),
    ({"joint1": NAN}, "joint1"),
    ({1: 0}, "joint1"),
    (Ellipsis, "got"),
]


@pytest.mark.parametrize("end", ["start", "goal"])
@pytest.mark.parametrize(("given", "word"), POSITIONS, ids=lambda x: repr(x)[:30])
def test_positions(end, given, word):
    refused(lambda: task(**{end: given}), end, word)


BOUNDARIES = [
    (lambda: plan.Boundary(q=[0, 0], qd="a"), "qd"),
    (lambda: plan.Boundary(q=[0, 0], qd=[1, 2, 3]), "qd"),
    (lambda: plan.Boundary(q=[0, 0], qd=[NAN, 0]), "finite"),
    (lambda: plan.Boundary(q=[0, 0], qdd=NAN), "qdd"),
    (lambda: plan.Boundary(q=[0, 0], qdd={"elbow": 0.0}), "elbow"),
    (lambda: plan.Boundary(poses=5), "poses"),
    (lambda: plan.Boundary(poses=[("tool", 1)]), "poses"),
    (lambda: plan.Boundary(poses={"nowhere": [0, 0, 0]}), "nowhere"),
    (lambda: plan.Boundary(poses={3: [0, 0, 0]}), "3"),
    (lambda: plan.Boundary(poses={"tool": [0, 0]}), "(4, 4)"),
    (lambda: plan.Boundary(poses={"tool": [0, 0, NAN]}), "position (3)"),
    (lambda: plan.Boundary(poses={"tool": np.ones((4, 4))}), "rotation"),
]


@pytest.mark.parametrize(("make", "word"), BOUNDARIES, ids=[word + str(k) for k, (_, word) in enumerate(BOUNDARIES)])
def test_boundaries(make, word):
    refused(lambda: task(goal=make()), word, error=(InputError, RobotError))


DURATIONS = [
    (-1, "above zero"), (0, "above zero"), ((3, 1), "above the most"), (NAN, "nan"), ("long", "'long'"),
    ((1, 2, 3), "(1, 2, 3)"), (INF, "finite"), ((None, 2), "None"), (1j, "1j"), ((-2, -1), "above zero"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "word"), DURATIONS, ids=lambda x: repr(x)[:20])
def test_durations(given, word):
    refused(lambda: task(duration=given), "duration", word)
    refused(lambda: task(goal=None, phases=[plan.Phase(duration=given, end=[1, 1])]), "duration", word)


PROFILES = [
    *[({"control_points": x}, "control_points") for x in (-1, 3, 8.0, 10**6, "8", True, NAN)],
    *[({"degree": x}, "degree") for x in (2, 10, "3", 3.5, True)],
    *[({"knots": x}, "knots") for x in ("x", [0, 0.5], [0, 0.5, 0.5, 1], [0, NAN, 1], None, 5, [[0, 1]], [1, 0])],
    ({"knots": [0, 0.1, 0.5, 0.9, 1], "control_points": 50}, "control_points=50"),
    *[({"grid": x}, "grid") for x in (1, 6, "a", [3], True)],
]


@pytest.mark.parametrize(("given", "word"), PROFILES, ids=lambda x: repr(x)[:40])
def test_profiles(given, word):
    refused(lambda: task(**given), word, "plan")


LIMITS = [
    (lambda: task(limits="torque"), "limits"),
    (lambda: task(limits=5), "5"),
    (lambda: task(limits=[plan.torque]), "plan.limit"),
    (lambda: task(limits=[plan.limit(plan.torque, 5, -5)]), "5 is above"),
    (lambda: task(limits=[plan.within(plan.torque, -5.0)]), "above"),
    (lambda: task(limits=[plan.within(plan.torque, [1, 2, 3])]), "2 of them"),
    (lambda: task(limits=[plan.within(plan.torque, NAN)]), "NaN"),
    (lambda: task(limits=[plan.within(plan.torque, {"joint1": NAN})]), "joint1"),
    (lambda: task(limits=[plan.limit(plan.torque, -1, 1, joints="joint9")]), "joint9"),
    (lambda: task(limits=[plan.limit(plan.torque, {"elbow": -1})]), "elbow"),
    (lambda: task(limits=[plan.limit(plan.torque, -1, 1, joints=())]), "joints"),
    (lambda: task(limits=[plan.limit(plan.torque, INF, None)]), "lower"),
    (lambda: task(limits=[plan.limit(plan.torque, None, -INF)]), "upper"),
    (lambda: plan.limit(plan.torque, -1, 1, joints=5), "joints"),
    (lambda: plan.limit(plan.torque), "lower bound, an upper bound or both"),
    (lambda: plan.limit("torque", 1), "measure"),
    (lambda: plan.limit(plan.torque, 1, 2, when=(0.5, 0.2)), "when"),
    (lambda: plan.limit(plan.torque, 1, 2, when=(NAN, 1)), "when"),
    (lambda: plan.limit(plan.torque, 1, 2, when=5), "when"),
    (lambda: plan.within(plan.torque, "a"), "'a'"),
    (lambda: plan.within(plan.torque, {"joint1": "x"}), "'x'"),
]


@pytest.mark.parametrize(("make", "word"), LIMITS, ids=[f"{k}-{word}" for k, (_, word) in enumerate(LIMITS)])
def test_limits(make, word):
    refused(make, word)


def test_ends_outside_limits():
    for end, low, high in (("start", 0.5, 2.0), ("goal", -0.5, 0.9)):
        box = plan.limit(plan.position, low, high)
        refused(lambda box=box: task(limits=[box]).solve(), end, "joint1", "outside its limits")


def test_two_limits_that_cross():
    both = [plan.limit(plan.position, 0.5, None), plan.limit(plan.position, None, 0.2)]
    refused(lambda: task(limits=both).solve(), "0.5", "0.2")


VIAS = [
    (lambda: plan.Via(), "position q"),
    (lambda: plan.Via(at=1.5, q=[0, 0]), "1.5"),
    (lambda: plan.Via(at=0.0, q=[0, 0]), "between 0 and 1"),
    (lambda: plan.Via(at=NAN, q=[0, 0]), "nan"),
    (lambda: plan.Via(at="half", q=[0, 0]), "'half'"),
    (lambda: task(via=[[0.5, 0.5]]), "plan.Via"),
    (lambda: task(via=5), "via"),
    (lambda: task(via=[plan.Via(at=0.5, q=[1, 2, 3])]), "via at 0.5"),
    (lambda: task(via=[plan.Via(at=0.5, q=[1, 1]), plan.Via(q=[0, 1])]), "phases"),
    (lambda: task(duration=1.0, via=[plan.Via(q=[0, 1])]), "phases"),
    (lambda: task(via=[plan.Via(at=0.5, q=[1, 1]), plan.Via(at=0.5, q=[0, 1])]).solve(), "contradicts"),
    (lambda: task(via=[plan.Via(at=1e-9, q=[0.1, 0])]).solve(), "contradicts"),
    (lambda: task(via=[plan.Via(at=a, q=[a * a, a]) for a in np.linspace(0.1, 0.9, 9)]).solve(), "control points"),
]


@pytest.mark.parametrize(("make", "word"), VIAS, ids=[f"{k}-{word}" for k, (_, word) in enumerate(VIAS)])
def test_via_points(make, word):
    refused(make, word)


PHASES = [
    (lambda: task(goal=None, phases=[]), "phases"),
    (lambda: task(goal=None, phases="ab"), "plan.Phase"),
    (lambda: task(goal=None, phases=5), "phases"),
    (lambda: task(phases=[plan.Phase()], duration=1.0), "duration"),
    (lambda: task(phases=[plan.Phase()], via=[plan.Via(at=0.5, q=[0, 0])]), "via"),
    (lambda: task(phases=[plan.Phase(end=[0, 0])]), "both goal and the end"),
    (lambda: task(goal=None, phases=[plan.Phase(limits=5, end=[1, 1])]), "limit"),
    (lambda: task(goal=None, phases=[plan.Phase(via=[3], end=[1, 1])]), "via"),
    (lambda: task(goal=None, phases=[plan.Phase(control_points=2, end=[1, 1])]), "control_points"),
    (lambda: task(goal=None, phases=[plan.Phase(continuity="a"), plan.Phase(end=[1, 1])]), "continuity"),
    (lambda: task(goal=None, phases=[plan.Phase(continuity=-1), plan.Phase(end=[1, 1])]), "continuity"),
    (lambda: task(knots="free"), "is gone"),
]


@pytest.mark.parametrize(("make", "word"), PHASES, ids=[f"{k}-{word}" for k, (_, word) in enumerate(PHASES)])
def test_phases(make, word):
    refused(make, word)


def answered(make):
    """What a solve gives, or the error that says why there is none."""
    try:
        return make().solve(iterations=200)
    except InputError as error:
        return error


def test_via_point_without_a_time_in_a_phase_is_not_lost():
    """It is refused, or passed."""
    phase = plan.Phase(via=[plan.Via(q=[2.0, 0.0])], end=[1.0, 0.5])
    found = answered(lambda: task(goal=None, phases=[phase]))
    if isinstance(found, InputError):
        assert "via" in str(found)
        return
    passed = found.at(np.linspace(0.0, found.duration, 2001)).q
    assert np.abs(passed - [2.0, 0.0]).max(axis=1).min() < 1e-2


RELATIONS = [
    (lambda: task(relations=5), "relations"),
    (lambda: task(relations="a"), "relations"),
    (lambda: task(relations=plan.repeats("elbow")), "elbow"),
    (lambda: task(goal=None, relations=[plan.Relation("joint1", "joint1", order=7)]), "order"),
    (lambda: task(goal=None, relations=[plan.Relation("joint1", "joint1", order="a")]), "order"),
    (lambda: task(goal=None, relations=[plan.Relation("joint1", "joint1", order=1.5)]), "order"),
    (lambda: task(goal=None, relations=[plan.Relation("joint1", "joint1", sign="a")]), "sign"),
    (lambda: task(goal=None, relations=[plan.Relation("joint1", "joint1", shift=NAN)]), "shift"),
    (lambda: task(relations=plan.repeats("joint1")).solve(), "contradicts"),
]


@pytest.mark.parametrize(("make", "word"), RELATIONS, ids=[f"{k}-{word}" for k, (_, word) in enumerate(RELATIONS)])
def test_relations(make, word):
    refused(make, word)


OBJECTIVES = [
    (lambda: task(objective="duration"), "plan.duration()"),
    (lambda: task(objective=[plan.duration()]), "objective"),
    (lambda: task(objective=plan.torque), "objective"),
    (lambda: NAN * plan.duration(), "finite"),
    (lambda: plan.integral("torque"), "measure"),
    (lambda: plan.peak(None), "measure"),
    (lambda: plan.at_end(5), "measure"),
    (lambda: task(objective=-1.0 * plan.duration()), "upper bound"),
    (lambda: task(objective=-1.0 * plan.peak(plan.torque), duration=1.0), "peak"),
]


@pytest.mark.parametrize(("make", "word"), OBJECTIVES, ids=[f"{k}-{word}" for k, (_, word) in enumerate(OBJECTIVES)])
def test_objectives(make, word):
    refused(make, word)


MEASURES = [
    (lambda: plan.measure(5, "a"), "function"),
    (lambda: plan.measure(lambda m: m.q, ""), "name"),
    (lambda: plan.measure(lambda m: m.q, 5), "name"),
    (lambda: mine(lambda m: None), "None"),
    (lambda: mine(lambda m: "a"), "'a'"),
    (lambda: mine(lambda m: []), "no rows"),
    (lambda: mine(lambda m: [m.q[0], None]), "None"),
    (lambda: mine(lambda m: m.q, labels=["a"]), "2 rows"),
    (lambda: mine(lambda m: m.q[0] if m.q[0] > 0 else 0.0), "where"),
    (lambda: mine(lambda m: float(m.q[0])), "not a number yet"),
    (lambda: mine(lambda m: m.pose("hand")[:3, 3]), "hand"),
    (lambda: mine(lambda m: m.nothing), "mine"),
    (lambda: mine(lambda m: 1 / 0), "mine"),
    (lambda: mine(lambda m: m.q[5]), "mine"),
    (lambda: mine(lambda: 0), "mine"),
]


@pytest.mark.parametrize(("make", "word"), MEASURES, ids=[f"{k}-{word}" for k, (_, word) in enumerate(MEASURES)])
def test_measures(make, word):
    refused(make, word, error=(InputError, RobotError))


CLEARANCES = [
    (lambda: plan.clear_of([], []), "Ball"),
    (lambda: plan.clear_of([plan.Ball("tool", 0.1)], []), "obstacles"),
    (lambda: plan.clear_of([plan.Ball("tool", 0.1)], [5]), "5"),
    (lambda: plan.clear_of([plan.Ball("tool", 0.1)], [plan.Sphere((0, 0, 0), 1)], margin=NAN), "margin"),
    (lambda: plan.Ball("tool", -1.0), "radius"),
    (lambda: plan.Sphere((0, 0), 1.0), "center"),
    (lambda: plan.Capsule((0, 0, 0), (0, 0, 0), 1.0), "differ"),
    (lambda: plan.HalfSpace((0, 0, 0), (0, 0, 0)), "normal"),
    (lambda: task(limits=[plan.clear_of([plan.Ball("hand", 0.1)], [plan.Sphere((0, 0, 0), 1)])]), "hand"),
]


@pytest.mark.parametrize(("make", "word"), CLEARANCES, ids=[f"{k}-{word}" for k, (_, word) in enumerate(CLEARANCES)])
def test_clearances(make, word):
    refused(make, word, error=(InputError, RobotError))


ROBOTS = [
    (lambda: plan.Plan("arm"), "str"),
    (lambda: plan.Plan(None), "neuler.load"),
    (lambda: plan.Plan(Robot("stone", [Link("base")], [])), "stone"),
    (lambda: task(neuler.robots.puma560(), start=np.zeros(6), goal=np.ones(6), friction_width=-1), "friction_width"),
    (lambda: task(neuler.robots.hua_3r(), start=np.zeros(3), goal=np.ones(3), degree=3), "elastic"),
]


@pytest.mark.parametrize(("make", "word"), ROBOTS, ids=[f"{k}-{word}" for k, (_, word) in enumerate(ROBOTS)])
def test_robots(make, word):
    refused(make, word)


def test_quaternions():
    turned = lambda angle: [0, 0, np.sin(angle / 2), np.cos(angle / 2)]  # noqa: E731
    refused(lambda: task(BALL, start=[0, 0, 0, 2], goal=turned(1.0)), "length one")
    refused(lambda: task(BALL, start=[0, 0, 0, 0], goal=turned(1.0)), "length one")
    refused(lambda: task(BALL, start=[0, 0, 0, 1], goal=[0, 0, 0]), "goal", "4")


def test_loops():
    """Positions of all joints must close them, and ends must be in reach."""
    bars, robot = neuler.robots.four_bar(), neuler.robots.delta()
    refused(lambda: task(bars, start=[0.3, 0.1, 0.2], goal=[1.0]), "start", "open")
    refused(lambda: task(bars, start=bars.neutral(), goal=[0.3, 0.1, 0.2]), "goal", "open")
    refused(lambda: task(robot, start=robot.neutral(), goal=[5.0, 5.0, 5.0]), "goal", "out of reach")


def test_robot_without_mass():
    links = [Link("base"), Link("a")]
    refused(lambda: task(Robot("air", links, [Joint("j", "revolute", "base", "a")]), start=[0], goal=[1]), "mass")


SOLVES = [
    ({"solver": "nope"}, "'nope'"),
    ({"solver": None}, "None"),
    ({"solver": 3}, "3"),
    *[({"tolerance": x}, "tolerance") for x in (0, -1, "a", NAN, None, True)],
    *[({"iterations": x}, "iterations") for x in (0, -1, 1.5, "a", None)],
    *[({"seconds": x}, "seconds") for x in (0, -1, NAN, "a", INF)],
    *[({"rounds": x}, "rounds") for x in (-1, 1.5, "a")],
    *[({"mesh": x}, "got") for x in ("ab", (6, 4.5), (2,), (6, None))],
    *[({"starts": x}, "starts") for x in (0, 1.5, "a")],
    *[({"seed": x}, "seed") for x in (-1, "a", 1.5)],
    ({"starts": 2, "workers": 0}, "workers"),
    ({"starts": 2, "workers": "x"}, "workers"),
    ({"starts": 2, "seed": "q"}, "seed"),
    ({"progress": 5}, "progress"),
    ({"progress": "yes"}, "progress"),
    ({"options": 5}, "options"),
    ({"options": {"no_such_option": 1}}, "no_such_option"),
]


@pytest.fixture(scope="module")
def simple():
    return task()


@pytest.mark.parametrize(("given", "word"), SOLVES, ids=lambda x: repr(x)[:40])
def test_solve(simple, given, word):
    refused(lambda: simple.solve(**given), word)


@pytest.fixture(scope="module")
def found(simple):
    return simple.solve()


RESULTS = [
    (lambda x: x.at(99.0), "99"),
    (lambda x: x.at(-1.0), "-1"),
    (lambda x: x.at("a"), "'a'"),
    (lambda x: x.at(None), "None"),
    (lambda x: x.at([[0.0, 0.1]]), "time"),
    (lambda x: x.at(NAN), "nan"),
    (lambda x: x.at([]), "time"),
    (lambda x: x.at(1j), "1j"),
    (lambda x: x.torques(99.0), "99"),
    (lambda x: x.measure(None, 0.1), "None"),
    (lambda x: x.sample(step=0), "step"),
    (lambda x: x.sample(step="a"), "step"),
    (lambda x: x.sample(count=1.5), "count"),
    (lambda x: x.sample(count=1), "count"),
    (lambda x: x.sample(count="a"), "count"),
    (lambda x: x.sample(count=None), "count"),
    (lambda x: x.save("plan.foo"), ".csv"),
    (lambda x: x.save("no_such_folder/plan.csv"), "no_such_folder"),
    (lambda x: x.replay(step=-1), "step"),
    (lambda x: x.replay(after=-1), "after"),
    (lambda x: x.replay(method="x"), "'x'"),
    (lambda x: x.track("nope"), "nope"),
    (lambda x: x.track(5), "controller"),
    (lambda x: x.reference(order=9), "order"),
]


@pytest.mark.parametrize(("use", "word"), RESULTS, ids=[f"{k}-{word}" for k, (_, word) in enumerate(RESULTS)])
def test_results(found, use, word):
    refused(lambda: use(found), word, error=(InputError, FormatError))


def test_names_that_begin_alike():
    """A limit on "arm" is not one on "arm_2"; the order of a mapping says nothing."""
    joints = [Joint("arm", "revolute", "base", "a"), Joint("arm_2", "revolute", "a", "b")]
    links = [Link("base"), Link("a", 1.0, (0.5, 0, 0), ROUND), Link("b", 1.0, (0.5, 0, 0), ROUND)]
    robot = Robot("two", links, joints)
    for bounds in ({"arm": 10.0, "arm_2": 5.0}, {"arm_2": 5.0, "arm": 10.0}):
        part = task(robot, limits=[plan.within(plan.torque, bounds)]).transcription.phases[0].path.families[0]
        assert part.upper.tolist() == [10.0, 5.0]
    part = (
        task(robot, limits=[plan.limit(plan.torque, -5, 5, joints="arm")], robot_limits=False)
        .transcription.phases[0]
        .path.families[0]
    )
    assert part.upper.tolist() == [5.0, INF]


FAST = plan.within(plan.velocity, 1.0)
AROUND = plan.clear_of([plan.Ball("tool", 0.1)], [plan.Sphere((1, 0, 0), 1.0)])
INFEASIBLE = {
    "too short": ({"duration": 0.05}, "torque"),
    "obstacle at the start": ({"limits": [plan.within(plan.torque, 20.0), AROUND]}, "clearance"),
    "limits that cross": ({"limits": [plan.limit(plan.torque, 5, None), plan.limit(plan.torque, None, 3)]}, "torque"),
    "out of reach": ({"goal": plan.Boundary(poses={"tool": [9.0, 0.0, 0.0]})}, "tool"),
    "too fast at the start": ({"start": plan.Boundary([0, 0], 5.0), "limits": [FAST]}, "velocity"),
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_what_cannot_be(name):
    """Refused at once, or solved to an answer that is not valid and names what is passed."""
    given, word = INFEASIBLE[name]
    answer = answered(lambda: task(**given))
    assert word in str(answer)
    if isinstance(answer, InputError):
        return
    assert not answer.valid
    assert not answer.optimal
    assert answer.worst_violation > 1e-6
    assert any(word in each.name or word in each.label for each in answer.violations)
    assert "NOT valid" in str(answer)


@pytest.mark.parametrize("iterations", [1, 4, 8])
def test_phases_that_do_not_join_are_not_valid(iterations):
    answer = task(via=[plan.Via(q=[2.0, -0.5])], control_points=10).solve(iterations=iterations)
    middle, step = answer.motion.breaks[1], 1e-9 * answer.duration
    before, after = answer.at(middle - step), answer.at(middle + step)
    if np.abs(before.qd - after.qd).max() > 1e-5:
        assert not answer.valid
        assert any("join" in str(each) for each in answer.violations)


def test_pickled_plan_is_the_same_problem():
    limits = [plan.within(plan.torque, 20.0), plan.limit(plan.position, -0.1, 1.05)]
    before = task(limits=limits)
    after = pickle.loads(pickle.dumps(before))
    for a, b in zip(before.transcription.phases, after.transcription.phases, strict=True):
        assert [limit.measure.name for limit in a.limits] == [limit.measure.name for limit in b.limits]
        np.testing.assert_array_equal(a.boxes(), b.boxes())
    assert after.solve().duration == pytest.approx(before.solve().duration, abs=1e-9)


def test_stopped_at_once(simple):
    answer = simple.solve(progress=lambda progress: False)
    assert answer.status == "interrupted"
    assert not answer.optimal
    assert np.isfinite(answer.at(answer.duration).q).all()


def test_a_function_that_fails_while_solving_is_heard(simple):
    def fails(progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        simple.solve(progress=fails)
