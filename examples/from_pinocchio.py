"""The first lines of someone who comes from Pinocchio: the calls that one knows stand on the right."""

from pathlib import Path

import numpy as np

import neuler

robot = neuler.load(Path(__file__).with_name("arm.urdf"))  # pin.buildModelFromUrdf; there is no data beside it
print(robot.nq, robot.nv, robot.joint_names, robot.frame_names)
q = robot.random_configuration(seed=0)  # pin.randomConfiguration
v, a = np.zeros(robot.nv), np.ones(robot.nv)

tau = robot.inverse_dynamics(q, v, a)  # pin.rnea, with the friction of the file
acceleration = robot.forward_dynamics(q, v, tau)  # pin.aba
M = robot.mass_matrix(q)  # pin.crba
h = robot.bias_force(q, v)  # pin.nonLinearEffects
g = robot.gravity_force(q)  # pin.computeGeneralizedGravity
dtau_dq, dtau_dv, dtau_da = robot.inverse_dynamics_sensitivities(q, v, a)  # pin.computeRNEADerivatives
print("inverse and forward dynamics agree:", np.allclose(acceleration, a), np.allclose(M @ a + h, tau))

pose = robot.link_poses(q, frame="tool0")  # pin.framesForwardKinematics, data.oMf[...].homogeneous
J = robot.jacobian(q, frame="tool0", reference="world")  # pin.computeFrameJacobian, LOCAL_WORLD_ALIGNED
found = robot.inverse_kinematics(pose, guess=q + 0.1, frame="tool0")
print("the hand is at", pose[:3, 3].round(3), "and back there within", float(np.abs(found.q - q).max()))

batch = robot.random_configuration(seed=1, shape=10_000)  # thousands of states at once
print(robot.inverse_dynamics(batch, np.zeros(6), np.zeros(6)).shape)
base = robot.with_free_base()  # pin.JointModelFreeFlyer
print(base.nq, base.nv, base.energy(base.neutral(), np.zeros(base.nv)))
run = neuler.simulate(robot, lambda t, q, qd: robot.gravity_force(q) - 0.2 * qd, (q, a), 1.0)
print(run)
