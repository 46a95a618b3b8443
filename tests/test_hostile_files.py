"""Files and numbers that are damaged, lie or ask for too much: an error that says so, no traceback and no wait."""

import cProfile
import functools
import io
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import neuler
from cli_runs import refused, run
from neuler import FormatError, InputError, Joint, Link, Motor, Robot, RobotError, Transform
from neuler.files import tables
from neuler.files.problems import Problem
from neuler.motions import Samples
from neuler.robot.inertia_matrix import inertia_matrix
from neuler.simulation.start import Clock
from neuler.view import text

# ---- NPZ ----------------------------------------------------------------------------------------------------------


def npz(**entries):
    """An archive of raw bytes by name."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)
    return whole.getvalue()


def npy(shape, dtype="<f8", data=b""):
    """An array of NumPy whose header says what it likes."""
    head = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    head += b" " * (64 - (len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def compressed():
    """A sound archive, as NumPy writes it."""
    whole = io.BytesIO()
    rng = np.random.default_rng(0)
    np.savez_compressed(whole, q=rng.normal(size=(50, 2)), qd=rng.normal(size=(50, 2)))
    return whole.getvalue()


def patched(data, offset, change):
    """With a byte of every entry changed, in the central directory and before the data."""
    found = bytearray(data)
    for signature, at in zip((b"PK\x01\x02", b"PK\x03\x04"), (offset + 2, offset), strict=True):
        spot = found.find(signature)
        while spot >= 0:
            found[spot + at] = change(found[spot + at])
            spot = found.find(signature, spot + 4)
    return bytes(found)


GOOD = npy((1, 2), data=bytes(16))
LIES = [
    (npz(q=npy((10**12, 2)), qd=GOOD), r"its shape is \(1000000000000, 2\), 16,000,000,000,000 bytes, and has 0"),
    (npz(q=npy((10**30, 2)), qd=GOOD), "bytes, and has 0"),
    (npz(q=npy((3, 2)), qd=GOOD), r"its shape is \(3, 2\), 48 bytes, and has 0"),
    (npz(q=npy((-1, 2)), qd=GOOD), "array 'q' cannot be read"),
    (npz(q=npy("x"), qd=GOOD), "array 'q' cannot be read: shape is not valid"),
    (npz(q=npy((1, 2), "zz"), qd=GOOD), "array 'q' cannot be read"),
    (npz(q=npy((1, 2), "|O"), qd=GOOD), "array 'q' cannot be read: Object arrays"),
    (npz(q=b"hello", qd=GOOD), "array 'q' cannot be read: it is no array of NumPy"),
    (npz(q=b"\x93NUMPY\x09\x00", qd=GOOD), "array 'q' cannot be read"),
    (npz(q=b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 8999 + b"\n", qd=GOOD), "array 'q' cannot be read"),
    (patched(compressed(), 6, lambda flags: flags | 1), "array 'q' cannot be read: it is encrypted"),
    (patched(compressed(), 8, lambda method: 99), "array 'q' cannot be read: That compression method"),
    (b"", "cannot be read as an .npz archive"),
    (b"PK\x03\x04", "cannot be read as an .npz archive"),
]


@pytest.mark.parametrize(("data", "message"), LIES, ids=range(len(LIES)))
def test_archives_that_lie(tmp_path, data, message):
    (tmp_path / "in.npz").write_bytes(data)
    kernel = neuler.robots.two_link().energy
    with pytest.raises(FormatError, match=message):
        tables.evaluate(kernel, str(tmp_path / "in.npz"), str(tmp_path / "out.npz"))
    with pytest.raises(FormatError):
        Samples.load(tmp_path / "in.npz", neuler.robots.two_link())
    assert not (tmp_path / "out.npz").exists()


def test_damaged_archives(tmp_path):
    """Bytes changed and ends cut off: read as it is, or refused by name."""
    sound = compressed()
    kernel = neuler.robots.two_link().energy
    refusals = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data = bytearray(sound)
        for at in rng.integers(0, len(data), size=rng.integers(1, 6)):
            data[at] = rng.integers(0, 256)
        (tmp_path / "in.npz").write_bytes(data[: rng.integers(1, len(data))] if seed % 3 == 0 else data)
        try:
            tables.evaluate(kernel, str(tmp_path / "in.npz"), str(tmp_path / "out.npz"))
        except (FormatError, InputError):
            refusals += 1
    assert refusals > 100


# ---- CSV ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\rb", "a\r", "a\nb", 'a"b', "a,b", " a", "a ", "a\u2028b"])
def test_every_name_comes_back_from_a_table(tmp_path, name):
    links = [Link("base"), Link.from_com("bob", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))]
    robot = Robot("r", links, [Joint(name, "revolute", "base", "bob", axis=(0, 1, 0))])
    path = tmp_path / "run.csv"
    moved = neuler.simulate(robot, None, ([0.1], [0.0]), 0.01)
    moved.save(path)
    tables.evaluate(robot.bias_force, str(path), str(tmp_path / "out.npz"), drop=True)
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found["bias"], robot.bias_force(moved.q, moved.qd), rtol=1e-12)


def test_cells_with_carriage_returns_are_kept(tmp_path):
    (tmp_path / "in.csv").write_bytes(b'note,q1,q2\n"a\rb",0.1,0.2\n')
    kernel = neuler.robots.two_link().gravity_force
    tables.evaluate(kernel, str(tmp_path / "in.csv"), str(tmp_path / "mid.csv"))
    (tmp_path / "more.csv").write_bytes((tmp_path / "mid.csv").read_bytes().replace(b'"note"', b"note"))
    assert b'"a\rb"' in (tmp_path / "mid.csv").read_bytes()


@pytest.mark.parametrize("text", ["", "t,q_joint1,q_joint2\n", 't,q_joint1,q_joint2\n"a\n', '"' + "a" * 200_000, "\0"])
def test_broken_tables_of_a_reference(tmp_path, text):
    (tmp_path / "path.csv").write_text(text)
    (tmp_path / "p.toml").write_text(
        '[robot]\nname = "two_link"\n[controller]\nkind = "computed_torque"\nkp = 1\n'
        '[reference]\nkind = "table"\nfile = "path.csv"\n[simulate]\nduration = 0.01\n'
    )
    assert run_main("simulate", tmp_path / "p.toml") == 2
    with pytest.raises(FormatError, match="cannot be read as a table of numbers"):
        Samples.load(tmp_path / "path.csv", neuler.robots.two_link())


def run_main(*arguments):
    from neuler.cli import main

    return main([str(each) for each in arguments])


# ---- TOML ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["a" + ".a" * 10_000 + " = 1", "[a" + ".'a'" * 10_000 + "]", 'x = {"a.b"' + '."a.b"' * 9000 + "=1}"]
)
def test_deep_keys_take_no_memory(text):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="a key of more than 100 parts; its tables are nested too deep"):
            Problem.of_text(text)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_dots_that_are_no_keys():
    text = (
        "# "
        + "." * 500
        + "\n# "
        + ". " * 500
        + "\nnumbers = ["
        + "0.5, " * 500
        + "]\ntitle = '"
        + "One two. " * 200
        + "'\n"
    )
    assert len(Problem.of_text(text).table["numbers"]) == 500


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("starts = 1000000000", "starts: expected a whole number, from 1 to 100000, got 1000000000"),
        ("starts = 1e9", "starts: expected a whole number, from 1 to 100000, got 1000000000.0"),
        ("starts = 0x" + "f" * 5000, "got a whole number of 20000 bits"),
        ("iterations = 0x" + "f" * 5000, "iterations: expected a whole number, from 1 to 2147483647"),
    ],
)  # fmt: skip
def test_plans_that_ask_for_too_much(capsys, tmp_path, line, message):
    pytest.importorskip("scipy")
    (tmp_path / "p.toml").write_text(
        f'[robot]\nname = "two_link"\n[plan]\n{line}\n[start]\nq = [0, 0]\n[goal]\nq = [1, 1]\n'
    )
    assert message in refused(capsys, "plan", tmp_path / "p.toml")


@pytest.mark.parametrize(("t", "step"), [(1.0, 1e-300), (1e300, 1e-3), (1e308, 5e-324), (1e12, 1e-3)])
def test_more_steps_than_there_is_time(t, step):
    with pytest.raises(InputError, match=r"takes .* steps of .* s, more than 1e\+12; take longer steps, or less time"):
        Clock.of(t, step, None, 4)


def test_a_prime_number_of_steps_is_found_at_once():
    clock = Clock.of(1e-3 * 2_147_483_647, 1e-3, None, 4)
    assert clock.every == clock.steps == 2_147_483_647


def test_random_rows_have_a_bound(capsys, tmp_path):
    text = '[robot]\nname = "two_link"\n[simulate]\nduration = 0.01\n[simulate.random]\nrows = 1000000000\n'
    (tmp_path / "p.toml").write_text(text)
    assert "rows: expected a whole number, from 1 to 1000000" in refused(capsys, "simulate", tmp_path / "p.toml")


def test_values_nested_deep(capsys, tmp_path):
    (tmp_path / "v.toml").write_text("a" + ".a" * 20_000 + " = 1")
    (tmp_path / "v.json").write_text('{"a": ' * 100_000)
    (tmp_path / "x.par").write_text("(* r *)\nNL = 1\n")
    for name in ("v.toml", "v.json"):
        told = refused(capsys, "info", tmp_path / "x.par", "--values", tmp_path / name)
        assert "expected lines such as D3 = 0.45, or a JSON object" in told


# ---- numbers of robots --------------------------------------------------------------------------------------------

HUGE = 10**400
BIG = 10**5000
"""Too long for Python to print."""
EMPTY = np.array([])


@pytest.mark.parametrize("value", [HUGE, BIG, [HUGE], EMPTY, [], np.zeros((0, 4)), None, 1j], ids=range(8))
@pytest.mark.parametrize(
    "key", ["a", "theta", "mass", "com", "inertia", "limits", "name", "link", "kind", "gear_ratio"]
)
def test_rows_of_no_numbers(key, value):
    with pytest.raises(FormatError, match=r"^row 1: "):
        neuler.from_dh([{key: value}])


@pytest.mark.parametrize(
    "options",
    [{"gravity": HUGE}, {"gravity": (0, 0, BIG)}, {"base": HUGE}, {"base": []}, {"tool": EMPTY}, {"name": None}],
    ids=range(6),
)
def test_tables_with_no_numbers_beside_them(options):
    with pytest.raises((FormatError, RobotError)):
        neuler.from_dh([{"a": 1.0}], **options)
    for rows in ([], EMPTY, np.zeros((0, 4)), [[]], np.array([[HUGE] * 4], dtype=object)):
        with pytest.raises(FormatError):
            neuler.from_dh(rows)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Link("a", mass=HUGE),
        lambda: Link("a", inertia=[BIG] * 3),
        lambda: Joint("j", "revolute", "a", "b", axis=(0, 0, HUGE)),
        lambda: neuler.robot.Limits(upper=HUGE),
        lambda: Transform(translation=(HUGE, 0, 0)),
        lambda: Transform.from_matrix([[HUGE]]),
        lambda: neuler.Coupling("a", "b", HUGE),
        lambda: Motor("m", "j", stiffness=HUGE, inertia=1.0),
        lambda: Motor("m", "j", inertia=BIG),
        lambda: Motor("m", "j", ratio=BIG),
    ],
    ids=range(10),
)
def test_parts_with_numbers_that_are_too_large(make):
    with pytest.raises(RobotError, match=r"number|finite|stiffness must be|inertia must be"):
        make()


@pytest.mark.parametrize("more", [{}, {"coupled": False}, {"stiffness": 100.0}])
@pytest.mark.parametrize("ratio", [1e308, -1e308, 1e-320])
def test_ratios_that_no_gear_has(ratio, more):
    with pytest.raises(RobotError, match=r"motor 'm': the ratio of joint 'joint2' is .*; expected turns of the rotor"):
        neuler.robots.two_link().replace(motors=[Motor("m", "joint2", ratio=ratio, inertia=1e-4, **more)])


# ---- long chains --------------------------------------------------------------------------------------------------


def chain(n):
    rows = [
        {"a": 0.1, "alpha": (-1) ** k * 1.57, "mass": 1.0, "com": (-0.05, 0, 0), "inertia": (0.01, 0.01, 0.01)}
        for k in range(n)
    ]
    return neuler.from_dh(rows)


def calls(function):
    """How many functions of Python and NumPy it calls."""
    profile = cProfile.Profile()
    profile.runcall(function)
    return sum(entry.callcount for entry in profile.getstats())


def test_info_of_a_long_chain(capsys, tmp_path):
    """What the doctor and the tables call grows with the number of joints, not with its square."""
    long = chain(200)
    assert [finding for finding in long.check() if finding.severity == "error"] == []
    neuler.formats.save(long, tmp_path / "chain.par")
    code, out, _ = run(capsys, "info", tmp_path / "chain.par")
    assert code == 0
    assert "200 joints" in out
    for look in (lambda robot: inertia_matrix(robot, robot.neutral()), text.joint_rows):
        short, double = (calls(functools.partial(look, chain(n))) for n in (60, 120))
        assert double < 2.5 * short


@pytest.mark.parametrize("robot", [neuler.robots.puma560(), neuler.robots.eel(6), neuler.robots.stanford()], ids=str)
def test_the_doctors_inertia_matrix_is_the_kernels(robot):
    for q in robot.random_configuration(3, 4):
        np.testing.assert_allclose(inertia_matrix(robot, q), robot.mass_matrix(q), atol=1e-10)


# ---- negative masses ----------------------------------------------------------------------------------------------

URDF = """<robot name='arm'><link name='base'/><link name='hand'><inertial><mass value='-1'/>
<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link>
<joint name='hinge' type='continuous'><parent link='base'/><child link='hand'/><axis xyz='0 0 1'/></joint></robot>"""
TOLD = r"robot '.*': link '.*' has a negative mass, -.* kg; robot.check\(\) lists"


def test_negative_masses_are_told_when_a_robot_is_made():
    with pytest.warns(UserWarning, match=TOLD) as told:
        robot = neuler.load(URDF)
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=TOLD):
        neuler.from_dh([{"mass": -1.0}])
    with pytest.warns(UserWarning, match=TOLD):
        Robot("arm", [Link("base", mass=-2.0)])
    with warnings.catch_warnings():  # not again for every robot that is made of it
        warnings.simplefilter("error")
        other = robot.with_gravity((0, 0, 0)).replace(motors=[Motor("m", "hinge", 10.0, inertia=1.0)])
        other.check()
        other.mass_matrix([0.0])
        assert neuler.load(URDF.replace("-1", "1")).check() == []
    assert [str(finding) for finding in robot.check()] == [
        "error: link 'hand': mass is negative, -1 kg",
        "warning: joint 'hinge': moves a mass of -1 kg",
    ]


def test_negative_payloads_are_told():
    arm = neuler.robots.two_link()
    with pytest.warns(UserWarning, match="the payload of 'link2' has a negative mass, -0.1 kg"):
        lighter = arm.with_payload("link2", -0.1)
    assert lighter.links[2].mass == pytest.approx(arm.links[2].mass - 0.1)
    with pytest.warns(UserWarning, match=TOLD) as told:
        arm.with_payload("link2", -5.0)
    assert len(told) == 1


def test_strict_refuses_them(capsys, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(FormatError, match=r"strict=True: link 'hand': mass is negative, -1 kg; robot.check\(\)"):
            neuler.load(URDF, strict=True)
        with pytest.raises(FormatError, match=r"strict=True: link 'link1': mass is negative, -1 kg, and 1 error more"):
            neuler.from_dh([{"mass": -1.0}], strict=True)
    assert neuler.load(URDF.replace("-1", "1"), strict=True).nv == 1
    with pytest.raises(FormatError, match="option 'strict' must be True or False, got 1"):
        neuler.load(URDF, strict=1)
    payload = '[[robot.payload]]\nframe = "link2"\nmass = -5.0\n[simulate]\nduration = 0.01\n'
    (tmp_path / "p.toml").write_text(f'[robot]\nname = "two_link"\nstrict = true\n{payload}')
    code, _, told = run(capsys, "simulate", tmp_path / "p.toml")
    assert code == 2
    assert "neuler: error: strict=True: link 'link2': mass is negative, -4.5 kg" in told


def test_the_command_line_tells_warnings_on_a_line(capsys, tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "in.csv").write_text("q1\n0.0\n")
    told = run(capsys, "eval", "link_poses", tmp_path / "arm.urdf", "--in", tmp_path / "in.csv", "--out", "-")[2]
    assert told.startswith("neuler: warning: robot 'arm': link 'hand' has a negative mass, -1 kg")
    assert run(capsys, "info", tmp_path / "arm.urdf")[2] == ""  # it is among the findings
