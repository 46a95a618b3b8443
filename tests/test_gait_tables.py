"""Measured motion in tables: OpenSim's names and axes, our own, files of loads, and faulty tables by name."""

import numpy as np
import pytest

import neuler
import walking_motions as walking
from gait_walk import human, index, known, times
from neuler import FormatError, InputError, gait, robots
from neuler.gait.columns import opensim_angles, own_columns
from random_robots import close

# ---- tables ---------------------------------------------------------------------------------------------------------


def opensim_table(columns=gait.OPENSIM):
    """The walk as OpenSim would have it, in degrees."""
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


@pytest.mark.slow
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
    lines = text.splitlines()
    (tmp_path / "gap.csv").write_text("\n".join([*lines[:9], lines[9].partition(",")[0] + "," * 55, *lines[10:]]))
    with pytest.raises(InputError, match=r"gap\.csv': column 'pelvis_x' has no value in 1 samples from 0.08 s on"):
        gait.Measured.read(tmp_path / "gap.csv", human(), degrees=True)
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:9], "1.0,much"]))
    with pytest.raises(FormatError, match=r"bad\.csv': row 8 has 2 cells under 56 names"):
        gait.Measured.read(tmp_path / "bad.csv", human(), degrees=True)
    (tmp_path / "bad.csv").write_text("time,a\n0,much")
    with pytest.raises(FormatError, match=r"bad\.csv': cannot be read as a table of numbers"):
        gait.Measured.read(tmp_path / "bad.csv", human(), degrees=True)
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
    if suffix == "csv":  # a motion again, by its columns q_<joint> and t
        close(gait.Measured.read(path, human(), degrees=False).q, exact.q, 1e-12, scale=1.0)
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
