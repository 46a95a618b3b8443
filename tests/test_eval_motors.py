"""``neuler eval`` of robots with motors: names, order and units of what stands behind springs."""

import numpy as np
import pytest

import neuler
from cli_runs import evaluate, refused, run
from motor_robots import motor_robot
from neuler import Motor, speed
from neuler.formats import save
from neuler.quantities.catalogue import QUANTITIES, offered
from neuler.robot.columns import column_names
from neuler.view.report_motion import forces_along, paths
from neuler.view.sample_motion import sample_motion


@pytest.fixture
def elbow(tmp_path):
    robot = neuler.robots.two_link()
    robot = robot.replace(motors=[Motor("m", "joint2", 50.0, inertia=1e-4, stiffness=900.0)])
    save(robot, tmp_path / "arm.par")
    return robot, tmp_path / "arm.par"


def test_columns_of_theta(capsys, tmp_path, elbow):
    robot, path = elbow
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (5, 9))
    own = ["joint1", "joint2", "joint2.motor"]
    names = [f"{x}_{name}" for x in ("q", "qd", "qdd") for name in own]
    head, found, _ = evaluate(capsys, tmp_path, "inverse_dynamics", path, names, rows.tolist())
    assert head == [f"tau_{name}" for name in own]
    np.testing.assert_array_equal(found, robot.inverse_dynamics(*np.split(rows, 3, axis=1)))
    mixed = rng.permutation(9)
    head, again, _ = evaluate(
        capsys, tmp_path, "inverse_dynamics", path, [names[k] for k in mixed], rows[:, mixed].tolist()
    )
    np.testing.assert_array_equal(again, found)


def test_motion_of_links_alone(capsys, tmp_path, elbow):
    robot, path = elbow
    rows = np.random.default_rng(1).uniform(-1, 1, (4, 10))
    names = [f"{x}_link_joint{k}" for x in ("q", "qd", "qdd", "qddd", "qdddd") for k in (1, 2)]
    head, found, _ = evaluate(capsys, tmp_path, "elastic_inverse_dynamics", path, names, rows.tolist())
    own = ["joint1", "joint2", "joint2.motor"]
    assert head == [*(f"{x}_joint2.motor" for x in ("theta", "thetad", "thetadd")), *(f"tau_{name}" for name in own)]
    expected = np.concatenate(robot.elastic_inverse_dynamics(*np.split(rows, 5, axis=1)), axis=1)
    np.testing.assert_array_equal(found, expected)


def test_a_missing_motor_is_named(capsys, tmp_path, elbow):
    _, path = elbow
    (tmp_path / "s.csv").write_text("q_joint1,q_joint2\n0,0\n")
    told = refused(capsys, "eval", "mass_matrix", path, "--in", tmp_path / "s.csv", "--out", tmp_path / "o.csv")
    assert "has no column for 'q_joint2.motor'" in told


@pytest.mark.parametrize("name", [name for name in QUANTITIES if name in offered(motor_robot(1))])
def test_every_quantity_has_columns(name):
    """As many as numbers, no two alike; of vectors along the joints with their names."""
    robot = motor_robot(1)
    kernel = robot.compile(name) if name != "elastic_inverse_dynamics" else None
    for operand in () if kernel is None else (*kernel.inputs, *kernel.outputs):
        found = column_names(robot, operand, kernel.options)
        assert len(found) == len(set(found)) == operand.size
        if operand.name in ("q", "qd", "qdd", "tau", "bias", "gravity"):
            assert found == [f"{operand.name}_{joint}" for joint in robot.joint_names]


def test_units_are_those_of_the_output_side():
    """The motor of a slide counts in metres and newtons behind its gear."""
    robot = neuler.robots.stanford()
    motors = [Motor(f"m{k}", f"joint{k}", 200.0, inertia=1e-4, stiffness=1e4) for k in (2, 3)]
    robot = robot.replace(motors=motors)
    found = {entry.name: entry.turns for entry in robot.coordinates}
    assert (found["joint2.motor"], found["joint3.motor"]) == ((True,), (False,))
    motion = sample_motion(robot)
    units = {one.name: one.unit for one in forces_along(robot, motion)}
    assert (units["joint2.motor"], units["joint3.motor"], units["joint3"]) == ("N m", "N", "N")
    shaft = robot.coordinates.entries[-1]
    assert paths(shaft, motion.q)[0][2] == "m"


def test_bench_of_what_springs_alone_have(capsys, elbow):
    robot, _ = elbow
    assert not speed.measure(robot, "elastic_inverse_dynamics", 8, 1, 1e-4).measurement.failure
    free = speed.measure(robot.with_free_base(), "elastic_inverse_dynamics", 8, 1, 1e-4)
    assert all(np.isfinite(x).all() for x in free.found)
    told = refused(capsys, "bench", "two_link", "--verbs", "elastic_inverse_dynamics")
    assert "has no motors behind springs" in told
    with pytest.raises(SystemExit):
        run(capsys, "eval", "--help")
    assert "with motors behind springs also elastic_inverse_dynamics" in " ".join(capsys.readouterr().out.split())
