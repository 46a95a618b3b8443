"""The benchmark runs, briefly, and its two sides compute the same. Never a time in an assertion."""

import dataclasses
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import bench, speed
from neuler.cli import main
from neuler.peers import mjcf, peer
from neuler.robot import Joint, Link, Robot
from neuler.robot.transform import Transform
from shown_robots import all_kinds, geared

pytestmark = pytest.mark.usefixtures("brief")
TOLERANCE = 1e-11
"""For both peers; MuJoCo's side takes principal inertias and quaternions, which are exact to rounding."""


@pytest.fixture(scope="module")
def ur5():
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return str(folder / "ur_description" / "urdf" / "ur5_robot.urdf")


def measured(capsys, *arguments):
    assert main(["bench", *arguments, "--json", "--batch", "300"]) == 0
    return json.loads(capsys.readouterr().out)


def agrees(data, verbs):
    compared = {one["quantity"]: one["peer"]["error"] for one in data["measurements"] if one["peer"]}
    assert set(compared) == set(verbs)
    assert all(error < TOLERANCE for error in compared.values()), compared


MUJOCO_VERBS = {
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force", "jacobian", "link_poses",
}  # fmt: skip


PINOCCHIO_VERBS = MUJOCO_VERBS | {
    "coriolis_matrix", "inverse_dynamics_sensitivities", "forward_dynamics_sensitivities",
}  # fmt: skip


@pytest.mark.slow
def test_pinocchio_reads_the_file_itself_and_agrees(capsys, ur5):
    pytest.importorskip("pinocchio")
    data = measured(capsys, ur5, "--peer", "pinocchio")
    assert data["peer"] == "pinocchio"
    assert "own reading" in data["peer_model"]
    agrees(data, PINOCCHIO_VERBS)
    batched = {one["quantity"] for one in data["measurements"] if one["peer"] and one["peer"]["batched"]}
    assert batched == {"inverse_dynamics", "forward_dynamics"}


def test_pinocchio_agrees_on_a_converted_robot(capsys):
    pytest.importorskip("pinocchio")
    data = measured(capsys, "puma560", "--peer", "pinocchio")
    assert data["without_friction"] is True
    assert "converted" in data["peer_model"]
    agrees(data, PINOCCHIO_VERBS)


WHOLE = {
    "center_of_mass", "center_of_mass_jacobian", "centroidal_momentum", "centroidal_momentum_rate", "centroidal_matrix",
}  # fmt: skip


@pytest.mark.slow
def test_pinocchio_agrees_on_a_free_base(capsys, ur5):
    """Its own reading of the file with a free-flyer; a file's base named 'world' is no obstacle."""
    pytest.importorskip("pinocchio")
    verbs = sorted(PINOCCHIO_VERBS | WHOLE | {"link_velocities"})
    data = measured(capsys, ur5, "--floating", "--peer", "pinocchio", "--verbs", *verbs, "integrate")
    assert "own reading" in data["peer_model"]
    agrees(data, verbs)


@pytest.mark.slow
def test_mujoco_agrees_on_a_free_base(capsys):
    pytest.importorskip("mujoco")
    agrees(measured(capsys, "puma560", "--floating", "--peer", "mujoco"), MUJOCO_VERBS)


def test_springs_are_left_out_beside_a_peer():
    pytest.importorskip("pinocchio")
    robot = neuler.robots.puma560().with_spring("joint2", 50.0).with_spring("joint3", 9.0, role="driven")
    result = bench.run(robot, verbs=["inverse_dynamics", "gravity_force"], batch=20, against="pinocchio")
    assert result.without_friction
    assert all(one.peer.error < TOLERANCE for one in result.measurements)


@pytest.mark.parametrize("source", ["puma560", "ur5"])
def test_mujoco_agrees(capsys, ur5, source):
    pytest.importorskip("mujoco")
    agrees(measured(capsys, ur5 if source == "ur5" else source, "--peer", "mujoco"), MUJOCO_VERBS)


def crooked():
    """A branch, a slider, axes along nothing, masses behind fixed joints, a massless link, names of any kind."""
    rng = np.random.default_rng(5)

    def placed():
        return Transform.from_rpy(rng.uniform(-0.5, 0.5, 3), rng.uniform(-3, 3, 3))

    def body(name):
        return Link.from_com(name, mass=1.3, com=rng.uniform(-0.2, 0.2, 3), inertia=(0.02, 0.03, 0.04, 0.001, 0.002, 0))

    links = [body("base"), body('a"<&'), Link("bare"), body("tool"), body("side")]
    joints = [
        Joint("1", "revolute", "base", 'a"<&', placed(), axis=(1, 2, 3), rotor_inertia=0.3, viscous=1.0),
        Joint("2", "prismatic", 'a"<&', "bare", placed(), axis=(-1, 0.5, 0)),
        Joint("3", "fixed", "bare", "tool", placed()),
        Joint("4", "revolute", 'a"<&', "side", placed(), axis=(0, -1, 0), coulomb=2.0),
    ]
    return Robot("crooked", links, joints, gravity=(1.0, -2.0, -9.0))


@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
def test_converters_keep_every_kind_of_thing(name):
    pytest.importorskip(name)
    result = bench.run(crooked(), batch=64, against=name)
    assert result.without_friction
    errors = {one.quantity: one.peer.error for one in result.measurements if one.peer}
    assert errors
    assert all(error < TOLERANCE for error in errors.values()), errors


@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
def test_peers_have_joints_of_several_coordinates(name):
    """Balls as they are, plates and crosses as simple joints in a row; MuJoCo has no screws."""
    pytest.importorskip(name)
    robot = all_kinds()
    if name == "mujoco":
        with pytest.raises(neuler.InputError, match="joint 'bolt': MuJoCo has no helical joints"):
            bench.run(robot, verbs=["inverse_dynamics"], batch=8, against=name)
        changed = [dataclasses.replace(j, kind="revolute", pitch=0.0) if j.name == "bolt" else j for j in robot.joints]
        robot = robot.replace(joints=changed)
    result = bench.run(robot, verbs=MUJOCO_VERBS, batch=20, against=name)
    errors = {one.quantity: one.peer.error for one in result.measurements}
    assert all(error < TOLERANCE for error in errors.values()), errors


def test_peers_refuse_loops_and_couplings():
    pytest.importorskip("pinocchio")
    for robot in (neuler.robots.four_bar(), geared()):
        with pytest.raises(neuler.InputError, match="only trees are compared with a peer"):
            bench.run(robot, verbs=["inverse_dynamics"], batch=8, against="pinocchio")


def test_a_difference_would_be_seen():
    pytest.importorskip("pinocchio")
    robot = neuler.robots.stanford()
    other = peer("pinocchio", robot.with_payload("link6", 0.01))
    states = bench.random_states(robot, ("q", "qd", "qdd"), 20)
    task = other.task("inverse_dynamics", states)
    assert bench.relative_error(robot.inverse_dynamics(*states.values()), task.results()) > 1e-4


def test_the_mjcf_is_an_ordinary_file(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(crooked()))
    assert model.nv == 3
    np.testing.assert_allclose(model.opt.gravity, [1.0, -2.0, -9.0])


def test_the_table_is_readable(capsys):
    pytest.importorskip("pinocchio")
    arguments = ["bench", "two_link", "--peer", "pinocchio", "--batch", "64"]
    assert main([*arguments, "--verbs", "inverse_dynamics", "mass_matrix", "energy"]) == 0
    out = capsys.readouterr().out
    for expected in ("inverse_dynamics", "agreement", "per call", "peer: pinocchio", "mul"):
        assert expected in out


def test_wrong_requests_are_refused(capsys, monkeypatch):
    assert main(["bench", "two_link", "--verbs", "torque"]) == 2
    assert "no quantity 'torque'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "two_link", "--batch", "0"])
    monkeypatch.setitem(sys.modules, "mujoco", None)
    capsys.readouterr()
    assert main(["bench", "two_link", "--peer", "mujoco"]) == 2
    assert "pip install pin mujoco" in capsys.readouterr().err
    with pytest.raises(neuler.InputError, match="no mass"):
        peer("pinocchio", Robot("x", [Link("base"), Link("a", 0.0, (1, 0, 0))], [Joint("j", "fixed", "base", "a")]))


def test_the_clock_is_called_enough(monkeypatch):
    monkeypatch.undo()
    calls = []
    assert speed.best_seconds(lambda: calls.append(1), repeats=3, shortest=1e-5) > 0
    assert len(calls) > 3


def test_compile_time_is_measured_afresh_and_the_cache_setting_kept(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path))
    result = bench.run(neuler.robots.two_link(), verbs=["gravity_force"], batch=8)
    assert result.measurements[0].compile_seconds > 0
    assert os.environ["NEULER_CACHE_DIR"] == str(tmp_path)


@pytest.mark.slow
def test_a_plan_on_the_grid_of_the_peers():
    """The benchmark beside other planners: neuler on evenly spaced points, not refined."""
    script = Path(__file__).resolve().parent.parent / "benchmarks" / "planning_peers" / "ours.py"
    command = [sys.executable, str(script), "two_link", "--controls", "8", "--points", "30"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["status"] == "optimal"
    assert 0.39 < found["duration"] < 0.42
