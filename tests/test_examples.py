"""The examples run, and show what they say."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler.cli import main

FOLDER = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def example(monkeypatch, tmp_path):
    """By name: the module of an example; what it writes goes to a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def loaded(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.mark.slow
def test_hua_tracks_as_printed(example, capsys):
    """At fixed gains: rigid joints within 5e-3 rad, the elastic one within 6e-2 with its transient; energy audited."""
    module = example("hua_3r")
    module.main()
    assert "Hua" in capsys.readouterr().out
    assert Path("hua_3r.png").stat().st_size > 20_000
    for name, run in module.runs().items():
        rms = run.rms_error
        assert (rms[:2] < 5e-3).all(), name
        assert rms[2] < 6e-2, name
        assert (np.abs(rms / module.PRINTED[name] - 1) < 0.7).all(), name
        assert run.relative_drift < 1e-7


def test_hua_payload_lowers_the_torques(example):
    """At 3 s, the lowest position, as Hua says of figure 8; (0, 0, -3) applied to the tool would raise them."""
    found = example("hua_3r").runs()
    at = {name: run.tau[int(np.argmin(np.abs(run.t - 3.0)))] for name, run in found.items()}
    for k in (1, 3):  # the motors that lift
        assert 0.5 < at["hua_3r_payload"][k] / at["hua_3r"][k] < 0.9
    for run in found.values():
        assert run.q[0, 3] == run.q[0, 2]


def test_balancing(example, capsys):
    """Small tilts are saved, large ones are not, and the rail's end is a reason."""
    module = example("balance", "--tilts", "9")
    module.main()
    said = capsys.readouterr().out
    assert "at the end of the rail" in said
    assert Path("balance.html").stat().st_size > 10_000
    robot = module.cart()
    law = module.neuler.control.LQR(robot, module.UPRIGHT, Q=[10.0, 100.0, 100.0, 1.0, 1.0, 1.0], R=0.1, period=0.005)
    stands, _ = module.saved(robot, law, np.array([-0.05, 0.0, 0.05]))
    assert stands.all()


@pytest.mark.slow
def test_tuning(example, capsys):
    """The best gains lie inside the range, and hold against payloads and friction that were not among the first."""
    module = example("tune_gains", "--scenarios", "2")
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("800 runs")
    best = float(lines[2].split()[0])
    assert 20.0 < best < 390.0
    assert "worst" in lines[-2]


@pytest.mark.slow
def test_motors_are_sized(example, capsys):
    """The largest torque in the controller's memory is that over all samples; runs are physical, and drawn."""
    pytest.importorskip("matplotlib")
    module = example("size_motors", "--rows", "400", "--workers", "0", "-o", "out")
    try:
        robot = module.arm()
    except ModuleNotFoundError:
        pytest.skip("example-robot-data is not installed")
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("400 runs of 1.2 s; 400 of them computed now")
    assert lines[1].startswith("0 did not come to their end")
    assert Path("out/peak_torques.png").stat().st_size > 20_000
    module.main()
    assert "; 0 of them computed now" in capsys.readouterr().out
    table = neuler.studies.load("out").table()
    assert (table["run_status"] == 0).all()
    assert (table["rms"] < table["peak"]).all()
    assert np.corrcoef(table["mass"], table["peak"][:, 1])[0, 1] > 0.95  # the joint that lifts
    row = int(np.argmax(table["peak"][:, 1]))
    some = {name: table[name][row : row + 1] for name in ("mass", "com", "friction")}
    steps = round(2 * module.LEG / module.DT)
    run = robot.rollout(
        module.PICK, np.zeros(7), module.control, module.DT, steps, method=module.METHOD, memory=np.zeros(14),
        parameters=module.parameters(some),
    )  # fmt: skip
    np.testing.assert_allclose(np.abs(run.tau[0]).max(axis=0), table["peak"][row], rtol=1e-12)


@pytest.mark.slow
def test_least_times_over_payloads(example, capsys):
    """Heavier and farther takes longer; there is no motion exactly where the arm cannot hold its payload."""
    pytest.importorskip("matplotlib")
    module = example("payload_map", "--masses", "3", "--reaches", "3", "-o", "out")
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "2 of 9 cells have no motion; in 2 the arm cannot hold its payload"
    assert Path("out/least_time.png").stat().st_size > 10_000
    table = neuler.studies.load("out").table()
    duration = table["duration"].reshape(3, 3)
    for steps in (np.diff(duration, axis=0), np.diff(duration, axis=1)):
        assert (steps[np.isfinite(steps)] > -1e-3).all()
    assert (np.isnan(table["duration"]) == (table["holding"] > 1.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "rows", "better"),
    [
        ("study_gains", ["controller.kp=[100.0,1600.0]", "robot.payload.mass=[1.0,2.0]"], 4, "rms_error.elbow_joint"),
        ("study_payload", ["payload.mass=[0.5,0.0]", "limit.bound=[10.0,20.0]"], 4, "duration"),
    ],
)  # fmt: skip
def test_study_files(name, changes, rows, better, tmp_path, capsys):
    """The files run; the last row, of the higher gain or the lighter payload, is better than the first."""
    sets = [word for change in changes for word in ("--set", f"study.settings.{change}")]
    code = main(["study", str(FOLDER / f"{name}.toml"), "-o", str(tmp_path / "out"), *sets])
    assert (code, capsys.readouterr().err) == (0, "")
    found = neuler.studies.load(tmp_path / "out")
    assert (found.rows, found.counts["ok"]) == (rows, rows)
    values = found.table([better])[better]
    assert values[-1] < values[0]
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "out" / "study.png").stat().st_size > 10_000


@pytest.mark.exports
def test_loss_of_torques(example, capsys):
    """Physics and a network predict motions that were not trained on, a network alone does not."""
    pytest.importorskip("torch")
    module = example("torch_loss", "--steps", "300")
    before, after, fitted = module.train(True, 300)
    assert after < 0.5 * before
    mass, _, _, mz = fitted.change.tolist()[:4]
    assert abs(mass - module.TOOL[0]) < 0.7
    assert abs(mz - module.TOOL[3]) < 0.07
    assert all(change > 0.02 for change in fitted.change.tolist()[4:])
    _, alone, _ = module.train(False, 300)
    assert alone > 3.0 * after
    module.main()
    assert "N m after 300 steps" in capsys.readouterr().out


@pytest.mark.exports
def test_gains_by_gradients(example, capsys):
    """A few steps downhill in JAX, of gains that do not stand at a bound."""
    pytest.importorskip("jax")
    module = example("jax_gain", "--iterations", "25")
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["before", "after", "25", "improvement:"]
    assert float(lines[-1].split()[1]) > 10.0
