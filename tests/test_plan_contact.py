"""Plans with contact: a step of a biped, a hop with flight, held points, forces, replays without feedback."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest

import neuler
from legged_robots import (
    HEEL,
    SIDES,
    SOLE,
    TOE,
    biped,
    crouched,
    hop,
    hopper,
    one_phase,
    sole,
    spatial_biped,
    standing,
    step,
    tip,
)
from neuler import plan
from neuler.errors import InputError
from neuler.moments.contact import FREE
from neuler.plan.landings import begins
from random_robots import few

pytest.importorskip("scipy")
EFFORT = 1e-3 * plan.effort()


@functools.cache
def stepped(split="line"):
    return step(biped(), EFFORT, split=split).solve()


@functools.cache
def hopped():
    return hop(hopper(), plan.effort() + 2e-5 * plan.jerk_effort()).solve()


def points_of(robot, frame, points, q):
    poses = np.asarray(robot.compile("link_poses", frame=frame)(q))
    return np.einsum("nij,kj->nki", poses[:, :3, :3], np.array(points)) + poses[:, None, :3, 3]


# ---- a step --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", few(["line", FREE], 1))
def test_a_step_of_least_effort_is_found(split):
    found = stepped(split)
    assert found.valid, str(found)
    assert found.optimal
    assert found.iterations < 300


@pytest.mark.parametrize("split", few(["line", FREE], 1))
def test_feet_stand_where_they_were_put_down(split):
    found = stepped(split)
    t = np.linspace(0.0, found.duration, 1001)
    q = found.at(t).q
    right = points_of(biped(), "right_foot", [HEEL, TOE], q)
    left = points_of(biped(), "left_foot", [HEEL, TOE], q[t >= 0.45])
    for points in (right, left):
        assert np.abs(points[:, :, 2]).max() < 1e-4
        assert np.abs(points - points[0]).max() < 2.1e-4
    swing = points_of(biped(), "left_foot", [HEEL, TOE], q[(t > 0.4 * 0.45) & (t < 0.6 * 0.45)])
    assert swing[:, :, 2].min() > 0.02 - 1e-5


@pytest.mark.slow
def test_a_foot_lands_at_rest():
    found = stepped()
    speed = found.measure(plan.frame_velocity("left_foot"), 0.45 + 1e-9)
    assert np.abs(speed).max() < 1e-6


@pytest.mark.parametrize("split", few(["line", FREE], 1))
def test_the_next_step_is_the_mirror_image(split):
    found = stepped(split)
    names = biped().joint_names
    first, last = found.at(0.0), found.at(found.duration)
    for name in names:
        side = name.partition("_")[0]
        other = name.replace(side, {"right": "left", "left": "right"}.get(side, side))
        shift = 0.35 if name == "x" else 0.0
        a, b = names.index(name), names.index(other)
        assert abs(last.q[a] - first.q[b] - shift) < 1e-8
        assert abs(last.qd[a] - first.qd[b]) < 1e-6


@pytest.mark.parametrize("split", ["line", FREE])
def test_nothing_but_the_ground_pushes_the_base_between_grid_points(split):
    found = stepped(split)
    t = np.linspace(0.0, found.duration, 3001)
    assert np.abs(found.torques(t)[:, :3]).max() < 1e-9
    motion, loads = found.at(t), found.contact_loads(t)
    tau = biped().inverse_dynamics(motion.q, motion.qd, motion.qdd, loads=loads)
    np.testing.assert_allclose(tau, found.torques(t), atol=1e-8)


@pytest.mark.parametrize("split", ["line", FREE])
def test_the_ground_pushes_within_friction_and_inside_the_soles(split):
    found = stepped(split)
    robot = biped()
    t = np.linspace(0.0, found.duration, 2001)[:-1]
    q = found.at(t).q
    for side in SIDES:
        load = found.contact_loads(t)[f"{side}_foot"]
        origin = np.asarray(robot.compile("link_poses", frame=f"{side}_foot")(q))[:, :3, 3]
        on = np.abs(load).max(axis=1) > 1e-6
        force = load[on, :3]
        assert force[:, 2].min() > -1e-3
        assert np.all(np.abs(force[:, 0]) <= 0.8 * force[:, 2] + 1e-3)
        about = load[on, 4] + origin[on, 2] * force[:, 0] - origin[on, 0] * force[:, 2]  # about the base's origin
        firm = force[:, 2] > 5.0
        pressure = -about[firm] / force[firm, 2]
        ends = points_of(robot, f"{side}_foot", [HEEL, TOE], q[on][firm])[:, :, 0]
        assert np.all((pressure > ends[:, 0] - 1e-3) & (pressure < ends[:, 1] + 1e-3))


@pytest.mark.parametrize("split", ["line", FREE])
def test_a_replay_without_feedback_makes_the_step(split):
    found = stepped(split)
    run = found.replay(step=2e-5)
    assert not run.status
    assert np.abs(run.error[-1]).max() < 1e-4


@pytest.mark.slow
def test_a_replay_with_exact_forces_is_closer_still():
    found = stepped(FREE)
    run = found.replay(method="dop853", rtol=1e-9, atol=1e-11)
    assert np.abs(run.error[-1]).max() < 1e-5


def test_a_replay_does_not_go_on_after_the_end():
    refused(lambda: stepped().replay(after=0.1), "without feedback", "after")


@pytest.mark.slow
def test_accelerations_may_be_mirrored_too():
    """Then torques do not jump from step to step."""
    found = step(biped(), EFFORT, split=FREE, order=2).solve()
    assert found.valid, str(found)
    first, last = found.at(0.0), found.at(found.duration)
    np.testing.assert_allclose(last.qdd[3:], np.roll(first.qdd[3:], 3), atol=1e-6)
    np.testing.assert_allclose(last.qdd[:3], first.qdd[:3], atol=1e-6)
    assert found.objective > stepped(FREE).objective


def test_time_that_runs_out_before_the_solver_begins():
    assert step(biped(), EFFORT).solve(seconds=1e-4).status == "limit"


def test_free_forces_cost_no_more_than_parallel_ones():
    """Each foot may push its own way: the front one brakes while the rear one pushes."""
    free, line = stepped(FREE), stepped("line")
    assert free.objective < line.objective
    t = np.linspace(0.46, 0.59, 50)
    loads = free.contact_loads(t)
    assert loads["left_foot"][:, 0].mean() < 0.0 < loads["right_foot"][:, 0].mean()


def test_efforts_and_joint_forces_see_the_ground():
    found = stepped()
    robot = biped()
    motion, loads = found.at(0.2), found.contact_loads(0.2)
    wrenches = robot.reaction_wrenches(motion.q, motion.qd, motion.qdd, loads=loads)
    names = found.force_names
    sizes = np.linalg.norm(wrenches[:, :3], axis=1)[[robot.shown_names.index(j.child) for j in robot.joints]]
    np.testing.assert_allclose(found.forces(0.2), sizes[: len(names)], atol=1e-8)
    assert found.measure(plan.joint_force, 0.2)[names.index("right_ankle")] > 100.0
    rate = (found.torques(0.2001) - found.torques(0.1999)) / 2e-4
    np.testing.assert_allclose(found.torque_rates(0.2)[3:], rate[3:], rtol=1e-4, atol=1e-2)
    t = np.linspace(0.0, found.duration, 20001)
    tau = found.torques(t)[:, 3:]
    assert abs(np.trapezoid((tau**2).sum(axis=1), t) * 1e-3 / found.objective - 1.0) < 1e-3


@pytest.mark.slow
def test_a_heel_lifts_while_its_toe_stands():
    """In double support the rear foot stands on its toe, a point that goes on from the sole before."""
    task = step(biped(), EFFORT, split=FREE, heel_off=True, points=(12, 9))
    asked = [[each.rows.count for each in phase.conditions if each.rows] for phase in task.transcription.phases]
    assert asked == [[], [2, 3]]  # where the left foot lands, and nothing else
    found = task.solve()
    assert found.valid, str(found)
    assert found.objective < stepped(FREE).objective
    t = np.linspace(0.45, found.duration, 200)
    heel, toe = points_of(biped(), "right_foot", [HEEL, TOE], found.at(t).q).transpose(1, 0, 2)
    assert np.abs(toe - toe[0]).max() < 1e-4
    assert heel[-1, 2] > 0.03
    assert np.abs(found.measure(plan.contact_force("right"), t)[:, 3:]).max() < 1e-9  # a point: no moment
    assert np.abs(found.replay(step=2e-5).error[-1]).max() < 1e-4


def test_of_a_foot_that_rolls_down_its_toe_alone_lands():
    """A heel that stands already is not asked to land again."""
    robot = biped()
    heel = plan.Contact("right_foot", [HEEL], name="right")
    phases = [plan.Phase(0.2, contacts=[sole("left"), heel]), plan.Phase(0.2, contacts=[sole("left"), sole("right")])]
    task = plan.Plan(robot, EFFORT, start=plan.Boundary(qd=None), phases=phases, split=FREE, control_points=10)
    first, second = (
        [(each.rows.families[0].name, each.rows.families[0].names) for each in phase.conditions if each.rows]
        for phase in task.transcription.phases
    )
    assert [len(names) for _, names in first] == [2, 3, 1, 2]
    assert second == [("height", ["right.point2.height"]), ("velocity", ["right.point2.height"])]


def test_contacts_that_a_cycle_brings_back_are_not_asked_for_twice():
    task = step(biped(), EFFORT)
    phases = task.transcription.phases
    models = [phase.model for phase in phases]
    assert [[each.name for each in mine] for mine in begins(models, task.transcription.relations, 5)] == [[], ["left"]]
    assert [[each.name for each in mine] for mine in begins(models, [], 5)] == [["right"], ["left"]]


@pytest.mark.slow
def test_meshes_and_earlier_plans_to_begin_with():
    """Forces of contacts go along from coarse to fine, and a plan that is known is found again at once."""
    task = step(biped(), EFFORT, split=FREE)
    fine = task.solve(mesh=(9, 12))
    assert fine.valid, str(fine)
    assert abs(fine.objective / stepped(FREE).objective - 1.0) < 0.01
    again = task.solve(guess=stepped(FREE))
    assert again.valid
    assert abs(again.objective / stepped(FREE).objective - 1.0) < 1e-4


@pytest.mark.slow
def test_a_plan_with_contacts_pickles():
    found = stepped(FREE)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_allclose(again.contact_loads(0.5)["left_foot"], found.contact_loads(0.5)["left_foot"])
    task = pickle.loads(pickle.dumps(step(biped(), EFFORT)))
    assert task.transcription.phases[1].model.support.contacts[0].name == "right"


# ---- a hop ---------------------------------------------------------------------------------------------------------


def test_a_hop_flies():
    found = hopped()
    assert found.valid, str(found)
    begin, end = found.breaks[1:3]
    t = np.linspace(begin, end, 400)[1:-1]
    assert not found.contact_loads(t)["shank"].any()
    robot = hopper()
    motion = found.at(t)
    J = np.asarray(robot.center_of_mass_jacobian(motion.q))
    velocity = np.einsum("nij,nj->ni", J, motion.qd)
    np.testing.assert_allclose(np.diff(velocity[:, 2]) / np.diff(t), -9.81, atol=2e-3)  # it falls
    np.testing.assert_allclose(velocity[:, 0], velocity[0, 0], atol=1e-5)
    np.testing.assert_allclose(found.at(found.duration).q, crouched(robot, 0.3), atol=1e-9)


def test_a_hop_is_replayed_without_feedback():
    assert np.abs(hopped().replay(step=2e-5).error[-1]).max() < 1e-4


def test_a_foot_that_is_a_point_has_no_moment():
    """The base pitches: that nothing turns it about the point is one row of the profiles, as forces without motors."""
    robot = hopper(turns=True)
    task = plan.Plan(
        robot, plan.effort() + 1e-3 * plan.jerk_effort(), start=crouched(robot),
        goal=plan.Boundary(q={"z": 0.52}, qd=None), duration=0.25, contacts=tip(), control_points=14, degree=7,
    )  # fmt: skip
    found = task.solve()
    assert found.valid, str(found)
    t = np.linspace(0.0, 0.25, 301)
    assert np.abs(found.measure(plan.contact_force("foot"), t)[:, 3:]).max() < 1e-6 * 16.0 * 9.81 * 1.1
    assert np.abs(found.torques(t)[:, :3]).max() < 1e-9


# ---- impacts, windows, first solves ----------------------------------------------------------------------------------


@functools.cache
def hit():
    return hop(hopper(), plan.effort() + 2e-5 * plan.jerk_effort(), impact=True).solve()


@pytest.mark.slow
def test_a_landing_with_an_impact_obeys_the_balance_of_momentum():
    """M (v+ - v-) has no part that impulses at the foot could not give, and the foot is at rest after it."""
    found, robot = hit(), hopper()
    assert found.valid, str(found)
    jump, after = found.velocity_jump(2), found.at(found.breaks[2])
    assert np.abs(jump).max() > 0.1
    frame = robot.with_frame("sole", "shank", neuler.Transform(translation=(0.0, 0.0, -0.3)))
    J = np.asarray(frame.compile("jacobian", frame="sole", reference="world")(after.q))[[0, 2]]
    np.testing.assert_allclose(J @ after.qd, 0.0, atol=1e-6)
    given = np.asarray(robot.mass_matrix(after.q)) @ jump
    impulse, *_ = np.linalg.lstsq(J.T, given, rcond=None)
    np.testing.assert_allclose(J.T @ impulse, given, atol=1e-6)
    assert impulse[1] > 0.0  # the ground pushes
    before = after.qd - jump
    energy = [float(robot.energy(after.q, v).kinetic) for v in (before, after.qd)]
    assert energy[1] < energy[0]


def test_an_impact_is_replayed_and_saves_effort():
    assert np.abs(hit().replay(step=2e-5).error[-1]).max() < 1e-4
    assert hit().objective < hopped().objective  # a foot need not be slowed down before it lands
    assert not hopped().velocity_jump(1).any() or np.abs(hopped().velocity_jump(1)).max() < 1e-6


@pytest.mark.slow
def test_a_step_in_one_phase_with_windows_has_no_jump_and_no_row_of_symmetry():
    task = one_phase(biped(), EFFORT, split=FREE)
    found = task.solve()
    assert found.valid, str(found)
    first, last = found.at(0.0), found.at(found.duration)
    names = biped().joint_names
    for name in names[3:]:
        side = name.partition("_")[0]
        other = names.index(name.replace(side, "left" if side == "right" else "right"))
        for a, b in zip(last[:3], first[:3], strict=True):  # q, qd, qdd: all by the parametrisation
            assert abs(a[names.index(name)] - b[other]) < 1e-7 * (1.0 + abs(b[other]))
    assert not task.transcription.related
    t = np.linspace(0.0, 0.6, 1201)
    assert np.abs(found.torques(t)[:, :3]).max() < 1e-9
    left = found.contact_loads(t)["left_foot"]
    assert not left[t < 0.45 - 1e-9].any()
    assert left[t > 0.46, 2].max() > 100.0
    put = points_of(biped(), "left_foot", [HEEL, TOE], found.at(t[t >= 0.45]).q)
    assert np.abs(put[:, :, 2]).max() < 1e-3
    assert np.abs(put - put[0]).max() < 2e-3
    assert np.abs(found.replay(step=2e-5).error[-1]).max() < 1e-4


def test_rows_of_a_contact_that_ended_are_left_out():
    """Where its window ends another contact carries: its own rows would be zero there, whatever the motion is."""
    contacts = [sole("right"), sole("left", when=(0.0, 0.5))]
    phase = one_phase(biped(), EFFORT).replace(contacts=contacts).transcription.phases[0]
    ends = {limit.measure.name: limit.open for limit in phase.limits if limit.family == "contact"}
    assert ends["pressure of left"] == (False, True)
    assert ends["pressure of right"] == (False, False)


@pytest.mark.slow
def test_friction_may_be_without_limit():
    plain, free = (
        one_phase(biped(), EFFORT).replace(contacts=sole("right", friction=size)).transcription.phases[0]
        for size in (0.8, None)
    )
    names = [{limit.measure.name for limit in phase.limits if limit.family == "contact"} for phase in (plain, free)]
    assert names[0] - names[1] == {"friction of the ground"}
    again = pickle.loads(pickle.dumps(sole("right", friction=None)))
    assert again.friction is None


def test_a_first_solve_finds_a_motion_near_the_guess():
    """The distance from the guess alone: what comes out is the nearest motion within limits, whatever the objective."""
    robot = hopper()
    task = hop(robot, plan.effort() + 2e-5 * plan.jerk_effort())
    found = task.solve(proximal=0.0)
    assert found.valid
    assert abs(found.objective / hopped().objective - 1.0) < 1e-4
    arm = neuler.robots.two_link()
    free = plan.Plan(arm, plan.effort(), start=[0, 0], goal=[1, 0.5], duration=1.0, control_points=10)
    transcription = free.transcription
    from neuler.optimize import solvers
    from neuler.plan.guess import guessed

    profiles = transcription.profiles()
    guess = guessed(transcription, profiles)
    near = transcription.transcribe(profiles, guess, proximal=2.0)
    solution = solvers.solve(near.programme, "auto", tolerance=1e-9)
    np.testing.assert_allclose(near.x(solution.x), near.x(near.programme.start), atol=1e-7)  # nothing hinders: it stays
    start = near.programme.start + 0.1
    assert abs(near.programme.objective(start) - 0.5 * 2.0 * ((near.x(start) - guess) ** 2).sum()) < 1e-9
    refused(lambda: task.solve(proximal=-1.0), "proximal")


@pytest.mark.slow
def test_violations_are_summed_by_family():
    robot = biped()
    task = plan.Plan(
        robot, EFFORT, start=standing(robot), goal=standing(robot, -0.6, 1.2), duration=0.15, control_points=8,
        contacts=sole("right", friction=0.01), limits=[plan.limit(plan.velocity, -1.0, 1.0, family="haste")],
    )  # fmt: skip
    found = task.solve(iterations=3, refine=False, proximal=0.0)
    assert not found.valid
    assert {"contact", "haste"} <= set(found.families)
    mine = [each for each in found.violations if each.family == "haste"]
    assert {each.name for each in mine} == {"velocity"}
    assert abs(found.families["haste"] - sum(each.relative for each in mine)) < 1e-12
    assert found.summary()["families"].keys() == found.families.keys()
    refused(lambda: plan.limit(plan.velocity, 1.0, family=3), "family")


# ---- other supports --------------------------------------------------------------------------------------------------


def test_squat_on_one_foot_between_positions_that_are_given():
    robot = biped()
    found = plan.Plan(
        robot, EFFORT, start=standing(robot), goal=standing(robot, -0.6, 1.2), duration=0.6, contacts=sole("right"),
        control_points=12,
    ).solve()  # fmt: skip
    assert found.valid, str(found)
    force = found.measure(plan.ground_force, np.linspace(0.0, 0.6, 2001))[:, 2]
    impulse = np.trapezoid(force, dx=0.6 / 2000)
    assert abs(impulse / (robot.mass * 9.81 * 0.6) - 1.0) < 1e-6  # it begins and ends at rest


@pytest.mark.slow
def test_shares_of_your_own():
    """From one foot to the other by a function of the moment; what the base feels is zero all the same."""
    robot = biped()

    def by_time(moment):
        return [1.0 - moment.share, moment.share]

    found = plan.Plan(
        robot, EFFORT, start=standing(robot), goal=plan.Boundary(q={"x": 0.02}), duration=0.5,
        contacts=[sole("right"), sole("left")], split=by_time, control_points=10,
    ).solve()  # fmt: skip
    assert found.valid, str(found)
    t = np.linspace(0.0, 0.5, 101)
    force = found.measure(plan.ground_force, t)
    np.testing.assert_allclose(found.contact_loads(t)["left_foot"][:, :3], force * t[:, None] / 0.5, atol=1e-8)
    assert np.abs(found.torques(t)[:, :3]).max() < 1e-9


@pytest.mark.slow
def test_a_robot_leans_in_space():
    """A free base, soles with four points: held in all six directions, forces found for both feet."""
    robot = spatial_biped()
    q = np.asarray(robot.neutral(), dtype=float)
    at = {name: k for k, name in enumerate(robot.coordinates.names("q"))}
    for side in SIDES:
        q[[at[f"{side}_{name}"] for name in ("pitch", "knee", "ankle_pitch")]] = -0.3, 0.6, -0.3
    q[at["base_z"]] = 0.05 + 0.8 * np.cos(0.3)
    feet = [plan.Contact(f"{side}_foot", SOLE, name=side, slip=1e-3) for side in SIDES]
    there = q.copy()
    found = plan.Plan(
        robot, 1e-3 * plan.effort() + 1e-4 * plan.acceleration_effort(), start=there,
        goal=plan.Boundary(q={"base_vy": 0.03}), duration=0.6, contacts=feet, split=FREE, control_points=9,
    ).solve()  # fmt: skip
    assert found.valid, str(found)
    t = np.linspace(0.0, 0.6, 301)
    assert np.abs(found.torques(t)[:, :6]).max() < 1e-9
    motion = found.at(t)
    for side in SIDES:
        points = points_of(robot, f"{side}_foot", SOLE, motion.q)
        assert np.abs(points - points[0]).max() < 2e-3
    force = found.measure(plan.ground_force, t)
    assert abs(np.trapezoid(force[:, 2], t) / (robot.mass * 9.81 * 0.6) - 1.0) < 1e-3


def test_lighter_friction_makes_a_slower_push():
    robot = hopper()
    goal = plan.Boundary(q={"x": 0.05}, qd=None)
    pushed = {}
    for friction in (0.05, 0.6):
        found = plan.Plan(
            robot, plan.duration() + 1e-4 * plan.jerk_effort(), start=crouched(robot), goal=goal,
            contacts=tip(friction=friction), limits=[plan.within(plan.torque, 200.0)], control_points=12, degree=5,
        ).solve()  # fmt: skip
        assert found.valid, str(found)
        force = found.measure(plan.ground_force, np.linspace(0.0, found.duration, 500))
        assert np.all(np.abs(force[:, 0]) <= friction * force[:, 2] + 1e-3)
        pushed[friction] = found.duration
    assert pushed[0.05] > 1.2 * pushed[0.6]


# ---- refused ---------------------------------------------------------------------------------------------------------


def refused(make, *words):
    with pytest.raises(InputError) as caught:
        make()
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {caught.value}"


def test_contacts_that_say_too_little():
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], friction=-0.1), "foot", "friction", "negative")
    refused(lambda: plan.Contact("foot", [(0, 0)]), "points must be (k, 3)")
    refused(lambda: plan.Contact("foot", []), "points must be (k, 3)")
    refused(lambda: plan.Contact("foot", [(0, 0, np.nan)]), "finite")
    refused(lambda: plan.Contact("", [(0, 0, 0)]), "link or frame")
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], (0.5, 0.5)), "when")
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], slip=0.0), "slip")
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], torsion=-1.0), "torsion")
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], ground=(0, 0, 1)), "HalfSpace")
    refused(lambda: plan.Contact("foot", [(0, 0, 0)], centre=(0, 0)), "centre")


def make(robot=None, contacts=(), **more):
    robot = biped() if robot is None else robot
    return plan.Plan(robot, EFFORT, start=plan.Boundary(qd=None), duration=0.5, contacts=contacts, **more)


def test_contacts_that_contradict_each_other():
    refused(
        lambda: make(contacts=[sole("right"), plan.Contact("right_foot", [HEEL], name="heel")]), "contradict", "heel"
    )
    refused(lambda: make(contacts=[sole("right"), sole("right")]), "named 'right'")
    hands = [plan.Contact("trunk", [(0, 0, 0.6)], name="head"), plan.Contact("slider_z", [(0, 0, 0)], name="seat")]
    refused(lambda: make(contacts=[sole("right"), *hands], split=FREE), "independently")
    tilted = plan.Contact("left_foot", [HEEL, TOE], ground=plan.HalfSpace((0, 0, 0), (0.1, 0, 1)))
    refused(lambda: make(contacts=[sole("right"), tilted]), "different planes")
    knees = [plan.Contact(f"{side}_shank", [(0, 0, 0)]) for side in SIDES]
    refused(lambda: make(contacts=[sole("right"), *knees]), "3 contacts at once", "split")


def test_robots_that_cannot_stand():
    arm = neuler.robots.two_link()
    refused(
        lambda: make(arm, plan.Contact("link2", [(0, 0, 0)])), "no base that moves without motors", "with_free_base"
    )
    side = plan.Contact("right_foot", [HEEL, TOE], ground=plan.HalfSpace((0, 0, 0), (0, 1, 0)))
    refused(lambda: make(contacts=side), "do not move along the ground's normal")
    high = [
        dataclasses.replace(each, limits=neuler.Limits(1.5, 3.0)) if each.name == "z" else each
        for each in biped().joints
    ]
    low = biped().replace(joints=high)
    refused(lambda: make(low, sole("right")), "right", "cannot reach the ground")
    free = neuler.robots.two_link().with_free_base()
    refused(lambda: make(free, plan.Contact("link2", [(0, 0, 0), (0.1, 0, 0)])), "polygon", "three points", "one line")
    refused(lambda: make(neuler.robots.four_bar(), plan.Contact("link1", [(0, 0, 0)])), "without loops")


def test_a_start_above_the_ground():
    robot = biped()
    q = standing(robot)
    q[1] += 0.03
    refused(
        lambda: plan.Plan(robot, start=q, contacts=sole("right"), duration=0.5), "right", "0.03", "above the ground"
    )


def test_gaps_and_durations():
    refused(lambda: make(contacts=sole("right", when=(0.0, 0.5))), "no contact lasts from 0.5 to 1", "contacts=()")
    phase = plan.Phase(0.0, contacts=[sole("right")])
    refused(lambda: plan.Plan(biped(), EFFORT, phases=[phase]), "duration")
    refused(lambda: make(contacts=[sole("right"), sole("left")], split="evenly"), "split", "evenly")
    refused(lambda: make(contacts=[sole("right")], split=lambda moment: [0.5, 0.5]), "share for each of 1 contacts")
    refused(lambda: make(contacts="right_foot"), "plan.Contact")
    late = [plan.Phase(0.3, contacts=[sole("right")], impact=True), plan.Phase(0.3, contacts=[sole("right")])]
    refused(lambda: plan.Plan(biped(), EFFORT, phases=late), "impact", "phase before")
    refused(lambda: plan.Plan(biped(), EFFORT, phases=late[1:] + late[:1]), "impact", "begins with it")
    refused(lambda: plan.Phase(0.3, impact=1), "impact must be True or False")


def test_more_equality_rows_than_free_variables():
    robot = hopper()
    task = plan.Plan(
        robot, EFFORT, start=crouched(robot), goal=crouched(robot, 0.0, -0.5, 1.0), duration=0.5, contacts=tip(),
        control_points=6, via=[plan.Via(0.25, q=crouched(robot)), plan.Via(0.5, q=crouched(robot))],
    )  # fmt: skip
    refused(task.solve, "more equality rows than free variables", "foot held")
