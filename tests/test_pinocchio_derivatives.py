"""Sensitivities against Pinocchio's analytic derivatives: every URDF of example-robot-data that describes a robot.

Inverse: every row (the torque of one coordinate) on its own scale over the batch, never finer than 1e-3
of that row in the other matrices and 1e-6 of the matrix's largest number; tolerance 1e-10. Forward: each
matrix at each state on the scale of its largest number, never finer than 1e-3 of the other derivative's
and 1e-6 of M^-1's; tolerance max(1e-10, 1e-13 cond(M)), as both sides solve with M.
"""

import numpy as np
import pytest

from neuler import RobotError, load
from neuler.quantities.derivatives import inverse_dynamics_sensitivities
from neuler.trace.recipe import evaluate
from random_robots import close, few, random_robot, random_states, real_files, tenth

pin = pytest.importorskip("pinocchio")
from pinocchio_model import columns, from_robot, positions, velocities  # noqa: E402

TOLERANCE = 1e-10
STATES = 10
WITHOUT_MOTION = {"quadrotor_base", "iris_simple"}
SLOW = {
    "alex_psyonic_hands", "alex_sake_hands", "g1_29dof_with_hand_rev_1_0", "romeo", "talos_full_v2", "tiago",
    "tiago_dual", "tiago_pro", "icub", "human", "talos_full_v2_box", "simple_humanoid", "pr2", "g1_29dof_rev_1_0",
    "centauro",
}  # fmt: skip
"""Many coordinates: they compile for long."""
COMPILED = 24
"""Coordinates up to which the inverse kernel is compiled in the quick tests; beyond, it runs on plain floats."""

FILES = [path for path in real_files() if path.stem not in WITHOUT_MOTION]
NAMES = ("d/dq", "d/dqd", "symmetric")


def whole(matrix):
    """Of a symmetric matrix whose upper triangle counts."""
    upper = np.triu(matrix)
    return upper + np.triu(upper, 1).T


def theirs(robot, model, call, q, *others):
    """Three matrices for each state in the robot's order of coordinates: (3, states, nv, nv)."""
    data, pick = model.createData(), np.ix_(columns(robot, model), columns(robot, model))
    states = zip(positions(robot, model, q), *(velocities(robot, model, x) for x in others), strict=True)
    found = []
    for state in states:
        dq, dqd, symmetric = call(model, data, *state)
        found.append([np.array(m)[pick] for m in (dq, dqd, whole(symmetric))])
    return np.swapaxes(np.array(found), 0, 1)


def agree_inverse(found, expected):
    sizes = np.abs(expected).max(axis=(1, 3))  # of each matrix, row by row
    for name, mine, matrix, size in zip(NAMES, found, expected, sizes, strict=True):
        for k, largest in enumerate(sizes.max(axis=0).tolist()):
            scale = max(float(size[k]), 1e-3 * largest, 1e-6 * max(1.0, float(size.max())))
            close(mine[:, k], matrix[:, k], TOLERANCE, scale, f"{name}, row {k}")


def agree_forward(found, expected, matrices):
    for k, matrix in enumerate(matrices):
        tolerance = max(TOLERANCE, 1e-13 * float(np.linalg.cond(matrix)))
        dq, dqd, inverse = np.abs(expected[:, k]).max(axis=(1, 2)).tolist()
        floor = max(1e-3 * max(dq, dqd), 1e-6 * max(1.0, inverse))
        for name, mine, other, size in zip(NAMES, found, expected, (dq, dqd, inverse), strict=True):
            close(mine[k], other[k], tolerance, max(size, floor), name)


def forward_agrees(robot, model):
    q, qd, qdd = random_states(robot, STATES, 2)
    matrices = theirs(robot, model, pin.computeRNEADerivatives, q, qd, qdd)[2]
    empty = [name for k, name in enumerate(robot.joint_names) if not matrices[:, k, k].any()]
    if empty:
        with pytest.raises(RobotError, match="|".join(empty)):
            robot.compile("forward_dynamics_sensitivities")
        return
    tau = robot.inverse_dynamics(q, qd, qdd)
    expected = theirs(robot, model, pin.computeABADerivatives, q, qd, tau)
    agree_forward(robot.forward_dynamics_sensitivities(q, qd, tau), expected, matrices)


def real(path):
    """The robot without friction, which Pinocchio's recursions leave out, and Pinocchio's own reading of the file."""
    robot = load(path, mimic="independent", floating="fixed").without_friction()
    model = pin.buildModelFromUrdf(str(path))
    model.armature = np.zeros(model.nv)
    assert set(robot.joint_names) == set(model.names[1:])
    return robot, model


def each(files):
    return pytest.mark.parametrize("path", files, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")


@pytest.mark.parametrize("seed", few(range(60, 68), 2))
def test_random_tree(seed):
    """With rotors, axes anywhere, slides, and links without mass."""
    robot = random_robot(seed).without_friction()
    model = from_robot(robot)
    states = random_states(robot, STATES, seed)
    expected = theirs(robot, model, pin.computeRNEADerivatives, *states)
    agree_inverse(robot.inverse_dynamics_sensitivities(*states), expected)
    forward_agrees(robot, model)


@each(tenth(FILES))
def test_inverse(path):
    robot, model = real(path)
    if robot.nv <= COMPILED:
        states = random_states(robot, STATES, 1)
        found = robot.inverse_dynamics_sensitivities(*states)
    else:
        states = random_states(robot, 3, 1)
        recipe = inverse_dynamics_sensitivities.recipe(robot)
        rows = zip(*states, strict=True)
        results = [evaluate(recipe, {"q": q, "qd": qd, "qdd": qdd}) for q, qd, qdd in rows]
        found = [np.array(matrix) for matrix in zip(*results, strict=True)]
    agree_inverse(found, theirs(robot, model, pin.computeRNEADerivatives, *states))


@each(tenth([path for path in FILES if path.stem not in SLOW]))
def test_forward(path):
    robot, model = real(path)
    assert robot.nv <= 45
    forward_agrees(robot, model)


@pytest.mark.slow
@each([path for path in FILES if path.stem in SLOW])
def test_forward_of_many_joints(path):
    robot, model = real(path)
    assert robot.nv > 20
    forward_agrees(robot, model)


@pytest.mark.slow
@each(FILES)
def test_compiled_inverse_of_many_joints(path):
    robot, model = real(path)
    if robot.nv > COMPILED:
        states = random_states(robot, STATES, 1)
        expected = theirs(robot, model, pin.computeRNEADerivatives, *states)
        agree_inverse(robot.inverse_dynamics_sensitivities(*states), expected)
