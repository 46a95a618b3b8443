"""Logs for identification from files: kinds, spellings of columns, units, several runs."""

import numpy as np
import pytest

from identify_motions import motion
from neuler import FormatError, InputError
from neuler.files.series import save_series
from neuler.identify import Log

# ---- files and units ---------------------------------------------------------------------------------------------


def table_of(name="two_link", **more):
    m = motion(name)
    names = m.robot.coordinates.names("q")
    found = {"t": m.t}
    for key in ("q", "qd", "tau"):
        found |= {f"{key}_{joint}": column for joint, column in zip(names, getattr(m, key).T, strict=True)}
    return found | more


def write(path, columns):
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return path


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_files_of_every_kind(tmp_path, kind):
    m, path = motion(), tmp_path / f"log.{kind}"
    arrays = {"t": m.t, "q": m.q, "qd": m.qd, "tau": m.tau}
    save_series(path, table_of(), arrays, {"t": "s", "q_joint1": "rad"})
    log = Log.read(path, m.robot)
    for key, values in arrays.items():
        np.testing.assert_array_equal(getattr(log, key), values)
    assert log.qdd is None
    assert (log.name, log.notes) == (f"log.{kind}", ())
    assert not log.q.flags.writeable
    with pytest.raises(FormatError, match=f"log.{kind}: columns: the file has no column 'pos'"):
        Log.read(path, m.robot, {"pos": "q1"})


@pytest.mark.parametrize("spelling", ["q_joint{}", "q{}", "q[{}]"])
def test_spellings_of_columns(tmp_path, spelling):
    m, shift = motion(), 1 - spelling.count("[")
    columns = {"time": m.t, "other": m.t}
    for key in ("q", "tau"):
        columns |= {spelling.replace("q", key).format(k + shift): getattr(m, key)[:, k] for k in range(2)}
    log = Log.read(write(tmp_path / "log.csv", columns), m.robot)
    np.testing.assert_array_equal(log.tau, m.tau)
    assert log.notes == ("columns that were not used: other",)


ANGLES = {"rad": 1.0, "deg": 180 / np.pi, "turn": 1 / (2 * np.pi)}
SPEEDS = {"rad/s": 1.0, "deg/s": 180 / np.pi, "rpm": 30 / np.pi}
TORQUES = {"N m": 1.0, "mN m": 1e3}


@pytest.mark.parametrize("unit", [*ANGLES, *SPEEDS, *TORQUES, "s", "ms", "us", "ns"])
def test_units_of_turning_joints(tmp_path, unit):
    m = motion()
    kind = "q" if unit in ANGLES else "qd" if unit in SPEEDS else "tau" if unit in TORQUES else "t"
    factor = (ANGLES | SPEEDS | TORQUES | {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9})[unit]
    columns = {name: x * factor if name.split("_")[0] == kind else x for name, x in table_of().items()}
    log = Log.read(write(tmp_path / "log.csv", columns), m.robot, units={kind: unit})
    for key in ("t", "q", "qd", "tau"):
        np.testing.assert_allclose(getattr(log, key), getattr(m, key), rtol=1e-12, atol=1e-12)


def test_units_of_sliding_joints(tmp_path):
    m = motion("stanford")
    columns = table_of("stanford")
    columns["q_joint3"] = columns["q_joint3"] * 1e3
    columns["tau_joint3"] = columns["tau_joint3"] * 1e-3
    columns |= {f"q_joint{k}": np.degrees(columns[f"q_joint{k}"]) for k in (1, 2, 4, 5, 6)}
    path = write(tmp_path / "log.csv", columns)
    log = Log.read(path, m.robot, units={"q": "deg", "q_joint3": "mm", "tau_joint3": "kN"})
    np.testing.assert_allclose(log.q, m.q, atol=1e-12)
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-12)
    with pytest.raises(InputError, match=r"column 'q_joint3' is measured in m, cm, mm, got 'deg'; units of single"):
        Log.read(path, m.robot, units={"q": "deg"})
    with pytest.raises(InputError, match=r"column 'q_joint1': unit must be one of 'rad', 'deg', 'turn', got 'degree'"):
        Log.read(path, m.robot, units={"q_joint1": "degree"})
    with pytest.raises(InputError, match=r"units: 'torque' is neither a kind nor a column"):
        Log.read(path, m.robot, units={"torque": "mA"})


@pytest.mark.parametrize(("unit", "scale"), [("A", 1.0), ("mA", 1e3)])
def test_currents_of_motors(tmp_path, unit, scale):
    m = motion()
    constants, ratios = np.array([0.1, 0.05]), np.array([100.0, -50.0])
    columns = table_of()
    for k in range(2):
        columns[f"tau_joint{k + 1}"] = scale * m.tau[:, k] / constants[k] / ratios[k]
    path = write(tmp_path / "log.csv", columns)
    given = {"units": {"tau": unit}, "torque_constants": {"joint1": 0.1, "joint2": 0.05}, "ratios": [100, -50]}
    log = Log.read(path, m.robot, **given)
    np.testing.assert_allclose(log.tau, m.tau, rtol=1e-12)
    assert "torques are made of currents" in log.notes[0]
    for left_out, message in (
        ("torque_constants", "tau of 'joint1' is a current; torque_constants= must say how many N m an ampere gives"),
        ("ratios", "tau of 'joint1' is a current; ratios= must say how many times the motor's torque"),
    ):
        with pytest.raises(InputError, match=message):
            Log.read(path, m.robot, **{key: value for key, value in given.items() if key != left_out})
    with pytest.raises(InputError, match="torque_constants are for currents"):
        Log.read(path, m.robot, torque_constants=0.1)
    with pytest.raises(InputError, match="ratios: robot 'two_link' has no torque of 'elbow'"):
        Log.read(path, m.robot, ratios={"elbow": 1})
    with pytest.raises(InputError, match="ratios: there is none for 'joint2'"):
        Log.read(path, m.robot, ratios={"joint1": 1})
    with pytest.raises(InputError, match="ratios of 'joint2' must be finite and not zero"):
        Log.read(path, m.robot, ratios=[1, 0])
    motor = Log.read(path, m.robot, ratios=2.0)  # torques of motors
    np.testing.assert_allclose(motor.tau[:, 0], 2 * columns["tau_joint1"])


def test_names_of_ones_own(tmp_path):
    m = motion()
    path = tmp_path / "log.npz"
    np.savez(path, dt=0.01, pos=-m.q, cur=m.tau, tool=np.zeros((3, 4)), text=np.array("x"))
    log = Log.read(path, m.robot, {"pos": ("q", -1), "cur": "tau"})
    np.testing.assert_array_equal(log.q, m.q)
    assert log.notes == ("columns that were not used: tool, text",)
    assert log.rate == pytest.approx(100.0)
    assert Log.read(path, m.robot, {"pos": "q", "cur[0]": "tau1", "cur[1]": "tau2"}, rate=50).rate == pytest.approx(50)
    np.savez(path, pos=m.q, cur=m.tau[:, :1])
    with pytest.raises(FormatError, match=r"log.npz: has no column 't' or 'time'; rate= says how many samples"):
        Log.read(path, m.robot, {"pos": "q", "pos[0]": "tau1", "pos[1]": "tau2"})
    with pytest.raises(FormatError, match="'cur' has 1 columns, tau of the robot 2"):
        Log.read(path, m.robot, {"pos": "q", "cur": "tau"})
    with pytest.raises(InputError, match=r"'pos\[0\]' is mapped to 'q9', which robot 'two_link' does not have"):
        Log.read(path, m.robot, {"pos[0]": "q9"})
    with pytest.raises(FormatError, match=r"has no column 'tau_joint1' and 1 more; not used are 'cur\[0\]'"):
        Log.read(path, m.robot, {"pos": "q"}, rate=100)


def test_bad_files(tmp_path):
    m = motion()
    with pytest.raises(FormatError, match=r"log.txt': expected a file that ends in .csv, .npz, .parquet"):
        Log.read(tmp_path / "log.txt", m.robot)
    with pytest.raises(FormatError, match=r"none.csv': there is no such file"):
        Log.read(tmp_path / "none.csv", m.robot)
    np.savez(tmp_path / "evil.npz", q=np.array([{}], dtype=object))
    with pytest.raises(FormatError, match=r"array 'q' cannot be read: Object arrays cannot be loaded"):
        Log.read(tmp_path / "evil.npz", m.robot)
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        Log.read(tmp_path / "bad.parquet", m.robot)
    (tmp_path / "text.csv").write_text("t,q1\n0,1\n1,much")
    with pytest.raises(FormatError, match=r"text.csv'.*: row 1, column 'q1': 'much' is no number"):
        Log.read(tmp_path / "text.csv", m.robot)
    (tmp_path / "empty.csv").write_text("t,q1\n")
    with pytest.raises(FormatError, match=r"empty.csv': a header with different names is needed, then rows of numbers"):
        Log.read(tmp_path / "empty.csv", m.robot)
    twice = table_of(q1=m.q[:, 0])
    with pytest.raises(FormatError, match=r"columns 'q_joint1' and 'q1' are both 'q_joint1'; keep one"):
        Log.read(write(tmp_path / "twice.csv", twice), m.robot)
    partial = table_of()
    partial["qd_jont2"] = partial.pop("qd_joint2")
    with pytest.raises(FormatError, match=r"has no column 'qd_joint2'; is it 'qd_jont2'\?"):
        Log.read(write(tmp_path / "partial.csv", partial), m.robot)
    gap = table_of()
    gap["q_joint2"] = [*gap["q_joint2"][:7], "", *gap["q_joint2"][8:]]
    with pytest.raises(InputError, match=r"gap.csv: column 'q_joint2' has no finite value in row 7 at 0.07 s"):
        Log.read(write(tmp_path / "gap.csv", gap), m.robot)


def test_parquet_states_units(tmp_path):
    m, path = motion(), tmp_path / "log.parquet"
    columns = table_of() | {"q_joint1": np.degrees(m.q[:, 0])}
    save_series(path, columns, {}, {"q_joint1": "deg"})
    np.testing.assert_allclose(Log.read(path, m.robot).q, m.q, atol=1e-12)


@pytest.mark.parametrize("labels", [("1", "2"), ("up", "down")])
def test_several_runs(tmp_path, labels):
    m = motion()
    columns = {name: np.concatenate([x, x[:500]]) for name, x in table_of().items()}
    columns["run"] = [labels[0]] * 1000 + [labels[1]] * 500
    path = write(tmp_path / "log.csv", columns)
    first, second = Log.read_all(path, m.robot, weights={labels[1]: 0.5})
    assert (len(first.t), first.weight, second.weight) == (1000, 1.0, 0.5)
    assert second.name == f"log.csv, run {labels[1]}"
    np.testing.assert_array_equal(second.q, m.q[:500])
    np.testing.assert_array_equal(Log.read(path, m.robot, run=labels[1]).q, second.q)
    with pytest.raises(FormatError, match=r"log.csv: has 2 runs, .*; Log.read_all reads all, run= one"):
        Log.read(path, m.robot)
    with pytest.raises(FormatError, match="has no run '3'; runs are"):
        Log.read(path, m.robot, run=3)
    with pytest.raises(InputError, match="weights: has no run '7'"):
        Log.read_all(path, m.robot, weights={7: 1.0})
    assert len(Log.read_all(write(tmp_path / "one.csv", table_of()), m.robot)) == 1


# ---- what cannot be meant ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"t;q1;q2\n0;1;2\n", "separated by semicolons; write commas"),
        (b"t\tq1\tq2\n0\t1\t2\n", "separated by tabs"),
        ("t,q1,q2\n0,1,2\n".encode("utf-16"), "it is no text in UTF-8"),
        (b"t,q1,q1\n0,1,2\n", "two columns are called 'q1'"),
        (b"t,q1,q2\n0,1,2\n0,1\n", "row 1 has 2 cells"),
    ],
)
def test_texts_that_are_no_tables(tmp_path, content, message):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        Log.read(path, motion().robot)


def test_arrays_that_do_not_belong(tmp_path):
    m, path = motion(), tmp_path / "log.npz"
    given = {"t": m.t, "q": m.q, "tau": m.tau}
    still = {key: given[key] for key in ("q", "tau")}
    for arrays, message in (
        ({"t": m.t, "q1": m.q[1:, 0], "q2": m.q[:, 1], "tau": m.tau}, "columns 'q1' and 'q2' .* got 999 and 1000"),
        (given | {"q": m.q + 0j}, "has no column 'q_joint1' .*left out: 'q'"),
        (given | {"q": m.q[None]}, r"and 1 more\. What is no column .* left out: 'q'\. Columns are named like"),
        (still | {"dt": np.nan}, "dt must be finite"),
        (still | {"dt": np.inf}, "dt must be finite"),
        (still | {"dt": -0.01}, "dt must be above zero"),
        (still | {"dt": np.array([0.01])}, "dt must be a single number"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(FormatError, match=message):
            Log.read(path, m.robot)


def test_whole_times_that_overflow(tmp_path):
    m, path = motion(), tmp_path / "log.npz"
    t = (np.arange(1000) * 60 - 30_000).astype(np.int16)
    np.savez(path, t=t, q=m.q, tau=m.tau)
    np.testing.assert_allclose(Log.read(path, m.robot, units={"t": "ms"}).t, np.arange(1000) * 0.06)


def test_arguments_that_cannot_be_meant(tmp_path):
    m, path = motion(), write(tmp_path / "log.csv", table_of())
    for call, message in (
        (lambda: Log.read(path, m.robot, {"q_joint1": ["q1", "q2", "q3"]}), "'q_joint1' must be mapped to a name"),
        (lambda: Log.read(path, m.robot, {"q_joint1": {}}), "must be mapped to a name"),
        (lambda: Log.read(path, m.robot, {"q_joint1": ([], 1)}), "must be mapped to a name"),
        (lambda: Log.read(path, m.robot, {"q_joint1": ("q1", 0)}), "a factor that is not zero"),
        (lambda: Log.read_all(path, m.robot, weights=[1]), "weights must map runs to weights"),
        (lambda: Log.read(None, m.robot), "path must be the name of a file, got None"),
        (lambda: Log(m.robot, m.t, m.q, m.tau, notes=5), "notes must be texts, got 5"),
        (lambda: Log(m.robot, m.t, m.q, m.tau, notes="late"), "notes must be texts, got 'late'"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_units_of_something_else(tmp_path):
    path = write(tmp_path / "log.csv", table_of())
    with pytest.raises(InputError, match="column 'q_joint1' is measured in rad, deg, turn, got 'mm'"):
        Log.read(path, motion().robot, units={"q": "mm"})
