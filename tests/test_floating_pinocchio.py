"""Free links against Pinocchio: dynamics, the whole, sensitivities."""

import functools

import numpy as np
import pytest

import neuler
from free_robots import (
    dense_hybrid,
    given_motion,
    states,
)
from neuler import layouts
from random_robots import (
    close,
    few,
    real_files,
)

TOLERANCE = 1e-10

# ---- Pinocchio's free-flyer -----------------------------------------------------------------------------

SMALL = [
    "bolt.urdf", "borinot_flying_arm_2.urdf", "double_pendulum_continuous.urdf", "iris_simple.urdf", "kinova.urdf",
    "ur5_robot.urdf", "solo12.urdf",
]  # fmt: skip
LARGE = ["human.urdf", "talos_reduced.urdf", "hyq_no_sensors.urdf"]


@functools.cache
def pair(name):
    """A robot on a free base, Pinocchio's own reading of it, and what translates between them."""
    pin = pytest.importorskip("pinocchio")
    found = [path for path in real_files() if path.name == name]
    if not found:
        pytest.skip("example-robot-data is not installed")
    robot = neuler.load(found[0], mimic="independent", floating="fixed").without_friction()
    robot = robot.with_free_base(world="ground" if "world" in robot.link_names else "world")
    model = pin.buildModelFromUrdf(str(found[0]), pin.JointModelFreeFlyer())
    return robot, model, layouts.pinocchio(robot, model)


class Theirs:
    """Pinocchio's answers for a batch, in the robot's order."""

    def __init__(self, name, count=6):
        import pinocchio as pin

        self.pin = pin
        self.robot, self.model, self.layout = pair(name)
        self.data, self.order = self.model.createData(), self.layout.order
        self.q, self.v, self.a = states(self.robot, count)
        self.rows = list(
            zip(
                self.layout.q(self.q),
                self.layout.v(self.v, self.q),
                self.layout.a(self.a, self.v, self.q),
                strict=True,
            )
        )

    def each(self, call):
        """``call(model, data, q, v, a)`` state by state."""
        return np.array([np.array(call(self.model, self.data, *row)) for row in self.rows])

    def vector(self, call):
        return self.each(call)[:, self.order]

    def matrix(self, call):
        found = self.each(call)
        return found[:, self.order[:, None], self.order]

    def mass_matrix(self):
        def whole(m, d, q, v, a):
            upper = np.triu(self.pin.crba(m, d, q))
            return upper + np.triu(upper, 1).T

        return self.matrix(whole)


@pytest.mark.parametrize("name", few(SMALL + LARGE, len(SMALL)))
def test_dynamics_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    tau, mass = theirs.vector(pin.rnea), theirs.mass_matrix()
    bias = theirs.vector(lambda m, d, q, v, a: pin.nonLinearEffects(m, d, q, v))
    close(robot.inverse_dynamics(q, v, a), tau, TOLERANCE)
    close(robot.mass_matrix(q), mass, TOLERANCE)
    close(robot.bias_force(q, v), bias, TOLERANCE)
    back = theirs.vector(lambda m, d, q, v, a: pin.aba(m, d, q, v, pin.rnea(m, d, q, v, a)))
    found = robot.forward_dynamics(q, v, tau)
    told = given_motion(robot)
    mixed = robot.hybrid_dynamics(q, v, np.where(told, a, 0.0))
    for k in range(len(q)):
        worst = max(TOLERANCE, 1e-14 * float(np.linalg.cond(mass[k])))
        close(found[k], back[k], worst, what="forward")
        given = np.where(told, a[k], 0.0)
        close(mixed[k], dense_hybrid(mass[k], bias[k], given, told), TOLERANCE, what="hybrid: (86), (87)")


@pytest.mark.parametrize("name", few(SMALL + LARGE, len(SMALL)))
def test_the_whole_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    order = theirs.order
    close(robot.center_of_mass(q), theirs.each(lambda m, d, q, v, a: pin.centerOfMass(m, d, q)), TOLERANCE)
    jacobian = theirs.each(lambda m, d, q, v, a: pin.jacobianCenterOfMass(m, d, q))[:, :, order]
    close(robot.center_of_mass_jacobian(q), jacobian, TOLERANCE)
    momentum = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMomentum(m, d, q, v).vector)
    close(robot.centroidal_momentum(q, v), momentum, TOLERANCE)
    rate = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMomentumTimeVariation(m, d, q, v, a).vector)
    close(robot.centroidal_momentum_rate(q, v, a), rate, TOLERANCE)
    matrix = theirs.each(lambda m, d, q, v, a: pin.computeCentroidalMap(m, d, q))[:, :, order]
    close(robot.centroidal_matrix(q), matrix, TOLERANCE)


@pytest.mark.parametrize("name", few(SMALL[:6], 3))
def test_sensitivities_against_pinocchio(name):
    theirs = Theirs(name)
    pin, robot, q, v, a = theirs.pin, theirs.robot, theirs.q, theirs.v, theirs.a
    found = robot.inverse_dynamics_sensitivities(q, v, a)
    for k, mine in enumerate(found[:2]):
        close(mine, theirs.matrix(lambda m, d, q, v, a, k=k: pin.computeRNEADerivatives(m, d, q, v, a)[k]), TOLERANCE)
    mass = theirs.mass_matrix()
    close(found[2], mass, TOLERANCE)
    tau = robot.inverse_dynamics(q, v, a)
    found = robot.forward_dynamics_sensitivities(q, v, tau)

    def of_aba(m, d, q, v, a):
        first, second, inverse = pin.computeABADerivatives(m, d, q, v, pin.rnea(m, d, q, v, a))
        upper = np.triu(inverse)
        return np.stack([first, second, upper + np.triu(upper, 1).T])

    expected = theirs.each(of_aba)[:, :, theirs.order[:, None], theirs.order]
    for k in range(len(q)):
        worst = max(TOLERANCE, 1e-14 * float(np.linalg.cond(mass[k])))
        for mine, other in zip(found, expected[k], strict=True):
            close(mine[k], other, worst)
