"""The human skeleton: masses, lengths and inertias against de Leva's table, dynamics against Pinocchio and mirrors."""

import dataclasses
import math

import numpy as np
import pytest

import neuler
from neuler import Link, robots
from neuler.diagnose.doctor import examine
from neuler.formats import load, save
from neuler.passes.weightless import weightless
from neuler.robots.humans import JOINTS, PARTNERS, WALKING_FIXED, Person, mirror, partner, skeleton, strengths
from neuler.robots.humans.segments import DE_LEVA, MEAN_STATURE, PAIRED, SEGMENTS
from random_robots import close, few, later

PEOPLE = {
    "man": Person(),
    "woman": Person(1.62, 58.0, "female"),
    "shares": Person(1.80, 82.0, "male", "drillis-contini"),
    "woman, shares": Person(1.70, 60.0, "female", "drillis-contini"),
    "child": Person(1.10, 19.0, "female"),
    "giant": Person(2.31, 130.0),
    "measured": Person.from_table(
        {"thigh": (0.40, 12.0), "head": (0.25, 4.0), "foot": (0.31, None), "hip_half_width": (0.07, None)},
        stature=1.75,
        mass=75.0,
    ),
}
"""Both sexes, both sources of lengths, usual and unusual persons."""
PARTS = {
    "head": ("head", "neck"),
    "upper_trunk": ("spine4",),
    "middle_trunk": ("spine3", "spine2"),
    "lower_trunk": ("spine1", "pelvis"),
    "upper_arm": ("upper_arm",),
    "forearm": ("forearm",),
    "hand": ("hand",),
    "thigh": ("thigh",),
    "shank": ("shank",),
    "foot": ("foot", "toes"),
}
"""Links that a segment of the table is divided among."""


@pytest.fixture(params=later(PEOPLE, "shares", "woman, shares", "child", "giant"))
def person(request):
    return PEOPLE[request.param]


def standing(robot):
    """Poses of links at zero, by name."""
    return dict(zip(robot.link_names, np.asarray(robot.link_poses(robot.neutral())), strict=True))


def place(robot, name, q=None):
    number, placement = robot.locate(name)
    return (np.asarray(robot.link_poses(robot.neutral() if q is None else q))[number] @ placement.matrix)[:3, 3]


def random_states(robot, count=5, seed=0):
    """Positions within limits, of the pelvis about zero; velocities; accelerations."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.integrate(robot.neutral(), rng.normal(size=robot.nv) * 0.3, 1.0) for _ in range(count)])
    for entry in robot.coordinates:
        if math.isfinite(entry.limits.lower):
            q[:, entry.q] = rng.uniform(entry.limits.lower, entry.limits.upper, (count, 1))
    return q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv)) * 3


# ---- degrees of freedom ------------------------------------------------------------------------------------


def test_the_degrees_of_freedom_are_those_of_barman():
    robot = robots.human()
    count = {part: sum(name.startswith(part) for name in robot.joint_names) for part in ("pelvis", "spine", "l_", "r_")}
    assert count == {"pelvis": 6, "spine": 12, "l_": 16, "r_": 16}
    assert sum(name.startswith(("neck", "head")) for name in robot.joint_names) == 5
    for side in "lr":
        limbs = {"clavicle": 2, "shoulder": 3, "elbow": 2, "wrist": 2, "hip": 3, "knee": 1, "ankle": 2, "toe": 1}
        for limb, number in limbs.items():
            assert sum(name.startswith(f"{side}_{limb}_") for name in robot.joint_names) == number
    assert robot.nq == robot.nv == 55
    assert robot.joint_names[6:] == tuple(JOINTS)
    assert [joint.role for joint in robot.joints] == 6 * ["passive"] + 49 * ["driven"]


def test_a_free_base_is_one_joint():
    robot = robots.human(base="free")
    assert (robot.nq, robot.nv) == (56, 55)
    assert robot.joint_names[1:] == robots.human().joint_names[6:]


def test_for_walking_38_are_left():
    for base in ("joints", "free"):
        robot = robots.human(base=base)
        assert len(set(WALKING_FIXED)) == 17
        walker = robot.with_fixed(dict.fromkeys(WALKING_FIXED, 0.0))
        assert walker.nv == 38
        assert walker.mass == pytest.approx(75.0, rel=1e-14)
        order, _ = mirror(walker)
        assert sorted(order) == list(range(38))


# ---- masses, lengths and inertias --------------------------------------------------------------------------


def test_the_mass_is_exact(person):
    assert skeleton(person).mass == pytest.approx(person.mass, rel=1e-12)
    total = sum(mass * (2 if name in PAIRED else 1) for name, mass in person.masses.items())
    assert total == pytest.approx(person.mass, rel=1e-12)


@pytest.mark.parametrize("sex", ["male", "female"])
def test_shares_of_mass_are_the_tables_over_their_sum(sex):
    table = DE_LEVA[sex]
    total = sum(row[0] * (2 if name in PAIRED else 1) for name, row in table.items())
    assert total == pytest.approx({"male": 1.0, "female": 0.9999}[sex], abs=1e-12)
    masses = Person(1.7, 70.0, sex).masses
    for name in SEGMENTS:
        assert masses[name] == pytest.approx(70.0 * table[name][0] / total, rel=1e-14)


def test_the_body_is_as_tall_as_the_person(person):
    robot, lengths = skeleton(person), person.lengths
    assert place(robot, "head_top")[2] == pytest.approx(person.stature, abs=1e-12)
    for side in "lr":
        for point in ("heel", "ball", "tip"):
            assert place(robot, f"{side}_{point}")[2] == pytest.approx(0.0, abs=1e-12)
        pairs = (
            ("upper_arm", "forearm", "upper_arm"), ("forearm", "hand", "forearm"), ("hand", "knuckles", "hand"),
            ("hand", "fingertip", "hand_to_fingertips"), ("thigh", "shank", "thigh"), ("shank", "foot", "shank"),
            ("heel", "tip", "foot"),
        )  # fmt: skip
        for first, second, name in pairs:
            gap = place(robot, f"{side}_{second}") - place(robot, f"{side}_{first}")
            assert np.linalg.norm(gap) == pytest.approx(lengths[name], rel=1e-12)
    widths = {name: place(robot, f"l_{name}")[1] for name in ("thigh", "upper_arm")}
    assert widths["thigh"] == pytest.approx(lengths["hip_half_width"], rel=1e-12)
    assert widths["upper_arm"] == pytest.approx(lengths["shoulder_half_width"], rel=1e-12)
    rise = place(robot, "l_upper_arm")[2] - place(robot, "l_thigh")[2]
    assert rise == pytest.approx(lengths["hip_to_shoulder"], rel=1e-12)


def test_what_the_neck_gets_of_the_stature():
    """De Leva's lengths leave out neck and foot: what is left of the stature after an ankle height of 0.039."""
    for sex, neck in (("male", 0.0754), ("female", 0.1307)):
        assert Person(MEAN_STATURE[sex], 70.0, sex).neck_length == pytest.approx(neck, abs=5e-5)


def test_left_and_right_are_alike(person):
    robot = skeleton(person)
    poses, flip = standing(robot), np.diag([1.0, -1.0, 1.0])
    for name in robot.link_names:
        if name.startswith("l_"):
            left, right = (next(x for x in robot.links if x.name == n) for n in (name, "r_" + name[2:]))
            assert left.mass == right.mass
            close(flip @ np.array(right.com), left.com, 1e-15)
            close(flip @ right.inertia_matrix @ flip, left.inertia_matrix, 1e-15)
            close(flip @ poses[right.name][:3, 3], poses[name][:3, 3], 1e-15)
    assert abs(robot.center_of_mass(robot.neutral())[1]) < 1e-15


@pytest.mark.parametrize("segment", few(SEGMENTS, 8))
def test_parts_recombine_to_the_table(person, segment):
    """Mass, centre of mass and radii of gyration of what a segment became, standing, about the table's axes."""
    robot = skeleton(person)
    poses = standing(robot)
    side = "l_" if segment in PAIRED else ""
    names = [side + name for name in PARTS[segment]]
    whole = Link("segment")
    for link in robot.links:
        if link.name in names:
            whole = whole.merged(link.seen_from(neuler.Transform.from_matrix(poses[link.name])))
    share, centre, *radii, _ = DE_LEVA[person.sex][segment]
    length = person.lengths[segment]
    if not person.measured_masses:
        total = sum(row[0] * (2 if name in PAIRED else 1) for name, row in DE_LEVA[person.sex].items())
        assert whole.mass == pytest.approx(person.mass * share / total, rel=1e-12)
    assert whole.mass == pytest.approx(person.masses[segment], rel=1e-12)
    tops = {
        "head": "head_top", "upper_trunk": "neck", "middle_trunk": "spine4", "lower_trunk": "spine2", "foot": "l_heel",
    }  # fmt: skip
    start = place(robot, tops.get(segment, side + segment))
    off = np.array(whole.com) - start
    if segment == "foot":
        assert off[0] == pytest.approx(centre * length, rel=1e-12)
        assert off[2] == pytest.approx(0.5 * person.lengths["ankle_height"], rel=1e-12)
    else:
        close(off, [0.0, 0.0, -centre * length], 1e-12)
    sagittal, transverse, along = ((radius * length) ** 2 * whole.mass for radius in radii)
    axes = (sagittal, transverse, along)
    if segment in ("forearm", "hand"):  # palms face the thighs, the table's face forwards
        axes = (transverse, sagittal, along)
    elif segment == "foot":
        axes = (along, transverse, sagittal)
    close(whole.inertia_about_com, np.diag(axes), 1e-12)


def test_every_link_is_a_body_that_can_exist(person):
    robot = skeleton(person)
    assert not examine(robot)
    for link in robot.links:
        if link.mass:
            moments = np.linalg.eigvalsh(link.inertia_about_com)
            assert moments[0] > 0.0
            assert moments[2] < moments[0] + moments[1]


@pytest.mark.parametrize(("sex", "share"), [("male", 0.573), ("female", 0.554)])
def test_the_centre_of_mass_stands_where_the_table_puts_it(sex, share):
    """In closed form from the table's rows, without the skeleton; about 0.55 of stature is usual."""
    stature, table = 1.7, DE_LEVA[sex]
    length = {name: row[-1] * stature / MEAN_STATURE[sex] for name, row in table.items()}
    ankle = 0.039 * stature
    hip = ankle + length["shank"] + length["thigh"]
    navel = hip + length["lower_trunk"]
    xiphion = navel + length["middle_trunk"]
    shoulder = hip + 0.288 * stature
    tops = {
        "head": stature, "upper_trunk": xiphion + length["upper_trunk"], "middle_trunk": xiphion, "lower_trunk": navel,
        "upper_arm": shoulder, "forearm": shoulder - length["upper_arm"],
        "hand": shoulder - length["upper_arm"] - length["forearm"], "thigh": hip, "shank": ankle + length["shank"],
    }  # fmt: skip
    heights = {name: top - table[name][1] * length[name] for name, top in tops.items()} | {"foot": ankle / 2}
    weights = {name: row[0] * (2 if name in PAIRED else 1) for name, row in table.items()}
    expected = sum(weights[name] * heights[name] for name in SEGMENTS) / sum(weights.values())
    found = robots.human(stature, 70.0, sex).center_of_mass(np.zeros(55))
    assert found[2] == pytest.approx(expected, rel=1e-12)
    assert found[2] / stature == pytest.approx(share, abs=5e-4)


# ---- joints ------------------------------------------------------------------------------------------------


def test_signs_of_joints_are_those_of_the_clinic():
    """Each joint moved by itself, a point of the body, and the direction in which it goes: (forwards, left, up)."""
    robot = robots.human()
    moves = {
        "spine1_flexion": ("head_top", 0, 1), "spine1_lateral": ("head_top", 1, -1),
        "spine1_rotation": ("l_upper_arm", 0, -1), "neck_flexion": ("head_top", 0, 1),
        "neck_lateral": ("head_top", 1, -1), "head_flexion": ("head_top", 0, 1),
        "pelvis_pitch": ("head_top", 0, 1), "pelvis_roll": ("head_top", 1, -1), "pelvis_yaw": ("l_thigh", 0, -1),
        "l_hip_flexion": ("l_foot", 0, 1), "l_hip_abduction": ("l_foot", 1, 1), "l_hip_rotation": ("l_tip", 1, -1),
        "l_knee_flexion": ("l_foot", 0, -1), "l_ankle_flexion": ("l_tip", 2, 1), "l_toe_extension": ("l_tip", 2, 1),
        "l_ankle_inversion": ("l_ball", 1, -1), "l_shoulder_flexion": ("l_hand", 0, 1),
        "l_shoulder_abduction": ("l_hand", 1, 1), "l_elbow_flexion": ("l_hand", 0, 1),
        "l_wrist_flexion": ("l_knuckles", 1, -1), "l_wrist_deviation": ("l_knuckles", 0, 1),
        "l_clavicle_elevation": ("l_upper_arm", 2, 1), "l_clavicle_protraction": ("l_upper_arm", 0, 1),
    }  # fmt: skip
    start = place(robot, "head_top")
    assert start[2] == pytest.approx(1.75)
    for name, (point, axis, sign) in moves.items():
        for side in ("l", "r") if name.startswith("l_") else ("",):
            joint, at = (side + name[1:], side + point[1:]) if side else (name, point)
            flip = -1 if side == "r" and axis == 1 else 1
            q = np.zeros(55)
            q[robot.joint_names.index(joint)] = 0.1
            moved = place(robot, at, q) - place(robot, at)
            assert moved[axis] * sign * flip > 1e-3, joint
    q = np.zeros(55)
    for joint in ("l_elbow_pronation", "l_shoulder_rotation"):  # with the elbow bent, the hand goes inwards
        q[robot.joint_names.index("l_elbow_flexion")] = np.pi / 2
        number = robot.joint_names.index(joint)
        pose = np.asarray(robot.link_poses(q))[robot.link_names.index("l_hand")]
        q[number] = 0.1
        after = np.asarray(robot.link_poses(q))[robot.link_names.index("l_hand")]
        q[number] = 0.0
        if joint == "l_shoulder_rotation":
            assert after[1, 3] < pose[1, 3] - 0.01
        else:  # the palm, at zero -y of the left hand, turns down
            assert -after[2, 1] < -pose[2, 1] - 0.05


def test_ranges_and_strengths_are_those_of_the_table():
    robot = robots.human()
    limits = {joint.name: joint.limits for joint in robot.joints}
    for side in "lr":
        hip, knee = limits[f"{side}_hip_flexion"], limits[f"{side}_knee_flexion"]
        assert np.degrees([hip.lower, hip.upper]) == pytest.approx([-30, 120])
        assert np.degrees([knee.lower, knee.upper]) == pytest.approx([0, 140])
        assert (hip.effort, knee.effort) == (200, 240)
    spine = [limits[f"spine{k}_flexion"] for k in range(1, 5)]
    lower, upper = sum(each.lower for each in spine), sum(each.upper for each in spine)
    assert np.degrees([lower, upper]) == pytest.approx([-25, 80])
    assert all(limits[name].effort == math.inf for name in robot.joint_names[:6])
    assert {row.chosen for row in JOINTS.values()} == {(), ("lower",), ("lower", "upper")}
    for name, row in JOINTS.items():
        assert row.lower <= 0.0 <= row.upper, name
        assert row.negative > 0.0 < row.positive, name


def test_strengths_have_directions_and_scale():
    robot = robots.human()
    lower, upper = strengths(robot)
    at = robot.joint_names.index
    for side in "lr":
        assert (lower[at(f"{side}_knee_flexion")], upper[at(f"{side}_knee_flexion")]) == (-240.0, 120.0)
        assert (lower[at(f"{side}_ankle_flexion")], upper[at(f"{side}_ankle_flexion")]) == (-170.0, 45.0)
        assert (lower[at(f"{side}_hip_flexion")], upper[at(f"{side}_hip_flexion")]) == (-200.0, 150.0)
    assert (lower[at("spine2_flexion")], upper[at("spine2_flexion")]) == (-250.0, 160.0)
    assert not lower[:6].any()
    assert not upper[:6].any()
    small = robots.human(1.5, 50.0)
    close(strengths(small)[0], lower * (50 * 1.5) / (75 * 1.75), 1e-14)
    efforts = np.array([joint.limits.effort for joint in small.joints])[6:]
    close(np.maximum(-strengths(small)[0], strengths(small)[1])[6:], efforts, 1e-14)
    walker = robot.with_fixed(dict.fromkeys(WALKING_FIXED, 0.0))
    kept = [at(name) for name in walker.joint_names]
    close(strengths(walker)[1], upper[kept], 1e-15)
    weak = [
        dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, effort=joint.limits.effort / 2))
        if joint.name == "l_knee_flexion"
        else joint
        for joint in robot.joints
    ]
    number = at("l_knee_flexion")
    injured = strengths(robot.replace(joints=weak))
    assert (injured[0][number], injured[1][number]) == (-120.0, 60.0)
    assert strengths(robots.human(base="free"))[0].shape == (55,)


def test_partners_come_in_pairs():
    assert len(PARTNERS) == 55
    for name, (other, sign) in PARTNERS.items():
        assert PARTNERS[other] == (name, sign)
        assert (other != name) == name.startswith(("l_", "r_"))
        assert partner(name) == (other, sign)
    assert [name for name in PARTNERS if PARTNERS[name][1] < 0][:3] == ["pelvis_y", "pelvis_yaw", "pelvis_roll"]


@pytest.mark.parametrize("base", ["joints", "free"])
def test_mirrored_motions_have_mirrored_poses_and_torques(base):
    robot = robots.human(base=base)
    q, qd, qdd = random_states(robot, seed=3)
    (at_q, sign_q), (at_v, sign_v) = mirror(robot, "q"), mirror(robot, "qd")
    seen = sign_q * q[:, at_q], sign_v * qd[:, at_v], sign_v * qdd[:, at_v]
    assert np.abs(seen[0] - q).max() > 0.1
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(robot.inverse_dynamics(*seen), sign_v * tau[:, at_v], 1e-12)
    flip = np.diag([1.0, -1.0, 1.0, 1.0])
    poses, others = robot.link_poses(q), robot.link_poses(seen[0])
    for number, name in enumerate(robot.link_names):
        twin = robot.link_names.index({"l": "r", "r": "l"}[name[0]] + name[1:] if name[1] == "_" else name)
        if "_after_" not in name:
            close(others[:, twin], flip @ poses[:, number] @ flip, 1e-12, what=name)


# ---- dynamics ----------------------------------------------------------------------------------------------


def driven(robot):
    """With motors at the pelvis: URDF files know no joints without."""
    return robot.replace(joints=[dataclasses.replace(joint, role="driven") for joint in robot.joints])


@pytest.mark.parametrize("name", few(["man", "woman", "measured"], 1))
@pytest.mark.parametrize("base", ["joints", "free"])
def test_pinocchio_computes_the_same_torques_from_the_urdf_file(tmp_path, name, base):
    pin = pytest.importorskip("pinocchio")
    robot = skeleton(PEOPLE[name], base=base)
    save(driven(robot) if base == "joints" else robot, tmp_path / "human.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "human.urdf"))
    layout = neuler.layouts.pinocchio(robot, model)
    data = model.createData()
    assert pin.computeTotalMass(model) == pytest.approx(robot.mass, rel=1e-12)
    states = random_states(robot, 4, seed=1)
    for q, qd, qdd in zip(*states, strict=True):
        theirs = pin.rnea(model, data, layout.q(q), layout.v(qd, q), layout.a(qdd, qd, q))
        close(layout.tau(robot.inverse_dynamics(q, qd, qdd), q), theirs, 1e-10)
    again = load(tmp_path / "human.urdf")
    close(again.inverse_dynamics(*states), robot.inverse_dynamics(*states), 1e-12)


def test_standing_still_the_ground_carries_the_weight(person):
    robot = skeleton(person)
    zero = np.zeros(55)
    tau = robot.inverse_dynamics(zero, zero, zero)
    weight = person.mass * 9.81
    x, _, z = robot.center_of_mass(zero)
    assert z > 0.5 * person.stature
    # The moment about the hip joints' middle: of the centre of mass, and of nothing else.
    close(tau[:6], [0.0, 0.0, weight, 0.0, -weight * x, 0.0], 1e-12, scale=weight)
    assert place(robot, "l_heel")[0] < x < place(robot, "l_ball")[0]


def test_both_bases_are_the_same_person():
    one, other = robots.human(), robots.human(base="free")
    q, qd, qdd = random_states(one, 3, seed=5)
    poses = one.link_poses(q)[:, one.link_names.index("pelvis")]
    lift = np.array([0.0, 0.0, Person().hip_height])
    motions = one.link_motions(q, qd, qdd, np.zeros_like(q), frame="pelvis")
    twist, qdd_free = np.asarray(motions.velocities), np.array(motions.accelerations)
    qdd_free[:, :3] -= np.cross(twist[:, 3:], twist[:, :3])  # rates of components in axes that turn
    turns = [neuler.Transform.from_matrix(pose).quaternion for pose in poses]
    q2 = np.hstack([poses[:, :3, 3] - lift, turns, q[:, 6:]])
    qd2, qdd2 = np.hstack([twist, qd[:, 6:]]), np.hstack([qdd_free, qdd[:, 6:]])
    close(other.link_poses(q2)[:, -1], one.link_poses(q)[:, -1], 1e-12)
    tau, tau2 = one.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q2, qd2, qdd2)
    close(tau2[:, 6:], tau[:, 6:], 1e-11)
    columns = one.jacobian(q, frame="pelvis", reference="link")[:, :, :6]
    close(np.einsum("kij,ki->kj", columns, tau2[:, :6]), tau[:, :6], 1e-11)


@pytest.mark.slow
def test_forward_dynamics_undoes_inverse_dynamics():
    robot = robots.human()
    assert "l_hip_flexion" in weightless(robot)  # links between joints at one point have no mass
    q, qd, qdd = random_states(robot, 3, seed=7)
    q *= 0.3  # far from where the axes of three joints at one point fall together
    close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, 1e-8)


def test_feet_are_contacts_of_plans():
    """The pelvis's six passive joints are a base that contacts can carry."""
    from neuler.moments.support import root_of

    for base in ("joints", "free"):
        root = root_of(robots.human(base=base), ["l_heel", "l_ball", "r_tip"])
        assert root.spatial
        assert root.link == "pelvis"
