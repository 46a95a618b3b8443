"""``neuler eval`` of robots with loops, couplings, free bases and joints of every kind."""

import numpy as np
import pytest

import neuler
from cli_runs import evaluate, read, refused, run, write_csv
from neuler.files import tables
from neuler.quantities.catalogue import offered
from neuler.robot.columns import column_names
from random_robots import few
from shown_robots import afloat, all_kinds, geared


def test_eval_of_a_mechanism_takes_closed_positions_and_independent_velocities(capsys, tmp_path):
    machine = neuler.robots.five_bar()
    q = machine.assemble([[2.2, 0.9], [2.4, 1.0], [2.0, 0.8]]).q
    rng = np.random.default_rng(0)
    qd, qdd = rng.normal(size=(2, 3, 2))
    names = [f"q_{x}" for x in machine.joint_names]
    names += [f"{x}_{arm}" for x in ("qd", "qdd") for arm in ("left_arm", "right_arm")]
    rows = np.concatenate([q, qd, qdd], axis=1)
    head, found, _ = evaluate(capsys, tmp_path, "inverse_dynamics", "five_bar", names, rows.tolist())
    assert head == ["tau_left_arm", "tau_right_arm"]
    np.testing.assert_array_equal(found, machine.inverse_dynamics(q, qd, qdd))
    # the chosen independent joints name the columns, in their order
    option = ("--independent", "right_arm,left_forearm")
    names = [f"q_{x}" for x in machine.joint_names] + ["qd_left_forearm", "qd_right_arm"]
    head, found, _ = evaluate(capsys, tmp_path, "bias_force", "five_bar", names, rows[:, :6].tolist(), *option)
    other = machine.with_independent("right_arm", "left_forearm")
    np.testing.assert_array_equal(found, other.bias_force(q, qd[:, ::-1]))
    assert head == ["bias_right_arm", "bias_left_forearm"]


def test_eval_can_close_the_loops_itself(capsys, tmp_path):
    machine = neuler.robots.four_bar()
    rows = [[1.0, 0.5, 0.1], [2.0, -0.5, 0.2]]
    head, found, _ = evaluate(
        capsys, tmp_path, "inverse_dynamics", "four_bar", ["q_crank", "qd_crank", "qdd_crank"], rows, "--assemble"
    )
    q = machine.assemble([[1.0], [2.0]]).q
    np.testing.assert_allclose(found, machine.inverse_dynamics(q, *np.array(rows).T[1:, :, None]), rtol=1e-12)
    assert head == ["tau_crank"]
    # what the file says of the others is a guess: here that of the other branch
    across = np.array([0.675 - 0.15 * np.cos(1.0), -0.15 * np.sin(1.0)])  # from the crank's end to the rocker's foot
    tilt = np.arctan2(across[1], across[0])
    mirrored = [1.0, 2 * (tilt - 1.0) - q[0, 1], 2 * tilt - q[0, 2]]
    other = machine.assemble([1.0], guess=mirrored).q
    assert np.abs(other - q[0]).max() > 0.5
    head, found, _ = evaluate(capsys, tmp_path, "mass_matrix", "four_bar", ["q1", "q2", "q3"], [mirrored], "--assemble")
    np.testing.assert_allclose(found[0], machine.mass_matrix(other).ravel(), rtol=1e-10)
    np.savez(tmp_path / "in.npz", q=[[1.0], [2.0]])
    code, _, err = run(
        capsys,
        "eval",
        "mass_matrix",
        "four_bar",
        "--in",
        tmp_path / "in.npz",
        "--out",
        tmp_path / "m.npz",
        "--assemble",
    )
    assert code == 0, err
    with np.load(tmp_path / "m.npz") as found:
        np.testing.assert_allclose(found["mass_matrix"], machine.mass_matrix(q), rtol=1e-12)


def test_eval_of_a_parallel_robot_by_pose_or_by_motors(capsys, tmp_path):
    machine = neuler.robots.delta()
    q = machine.inverse_kinematics([0.02, 0.01, -0.5]).q
    rates = [f"{x}_platform_{part}" for x in ("qd", "qdd") for part in "xyz"]
    motion = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0]
    pose = [f"q_platform_{part}" for part in "xyz"]
    expected = machine.inverse_dynamics(q, motion[:3], motion[3:])
    for names, given in ((pose, q[:3]), ([f"q_leg{k}.motor" for k in (1, 2, 3)], q[[3, 6, 9]])):
        head, found, err = evaluate(
            capsys, tmp_path, "inverse_dynamics", "delta", [*names, *rates], [[*given, *motion]], "--assemble"
        )
        assert head == [f"tau_leg{k}.motor" for k in (1, 2, 3)]
        np.testing.assert_allclose(found[0], expected, rtol=1e-8)
        assert err == ""


def test_states_without_a_result_are_counted(capsys, tmp_path):
    """A slider-crank that its slider drives is singular where the crank is stretched out."""
    machine = neuler.robots.slider_crank().with_independent("slider")
    crank = neuler.robots.slider_crank()
    q = crank.assemble([[1.2], [0.0]], continuous=True).q
    names = [*(f"q_{name}" for name in machine.joint_names), "qd_slider"]
    rows = [[*state, 1.0] for state in q]
    head, found, err = evaluate(capsys, tmp_path, "bias_force", "slider_crank", names, rows, "--independent", "slider")
    assert head == ["bias_slider"]
    np.testing.assert_allclose(found[0], machine.bias_force(q[0], [1.0]), rtol=1e-8)
    assert np.isnan(found[1]).all()
    assert "note: 1 of 2 states have no result" in err
    assert "Warning" not in err


def test_eval_of_a_free_base_names_every_number(capsys, tmp_path):
    robot = neuler.robots.two_link().with_free_base()
    path = tmp_path / "arm.par"
    from neuler.formats import par

    path.write_text(par.write(robot))
    again = neuler.load(path)
    names = [f"q_root_joint_{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    names += [f"q_{joint}" for joint in again.joint_names[1:]]
    for x in ("qd", "qdd"):
        names += [f"{x}_root_joint_{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")]
        names += [f"{x}_{joint}" for joint in again.joint_names[1:]]
    q = again.random_configuration(1, 4)
    qd, qdd = np.random.default_rng(2).normal(size=(2, 4, 8))
    rows = np.concatenate([q, qd, qdd], axis=1).tolist()
    head, found, _ = evaluate(capsys, tmp_path, "inverse_dynamics", path, names, rows)
    wrench = [f"tau_root_joint_{part}" for part in ("fx", "fy", "fz", "mx", "my", "mz")]
    assert head == [*wrench, *(f"tau_{joint}" for joint in again.joint_names[1:])]
    np.testing.assert_array_equal(found, again.inverse_dynamics(q, qd, qdd))


REFUSED = {
    "open": (["q_crank", "q_coupler", "q_rocker"], [[1.5708, -0.9273, 2.2143], [1, 1, 1]], [], "line 3: the loops of"),
    "hint": (["q_crank", "q_coupler", "q_rocker"], [[1, 1, 1]], [], "let --assemble close them"),
    "unknown": (["q_crank", "q_couple", "q_rocker"], [[1, 1, 1]], [], "did you mean 'q_coupler'?"),
    "missing": (["q_crank"], [[1.0]], [], "has no column for 'q_coupler', 'q_rocker'"),
    "no crank": (["q_rocker"], [[1.0]], ["--assemble"], "has no column for 'q_crank'"),
    "no joint": (["q_crank"], [[1.0]], ["--independent", "handle"], "'handle'"),
    "an option": (["q_crank"], [[1.0]], ["--option", "independent=crank"], "--independent names gives the same robot"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_states_of_a_mechanism_are_refused(capsys, tmp_path, case):
    names, rows, more, message = REFUSED[case]
    write_csv(tmp_path / "in.csv", names, rows)
    arguments = ("eval", "mass_matrix", "four_bar", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv", *more)
    assert message in refused(capsys, *arguments)
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


def test_states_out_of_reach_and_wrong_quaternions_are_refused_by_line(capsys, tmp_path):
    pose = [f"q_platform_{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    base = ("eval", "jacobian", "planar_3rrr", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv", "--assemble")
    flat = ["q_platform_x", "q_platform_y", "q_platform_angle"]
    write_csv(tmp_path / "in.csv", flat, [[0, 0, 0], [0.01, 0, 0], [5, 0, 0]])
    error = refused(capsys, *base)
    assert "line 4: the loops of 'planar_3rrr' cannot be closed" in error
    write_csv(tmp_path / "in.csv", flat, [[5, 0, 0]])
    assert "line 2: " in refused(capsys, *base)
    good = neuler.robots.gough_stewart().neutral()[:7].tolist()
    write_csv(tmp_path / "in.csv", pose, [good, [*good[:6], 2]])
    error = refused(capsys, "eval", "link_poses", "gough_stewart", *base[3:])
    assert "line 3: the quaternion of joint 'platform' has the length 2 instead of 1" in error
    np.savez(tmp_path / "in.npz", q=np.array([[0, 0, 0], [5.0, 0, 0]]))
    arguments = [tmp_path / "in.npz" if str(x).endswith("in.csv") else x for x in base]
    assert "state [1]: the loops" in refused(capsys, *arguments)
    write_csv(tmp_path / "in.csv", ["q1", "q2"], [[0, 0]])
    assert "robot 'two_link' has none" in refused(
        capsys,
        "eval",
        "gravity_force",
        "two_link",
        "--in",
        tmp_path / "in.csv",
        "--out",
        tmp_path / "o.csv",
        "--assemble",
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "in.npz"]


def test_quantities_of_loops_are_refused_without_loops(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q1", "q2"], [[0, 0]])
    error = refused(
        capsys, "eval", "coupling_matrix", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv"
    )
    assert "coupling_matrix: robot 'two_link' has no loops" in error


ROBOTS = {"kinds": all_kinds, "geared": geared, "five_bar": neuler.robots.five_bar, "afloat": afloat}


@pytest.mark.parametrize("name", few(sorted(ROBOTS, key=lambda name: name != "five_bar"), 1))
def test_every_quantity_of_every_robot_goes_through_a_table_by_names(tmp_path, name):
    """Columns in any order, named by joints; the file that comes out holds what the kernel gives."""
    robot = ROBOTS[name]()
    rng = np.random.default_rng(1)
    for quantity in offered(robot):
        if quantity in ("inverse_dynamics_hessian", "reaction_sensitivities"):  # tensors: many columns, long to compile
            continue
        kernel = robot.compile(quantity)
        shapes = {operand.name: operand.shape for operand in kernel.inputs}
        states = [robot.random_configuration(2, 3) if x == "q" else rng.uniform(0, 1, (3, *shapes[x])) for x in shapes]
        names = [column for operand in kernel.inputs for column in column_names(robot, operand)]
        assert len(set(names)) == len(names)
        table = np.concatenate([x.reshape(3, -1) for x in states], axis=1)
        order = rng.permutation(len(names))
        write_csv(tmp_path / "in.csv", [names[k] for k in order], table[:, order].tolist())
        tables.evaluate(kernel, str(tmp_path / "in.csv"), str(tmp_path / "out.csv"))
        head, found = read(tmp_path / "out.csv")
        expected = kernel(*states)
        results = expected if isinstance(expected, tuple) else (expected,)
        assert head == [column for operand in kernel.outputs for column in column_names(robot, operand)]
        np.testing.assert_array_equal(found, np.concatenate([x.reshape(3, -1) for x in results], axis=1))
