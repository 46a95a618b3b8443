"""Denavit-Hartenberg tables: frames and bodies end up where the tables say."""

import math
from math import pi

import numpy as np
import pytest

from neuler.errors import FormatError, NeulerError
from neuler.formats import DHRow, KhalilRow, from_dh
from neuler.robot import Limits, Transform
from neuler.robot.inertia_matrix import inertia_matrix


def rotation(axis, angle):
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def poses(robot, q):
    """Homogeneous matrices of all links and frames by name."""
    found = {robot.links[0].name: np.eye(4)}
    q = iter(q)
    for joint in robot.joints:
        moved = np.eye(4)
        if joint.kind == "revolute":
            moved[:3, :3] = rotation(joint.axis, next(q))
        elif joint.kind == "prismatic":
            moved[:3, 3] = np.multiply(joint.axis, next(q))
        found[joint.child] = found[joint.parent] @ joint.placement.matrix @ moved
    for frame in robot.frames:
        found[frame.name] = found[frame.link] @ frame.placement.matrix
    return found


def rot(axis, angle, shift=0.0):
    m = np.eye(4)
    unit = np.eye(3)["xyz".index(axis)]
    m[:3, :3] = rotation(unit, angle)
    m[:3, 3] = shift * unit
    return m


@pytest.mark.parametrize("convention", ["standard", "khalil"])
def test_tables_of_numbers(convention):
    table = np.random.default_rng(5).normal(size=(5, 4))
    columns = {"standard": ("theta", "d", "a", "alpha"), "khalil": ("alpha", "d", "theta", "r")}[convention]
    expected = from_dh([dict(zip(columns, row, strict=True)) for row in table.tolist()], convention=convention)
    for given in (table, table.tolist(), [tuple(row) for row in table], list(table), np.asfortranarray(table)):
        assert from_dh(given, convention=convention) == expected
    assert expected.nv == 5
    assert from_dh(np.zeros((2, 4), dtype=int)).nv == 2


def test_tables_of_numbers_are_checked():
    good = [0.0, 0.1, 0.2, 0.3]
    for table, message in (
        (np.zeros((3, 5)), r"shape \(N, 4\), its columns theta, d, a, alpha; got \(3, 5\)"),
        (np.zeros(4), r"got \(4,\)"),
        (np.zeros((2, 2, 4)), r"got \(2, 2, 4\)"),
        (np.zeros((0, 4)), "the table has no rows"),
        ([good, [0.0, 0.1, 0.2]], "row 2: expected four numbers, theta, d, a, alpha; got 3"),
        ([[0.0, [1.0, 2.0], 0.2, 0.3]], r"row 1: d must be a number, got \[1.0, 2.0\]"),
        (good, "row 1: expected a mapping, a DHRow or four numbers, got float"),
        ([[good]], "row 1: expected four numbers, theta, d, a, alpha; got 1"),
        (np.array([good, [0.0, np.nan, 0.2, 0.3]]), "row 2: d must be finite, got nan"),
        ([good, [0.0, 0.1, math.inf, 0.3]], "row 2: a must be finite, got inf"),
        ([good, [0.0, 0.1, "x", 0.3]], "row 2: a must be a number, got 'x'"),
        (np.array([["a"] * 4]), "row 1: theta must be a number, got 'a'"),
        (np.array([good]) * 1j, "row 1: theta must be a number"),
        ("abcd", "got str"),
    ):
        with pytest.raises(FormatError, match=message):
            from_dh(table)
    with pytest.raises(FormatError, match="its columns alpha, d, theta, r; got"):
        from_dh(np.zeros((3, 6)), convention="khalil")


def random_rows(rng, n=6):
    rows = []
    for k in range(n):
        spread = rng.normal(size=(3, 3))
        spread = 0.02 * spread @ spread.T
        rows.append(
            {
                **dict(zip(("theta", "d", "a", "alpha", "offset"), rng.normal(size=5), strict=True)),
                "kind": "prismatic" if k in (2, 4) else "revolute",
                "mass": rng.uniform(1, 5),
                "com": rng.normal(size=3),
                "inertia": np.trace(spread) * np.eye(3) - spread,
            }
        )
    return rows


def test_standard_frames_and_bodies_are_where_the_textbook_says():
    rng = np.random.default_rng(1)
    rows = random_rows(rng)
    base = Transform.from_rpy(rng.normal(size=3), rng.normal(size=3))
    tool = Transform.from_rpy(rng.normal(size=3), rng.normal(size=3))
    robot = from_dh(rows, base=base, tool=tool.matrix)
    assert robot.frame_names == ("base", *(f"link{k}" for k in range(1, 7)), *(f"dh{k}" for k in range(1, 7)), "tool")
    for _ in range(5):
        q = rng.normal(size=6)
        found = poses(robot, q)
        t = base.matrix
        mass_matrix = np.zeros((6, 6))
        axes = []
        for k, (row, qk) in enumerate(zip(rows, q, strict=True)):
            slides = row["kind"] == "prismatic"
            axes.append((slides, t[:3, 2], t[:3, 3]))
            theta = row["theta"] + (0 if slides else row["offset"] + qk)
            d = row["d"] + (row["offset"] + qk if slides else 0)
            t = t @ rot("z", theta) @ rot("z", 0, d) @ rot("x", 0, row["a"]) @ rot("x", row["alpha"])
            np.testing.assert_allclose(found[f"dh{k + 1}"], t, atol=1e-13)
            com = t[:3, :3] @ row["com"] + t[:3, 3]
            link = robot.links[k + 1]
            np.testing.assert_allclose((found[link.name] @ [*link.com, 1])[:3], com, atol=1e-13)
            jv, jw = np.zeros((3, 6)), np.zeros((3, 6))
            for i, (slide, z, p) in enumerate(axes):
                jv[:, i] = z if slide else np.cross(z, com - p)
                jw[:, i] = 0 if slide else z
            inertia = t[:3, :3] @ row["inertia"] @ t[:3, :3].T
            mass_matrix += row["mass"] * jv.T @ jv + jw.T @ inertia @ jw
        np.testing.assert_allclose(found["tool"], t @ tool.matrix, atol=1e-13)
        np.testing.assert_allclose(inertia_matrix(robot, q), mass_matrix, rtol=1e-12, atol=1e-12)


def test_khalil_frames_are_the_links_own():
    rng = np.random.default_rng(2)
    keys = ("gamma", "b", "alpha", "d", "theta", "r")
    rows = [
        {**dict(zip(keys, rng.normal(size=6), strict=True)), "sigma": sigma, "antecedent": antecedent}
        for sigma, antecedent in ((0, 0), (1, 1), (2, 2), (0, "link2"), (0, 1), (1, 5))
    ]
    base = Transform.rot_x(0.3, 0.2)
    robot = from_dh(rows, convention="khalil", base=base)
    assert robot.joint_names == ("joint1", "joint2", "joint4", "joint5", "joint6")
    assert robot.antecedents == (0, 1, 2, 2, 1, 5)
    value = dict(zip(robot.joint_names, rng.normal(size=5), strict=True))
    found = poses(robot, value.values())
    expected = [base.matrix]
    for k, row in enumerate(rows, start=1):
        q = value.get(f"joint{k}", 0.0)
        t = rot("z", row["gamma"], row["b"]) @ rot("x", row["alpha"], row["d"])
        t = t @ rot("z", row["theta"] + q * (row["sigma"] == 0), row["r"] + q * (row["sigma"] == 1))
        antecedent = row["antecedent"] if row["antecedent"] != "link2" else 2
        expected.append(expected[antecedent] @ t)
        np.testing.assert_allclose(found[f"link{k}"], expected[k], atol=1e-13)


def test_craigs_table_is_khalils():
    row = {"alpha": 0.3, "d": 0.4, "theta": 0.5, "r": 0.6}
    t = from_dh([row], convention="khalil").joints[0].placement.matrix
    np.testing.assert_allclose(t, rot("x", 0.3) @ rot("x", 0, 0.4) @ rot("z", 0.5) @ rot("z", 0, 0.6), atol=1e-15)


def test_khalils_ten_parameters_and_losses():
    row = {"M": 2.0, "MS": (1, 2, 3), "J": (11, 12, 13, 22, 23, 33), "Ia": 0.1, "Fs": 0.2, "Fv": 0.3}
    robot = from_dh([row], convention="khalil")
    link, joint = robot.links[1], robot.joints[0]
    assert (link.mass, link.first_moment, link.inertia) == (2.0, (1, 2, 3), (11, 22, 33, 12, 13, 23))
    assert (joint.rotor_inertia, joint.coulomb, joint.viscous) == (0.1, 0.2, 0.3)
    same = from_dh([{"mass": 2.0, "com": (0.5, 0, 0), "inertia": (0, 1, 1), "rotor_inertia": 0.1}], convention="khalil")
    assert same.links[1].inertia == (0, 1.5, 1.5, 0, 0, 0)


def test_both_ways_to_describe_a_body_are_refused_together():
    with pytest.raises(FormatError, match="row 1: 'mass' and 'M' describe the body in two ways"):
        from_dh([{"mass": 1.0, "M": 1.0}], convention="khalil")


def test_rows_may_be_objects_and_carry_everything():
    row = DHRow(a=0.3, kind="prismatic", limits=(-1, 2), coulomb=1, coulomb_reverse=2, gear_ratio=-50, name="slide")
    joint = from_dh([row]).joints[0]
    assert (joint.name, joint.kind, joint.limits) == ("slide", "prismatic", Limits(-1, 2))
    assert (joint.coulomb, joint.coulomb_reverse, joint.gear_ratio) == (1, 2, -50)
    assert from_dh([KhalilRow(sigma=1)], convention="khalil").joints[0].kind == "prismatic"
    assert from_dh([{"sigma": 1}]).joints[0].kind == "prismatic"
    assert from_dh([{"kind": "fixed"}], convention="khalil").nq == 0
    assert from_dh([{"link": "upper"}]).link_names == ("base", "upper")


def test_quarter_turns_are_exact():
    robot = from_dh([{"alpha": pi / 2, "a": 1}, {"alpha": -pi / 2}])
    assert robot.joints[1].placement.rotation == ((1, 0, 0), (0, 0, -1), (0, 1, 0))


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "no rows"),
        ({"a": 1}, {}, "rows must be a sequence"),
        (5, {}, "rows must be a sequence"),
        ([3], {}, "row 1: expected a mapping, a DHRow or four numbers, got int"),
        ([KhalilRow()], {}, 'row 1: is a KhalilRow; for a table of these write convention="khalil"'),
        ([{"a": 1}], {"convention": "modified"}, "convention must be one of standard, khalil, got 'modified'"),
        ([{}, {"alhpa": 1}], {}, "row 2: unknown key 'alhpa'; did you mean 'alpha'"),
        ([{"Mass": 1}], {}, "unknown key 'Mass'; did you mean 'mass'"),
        ([{1: 1}], {}, "unknown key 1"),
        ([{"a": math.nan, "name": "elbow"}], {}, r"row 1 \('elbow'\): a must be finite"),
        ([{"a": math.inf}], {}, "a must be finite"),
        ([{"a": "0.3"}], {}, "a must be a number, got '0.3'"),
        ([{"a": None}], {}, "a must be a number"),
        ([{"a": 10**400}], {}, "a must be a number"),
        ([{"com": (1, 2)}], {}, "com must be 3 numbers"),
        ([{"com": 1}], {}, "com must be 3 numbers"),
        ([{"com": (1, 2, math.nan)}], {}, "com must be finite"),
        ([{"inertia": "abc"}], {}, "inertia must be 3 or 6 numbers"),
        ([{"inertia": (1, 2)}], {}, "inertia"),
        ([{"inertia": [[1, 2, 3], [0, 1, 0], [0, 0, 1]]}], {}, "not symmetric"),
        ([{"limits": 3}], {}, "limits must be"),
        ([{"limits": (math.nan, 1)}], {}, "limits must be"),
        ([{"kind": "ball"}], {}, "kind must be one of revolute, prismatic, fixed, got 'ball'"),
        ([{"sigma": 3}], {}, "sigma must be 0"),
        ([{"sigma": 0, "kind": "revolute"}], {}, "say the same thing"),
        ([{"name": 3}], {}, "name must be text"),
        ([{}], {"base": np.eye(3)}, "base must be a Transform or a homogeneous 4x4"),
        ([{"sigma": True}], {"convention": "khalil"}, "sigma must be 0"),
        ([{"antecedent": 1}], {"convention": "khalil"}, "cycle, 1 -> 1"),
        ([{}, {"antecedent": 3}, {"antecedent": 2}], {"convention": "khalil"}, "cycle, 2 -> 3 -> 2"),
        ([{"antecedent": 2}], {"convention": "khalil"}, "antecedent must be 0"),
        ([{"antecedent": -1}], {"convention": "khalil"}, "antecedent must be 0"),
        ([{"antecedent": 0.0}], {"convention": "khalil"}, "number or name"),
        ([{"antecedent": "lnk1"}, {}], {"convention": "khalil"}, "did you mean 'link1'"),
        ([{"J": (1, 2, 3)}], {"convention": "khalil"}, "J must be 6 numbers"),
        ([{"name": "a"}, {"name": "a"}], {}, "two joints are named 'a'"),
        ([{"link": "dh1"}], {}, "dh1"),
    ],
)
def test_refusals_name_the_row_and_the_remedy(rows, options, message):
    with pytest.raises(NeulerError, match=message):
        from_dh(rows, **options)


def test_forward_antecedents_are_fine():
    robot = from_dh([{"antecedent": 2, "d": 1}, {"antecedent": 0, "d": 2}], convention="khalil")
    assert robot.link_names == ("base", "link2", "link1")
