"""Strides: one step and its mirror image, figures of merit, measured curves beside them."""

import dataclasses
import functools
import json

import numpy as np
import pytest

import neuler
import walking_motions as walking
from neuler import gait, plan
from neuler.errors import FormatError, InputError
from neuler.files.opensim import read_storage
from neuler.gait.peaks import peaks, rises, valley
from neuler.gait.reference import COLUMNS

RATE = 400.0
STEP = round(walking.PERIOD * RATE)
"""Samples of a step of the synthetic walk, which is symmetric."""


@functools.cache
def walk():
    """By the number of a sample feet stand for the same number of samples; by its time rounding would decide."""
    found = walking.walk(3 * walking.STRIDE, RATE)
    stands = np.stack([(np.arange(len(found.t)) - late) % (2 * STEP) for late in (0, STEP)], axis=-1)
    touching = stands < STEP * (1 + walking.DOUBLE)
    return gait.ground_loads(walking.human(), found.t, found.q, found.qd, found.qdd, touching=touching)


def part(first, last):
    """Loads of some samples of the walk as a motion; a stride from the ends, where contacts are not cut off."""
    loads, kept = walk(), slice(2 * STEP + first, 2 * STEP + last + 1)
    names = ("t", "q", "qd", "qdd", "force", "moment", "zero_moment_point", "touching", "share", "foot_force",
             "center_of_pressure", "free_moment", "outside", "tau", "residual")  # fmt: skip
    values = {name: getattr(loads, name)[kept] for name in names}
    return dataclasses.replace(loads, **values, loads={name: x[kept] for name, x in loads.loads.items()})


@functools.cache
def stride():
    return gait.Stride.of(part(0, STEP).motion(), 2 * STEP + 1)


@functools.cache
def planned():
    """A planar human that steps, its left foot behind: not solved to the end, but with forces of the plan."""
    human = neuler.robots.human()
    legs = ("hip_flexion", "knee_flexion", "ankle_flexion")
    moving = {"pelvis_x", "pelvis_z", "pelvis_pitch", *(side + joint for side in ("l_", "r_") for joint in legs)}
    robot = human.with_fixed({name: 0.0 for name in human.joint_names if name not in moving})
    heel, ball = (human.locate(name)[1].translation for name in ("r_heel", "r_ball"))
    sole = [(heel[0], 0.0, heel[2]), (ball[0], 0.0, heel[2])]
    cycle = [*plan.repeats("pelvis_x", shift=0.3), *plan.repeats("pelvis_z", "pelvis_pitch")]
    for joint in legs:
        cycle += plan.exchanges(f"r_{joint}", f"l_{joint}")
    task = plan.Plan(
        robot,
        1e-3 * plan.effort(),
        start=plan.Boundary(q={"pelvis_x": 0.0}, qd=None),
        duration=0.6,
        contacts=[plan.Contact("r_foot", sole, name="front"), plan.Contact("l_foot", sole, (0.0, 0.25), name="rear")],
        relations=cycle,
        split="free",
        control_points=12,
    )
    return task.solve(guesses=1, iterations=15, refine=False, polish=False)


# ---- the mirror image -----------------------------------------------------------------------------------------------


def test_second_half_is_the_walk_that_follows():
    """The walk itself goes on as the mirror image says: motion, forces, torques, pressure, all of both legs."""
    found, known = stride().loads, part(0, 2 * STEP)
    scale = walk().weight
    np.testing.assert_allclose(found.q, known.q, atol=1e-9)
    np.testing.assert_allclose(found.qdd, known.qdd, atol=1e-6)
    np.testing.assert_allclose(found.foot_force, known.foot_force, atol=1e-6 * scale)
    np.testing.assert_allclose(found.tau, known.tau, atol=1e-6 * scale)
    np.testing.assert_allclose(found.joint_forces, known.joint_forces, atol=1e-6 * scale)
    np.testing.assert_allclose(found.zero_moment_point, known.zero_moment_point, atol=1e-6)
    heavy = (known.vertical > 0.03 * scale)[..., None]
    gap = np.where(heavy, found.center_of_pressure - known.center_of_pressure, 0.0)
    assert np.abs(gap).max() < 1e-6
    np.testing.assert_allclose(found.free_moment[heavy[..., 0]], known.free_moment[heavy[..., 0]], atol=1e-5 * scale)


def test_lengths_and_times():
    assert stride().length == pytest.approx(2 * walking.STEP, abs=1e-9)
    assert stride().duration == pytest.approx(walking.STRIDE)
    assert stride().percent[STEP] == 50.0
    assert np.diff(stride().t) == pytest.approx(1 / RATE)


def test_a_cycle_has_no_jump_and_a_part_of_one_has():
    whole, cut = stride(), gait.Stride.of(part(0, STEP - 20).motion())
    assert np.abs(whole.force_jump).max() < 1e-6 * whole.weight
    assert np.abs(whole.point_jump).max() < 1e-6
    assert max(whole.state_jump) < 1e-6
    assert np.abs(cut.force_jump).max() > 0.05 * whole.weight
    first, last = part(0, 0).q[0], part(STEP - 20, STEP - 20).q[0]
    knees = [walking.human().joint_names.index(f"{side}_knee_flexion") for side in "lr"]
    assert cut.state_jump[0] >= abs(first[knees[0]] - last[knees[1]]) > 0.01


def test_whole_stride_of_a_motion_without_symmetry():
    found = gait.Stride.of(part(0, 2 * STEP).motion(), 2 * STEP + 1, symmetric=False)
    np.testing.assert_allclose(found.body_weights, stride().body_weights, atol=1e-6)
    assert found.length == pytest.approx(stride().length)
    assert np.abs(found.force_jump).max() < 1e-6 * found.weight


def test_pelvis_climbs_on_a_slope():
    human, t, slope = walking.human(), np.arange(51) / 100, np.radians(6.0)
    q, qd = np.zeros((51, 55)), np.zeros((51, 55))
    qd[:, :3] = 0.8 * np.array([np.cos(slope), 0.0, np.sin(slope)])
    q[:, :3] = t[:, None] * qd[:, :3]
    ground = plan.HalfSpace((0.0, 0.0, 0.0), (-np.sin(slope), 0.0, np.cos(slope)))
    feet = np.ones((51, 2), bool)
    loads = gait.ground_loads(human, t, q, qd, 0 * q, touching=feet, ground=ground)
    found = gait.Stride.of(loads.motion(), 101, ground=ground)
    assert found.length == pytest.approx(0.8)
    assert found.q[-1, 2] == pytest.approx(0.8 * np.sin(slope))
    assert found.state_jump[0] < 1e-12
    assert found.body_weights[0, 1] == pytest.approx(0.5 * np.sin(slope))
    assert found.impulse_error == pytest.approx(0.0, abs=1e-12)


# ---- of a plan ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_stride_of_a_plan_has_the_forces_of_the_plan():
    motion, n = planned(), 201
    found = gait.Stride.of(motion, n)
    t = np.linspace(0.0, motion.duration, 101)[:-1]
    np.testing.assert_allclose(found.tau[:100], motion.torques(t), atol=1e-8)
    np.testing.assert_allclose(found.loads.joint_forces[:100], motion.forces(t), atol=1e-7)
    front, rear = (motion.measure(plan.contact_force(name), t) for name in ("front", "rear"))
    np.testing.assert_allclose(found.loads.foot_force[:100, 0], front[:, :3], atol=1e-9)
    np.testing.assert_allclose(found.loads.foot_force[100:200, 0], rear[:, :3], atol=1e-9)
    up, point = motion.measure(plan.ground_force, t)[:, 2], motion.measure(plan.zero_moment_point, t)[:, 0]
    heavy = up > 0.05 * found.weight  # in a plane the point is on the line y = 0 by definition
    np.testing.assert_allclose(found.zero_moment_point[:100, 0][heavy], point[heavy], atol=1e-9)
    knees = [motion.robot.joint_names.index(f"{side}_knee_flexion") for side in "rl"]
    q = np.degrees(motion.at(t).q[:, knees])
    np.testing.assert_allclose(found.angle("knee")[:200], np.concatenate(q.T), atol=1e-9)


@pytest.mark.slow
def test_a_planned_cycle_balances():
    found = gait.Stride.of(planned())
    assert found.length == pytest.approx(0.6)
    assert found.root_residual < 1e-9
    assert abs(found.impulse_error) < 1e-3
    assert max(found.state_jump) < 1e-9
    assert found.release < 0.01 * found.weight  # profiles of "free" fade where a contact ends


# ---- units and figures of merit -------------------------------------------------------------------------------------


def test_units_and_signs():
    found = stride()
    force = found.loads.foot_force[:, 0]
    np.testing.assert_allclose(found.body_weights * found.weight, force[:, [2, 0, 1]] * [1, 1, -1], atol=1e-9)
    assert found.weight == pytest.approx(75.0 * 9.81)
    hip = walking.human().joint_names.index("r_hip_flexion")
    np.testing.assert_allclose(np.radians(found.angle("hip")), found.q[:, hip])
    assert found.curves()["vertical"].max() == pytest.approx(100 * found.vertical.max() / found.weight)
    assert found.ranges["r_knee_flexion"][1] == pytest.approx(found.angle("knee").max())
    assert found.ranges["pelvis_x"][1] == pytest.approx(found.q[:, 0].max())
    with pytest.raises(InputError, match="'ankle'"):
        found.angle("ancle")


def test_stance_and_knee():
    found = stride()
    assert 100 * found.stance.mean() == pytest.approx(50 * (1 + walking.DOUBLE), abs=2.0)
    knee = found.angle("knee")
    assert found.swing_knee == knee[~found.stance].max()
    assert found.stance_knee == knee[: int(found.stance.sum()) // 2].max()


def test_the_ground_carries_the_weight():
    assert abs(stride().impulse_error) < 1e-3
    assert stride().root_residual < 1e-9
    heavy = part(0, STEP)
    more = dataclasses.replace(heavy, loads={name: 1.1 * x for name, x in heavy.loads.items()})
    found = gait.Stride.of(more.motion())
    assert found.impulse_error == pytest.approx(0.1, abs=2e-3)
    assert found.root_residual > 0.05


class Lifted(gait.MeasuredMotion):
    """The left foot leaves the ground at its tenth sample, whatever it carries."""

    def _contact_loads(self, t):
        values = super()._contact_loads(t).reshape(len(t), -1, 6)
        left = [name.startswith("l_") for name in self.contact_frames]
        values[np.ix_(t > self.t[10], left)] = 0.0
        return values.reshape(len(t), -1)


def test_load_that_is_dropped_is_seen():
    known = part(0, STEP)
    assert stride().release < 0.01 * stride().weight
    found = gait.Stride.of(Lifted.of_loads(known))
    assert known.vertical[10, 1] > 0.3 * found.weight
    assert found.release == pytest.approx(known.vertical[10, 1], rel=1e-3)


def test_peaks_are_not_kinks():
    place = np.linspace(0.0, 100.0, 401)
    smooth = np.where(place < 60, np.sin(np.pi * place / 60) + 0.35 * np.sin(3 * np.pi * place / 60), 0.0)
    kinked = smooth + 0.02 * (np.abs(place - 24.0) < 0.3)
    tops = peaks(place, kinked, 0.05)
    assert [round(top.percent) for top in tops] == [round(top.percent) for top in peaks(place, smooth, 0.05)]
    assert len(tops) == 2
    assert len(peaks(place, kinked, 0.005)) == 3
    low = valley(place, smooth, tops, 30.0)
    assert low == (30.0, pytest.approx(0.65))
    assert valley(place, smooth, tops[:1], 30.0) is None


def test_flat_tops_count_once():
    assert peaks(np.arange(6.0), np.array([0, 1.0, 1.0, 1.0, 0.5, 0]), 0.1) == ((1.0, 1.0),)
    assert peaks(np.arange(4.0), np.array([0, 1.0, 1.0, 1.0]), 0.1) == ()


def test_changes_within_the_deadband_do_not_count():
    place = np.linspace(0.0, 100.0, 201)
    curve = -np.sin(2 * np.pi * place / 100) + 0.005 * np.sin(2 * np.pi * place)
    assert rises(place, curve, 0.02) == (pytest.approx(50.0, abs=1.0),)
    assert rises(place, 0.01 * curve, 0.02) == ()
    assert len(rises(place, -np.sin(6 * np.pi * place / 100), 0.02)) == 3


def test_summary_is_json():
    found = stride().summary()
    text = json.loads(json.dumps(found, allow_nan=False))
    assert {"grf_peaks", "grf_valley", "step_jump", "rms_hip_deg", "rms_knee_deg", "rms_ankle_deg"} <= set(text)
    assert text["speed"] == pytest.approx(walking.STEP / walking.PERIOD)
    assert text["peak_force"]["ankle"] == pytest.approx(stride().joint_force("ankle").max() / stride().weight)


# ---- measured curves ------------------------------------------------------------------------------------------------


def test_measured_adult():
    adult = gait.Reference.adult()
    assert set(adult.mean) == set(adult.sd) == set(COLUMNS)
    assert adult.mean["vertical"].max() == 102.0
    assert 7.0 < stride().compare()["vertical"].rmse < 60.0


def test_distance_to_own_curves_moved():
    own = gait.Reference(stride().percent, {**stride().curves(), "knee": stride().angle("knee") + 3.0})
    found = stride().compare(own)
    assert found["knee"].rmse == pytest.approx(3.0)
    assert found["hip"].rmse == found["lateral"].rmse == 0.0
    assert stride().summary(own)["rms_knee_deg"] == pytest.approx(3.0)
    with pytest.raises(InputError, match=r"gait\.Reference"):
        stride().compare({"hip": [1.0]})


def table(path, rows=5, leave=(), **columns):
    header = [name for name in ("percent", *(mean for mean, _ in COLUMNS.values())) if name not in leave]
    values = {name: np.linspace(0.0, 100.0, rows) for name in header} | columns
    lines = [",".join(values), *(",".join(str(x) for x in row) for row in zip(*values.values(), strict=True))]
    path.write_text("\n".join(lines))
    return path


def test_reading_curves_without_deviations(tmp_path):
    found = gait.Reference.read(table(tmp_path / "lab.csv"))
    assert found.name == "lab"
    assert not found.sd
    np.testing.assert_array_equal(found.mean["knee"], [0, 25, 50, 75, 100])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"leave": ("knee_flexion_deg",)}, "no column 'knee_flexion_deg'"),
        ({"hip_flexion_deg": [0, 1, "nan", 3, 4]}, "'hip_flexion_deg' has no number in row 3"),
        ({"hip_flexion_deg": [0, 1, 2, "", 4]}, "'hip_flexion_deg' has no number in row 4"),
        ({"knee_sdd": np.ones(5)}, "did you mean 'knee_sd'"),
        ({"knee_sd": -np.ones(5)}, "must not be negative"),
        ({"percent": [0, 50, 25, 75, 100]}, "must increase"),
        ({"percent": np.linspace(0.0, 1.0, 5)}, "must go from 0 to 100"),
    ],
)
def test_bad_tables_are_named(tmp_path, change, said):
    with pytest.raises(FormatError, match=said):
        gait.Reference.read(table(tmp_path / "bad.csv", **change))


# ---- files, motions and pictures ------------------------------------------------------------------------------------


def test_files(tmp_path):
    found = stride()
    for name in ("stride.csv", "stride.npz", "angles.mot", "forces.sto"):
        found.save(tmp_path / name)
    rows = np.genfromtxt(tmp_path / "stride.csv", delimiter=",", names=True)
    np.testing.assert_allclose(rows["percent"], found.percent)
    np.testing.assert_allclose(rows["right_vertical"], found.vertical)
    np.testing.assert_allclose(rows["tau_r_knee_flexion"], found.torque("knee"))
    with np.load(tmp_path / "stride.npz") as arrays:
        np.testing.assert_array_equal(arrays["body_weights"], found.body_weights)
    angles, forces = read_storage(tmp_path / "angles.mot"), read_storage(tmp_path / "forces.sto")
    assert angles.in_degrees
    np.testing.assert_allclose(angles.columns["knee_angle_r"], found.angle("knee"))
    np.testing.assert_allclose(forces.columns["ground_force_right_vy"], found.vertical)
    np.testing.assert_allclose(forces.columns["ground_force_right_vz"], found.lateral)


def test_stride_as_a_motion():
    motion = stride().motion()
    assert motion.duration == pytest.approx(walking.STRIDE)
    again = gait.Stride.of(motion, 2 * STEP + 1, symmetric=False)
    np.testing.assert_allclose(again.body_weights, stride().body_weights, atol=1e-9)


def test_pictures():
    pytest.importorskip("matplotlib")
    figure = stride().plot()
    assert len(figure.axes) == 9
    hip = figure.axes[0]
    drawn = [line.get_ydata() for line in hip.lines if len(line.get_ydata()) == len(stride().percent)]
    np.testing.assert_array_equal(drawn[0], stride().angle("hip"))
    assert len(hip.collections) == 1
    strip = stride().strip(5)
    told = [text.get_text() for text in strip.axes[0].texts if text.get_text()]
    assert told == ["0 %", "25 %", "50 %", "75 %", "100 %", "1 body weight"]
    assert len(strip.axes[0].collections) == 5  # a body each


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_refusals():
    motion = part(0, STEP).motion()
    with pytest.raises(InputError, match="odd"):
        gait.Stride.of(motion, 400)
    with pytest.raises(InputError, match="lean to a side"):
        gait.Stride.of(motion, ground=plan.HalfSpace((0, 0, 0), (0, 0.1, 1)))
    with pytest.raises(InputError, match="a motion is needed"):
        gait.Stride.of(walk())
    still = neuler.motions.Recorded(walking.human(), [0.0, 1.0], np.zeros((2, 55)))
    with pytest.raises(InputError, match="no contacts"):
        gait.Stride.of(still)
    loads = part(0, STEP)
    hand = dataclasses.replace(loads, loads={"r_hand": loads.loads["r_ball"], **loads.loads})
    with pytest.raises(InputError, match="'r_hand', which is not of a foot"):
        gait.Stride.of(hand.motion())
