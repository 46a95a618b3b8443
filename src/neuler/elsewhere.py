"""What other libraries call it: names that their users type, and what does the same here."""

from __future__ import annotations

_VERBS = {
    # Pinocchio
    "rnea": "inverse_dynamics(q, qd, qdd)",
    "aba": "forward_dynamics(q, qd, tau)",
    "crba": "mass_matrix(q)",
    "nle": "bias_force(q, qd)",
    "nonLinearEffects": "bias_force(q, qd)",
    "computeGeneralizedGravity": "gravity_force(q)",
    "computeCoriolisMatrix": "coriolis_matrix(q, qd)",
    "computeMinverse": "forward_dynamics_sensitivities(q, qd, tau).dqdd_dtau",
    "forwardKinematics": "link_poses(q)",
    "framesForwardKinematics": "link_poses(q)",
    "updateFramePlacements": "link_poses(q)",
    "computeJointJacobian": "jacobian(q, frame=...)",
    "computeJointJacobians": "jacobian(q, frame=...)",
    "computeFrameJacobian": "jacobian(q, frame=...)",
    "getFrameJacobian": "jacobian(q, frame=...)",
    "getJointJacobian": "jacobian(q, frame=...)",
    "getFrameVelocity": "link_velocities(q, qd, frame=...)",
    "centerOfMass": "center_of_mass(q)",
    "jacobianCenterOfMass": "center_of_mass_jacobian(q)",
    "ccrba": "centroidal_matrix(q)",
    "computeCentroidalMomentum": "centroidal_momentum(q, qd)",
    "computeKineticEnergy": "energy(q, qd).kinetic",
    "computePotentialEnergy": "energy(q, qd).potential",
    "computeRNEADerivatives": "inverse_dynamics_sensitivities(q, qd, qdd)",
    "computeABADerivatives": "forward_dynamics_sensitivities(q, qd, tau)",
    "randomConfiguration": "random_configuration(seed)",
    "getFrameId": "locate(frame); frames are named, not numbered, here",
    "buildReducedModel": "with_fixed({joint: position})",
    # Robotics Toolbox
    "rne": "inverse_dynamics(q, qd, qdd)",
    "accel": "forward_dynamics(q, qd, tau)",
    "fkine": "link_poses(q, frame=...)",
    "fkine_all": "link_poses(q)",
    "jacob0": 'jacobian(q, frame=..., reference="world")',
    "jacobe": "jacobian(q, frame=...)",
    "inertia": "mass_matrix(q)",
    "coriolis": "coriolis_matrix(q, qd)",
    "gravload": "gravity_force(q)",
    "payload": "with_payload(frame, mass)",
    "ikine": "inverse_kinematics(pose, guess)",
    "ikine_LM": "inverse_kinematics(pose, guess)",
    "ik_LM": "inverse_kinematics(pose, guess)",
    "fdyn": "rollout(q0, qd0, tau, dt, steps)",
    "nofriction": "without_friction()",
    "fk": "link_poses(q, frame=...)",
    "ik": "inverse_kinematics(pose, guess, frame=...)",
    "qlim": "coordinate_limits",
    "n": "nv, the length of qd; nq is that of q",
    "ndof": "nv, the length of qd; nq is that of q",
    "dof": "nv, the length of qd; nq is that of q",
    # MuJoCo
    "mj_inverse": "inverse_dynamics(q, qd, qdd)",
    "mj_forward": "forward_dynamics(q, qd, tau)",
    "mj_fullM": "mass_matrix(q)",
    "mj_jac": 'jacobian(q, frame=..., reference="world")',
    "mj_rne": "bias_force(q, qd)",
    "mj_step": "rollout(q0, qd0, tau, dt, steps)",
}
"""What is a method of robots here."""
_FUNCTIONS = {
    "buildModelFromUrdf": 'neuler.load("arm.urdf")',
    "RobotWrapper": 'neuler.load("arm.urdf")',
    "JointModelFreeFlyer": "robot.with_free_base()",
    "ERobot": 'neuler.load("arm.urdf")',
    "URDF": 'neuler.load("arm.urdf")',
    "from_urdf": 'neuler.load("arm.urdf")',
    "DHRobot": "neuler.from_dh(rows)",
    "DHLink": "neuler.from_dh(rows), whose rows are mappings",
    "RevoluteDH": "neuler.from_dh(rows), whose rows are mappings",
    "PrismaticDH": 'neuler.from_dh(rows), whose rows are mappings with kind="prismatic"',
    "RevoluteMDH": 'neuler.from_dh(rows, convention="khalil")',
    "models": "neuler.robots",
    "MjModel": 'neuler.load("arm.urdf")',
    "jtraj": "neuler.control.quintic",
    "plot": "neuler.view.draw(robot, q), or neuler.view.play(robot, t, q, path) for a motion",
    "teach": "neuler.view.draw(robot, q)",
    "show": "neuler.view.draw(robot, q)",
    "simulate": "neuler.simulate(robot, controller, x0, t)",
}
"""What is a function here."""


def method(name: str) -> str:
    """What a robot has under another name; empty where the name is not known.

    >>> method("rnea")
    'robot.inverse_dynamics(q, qd, qdd)'
    """
    return f"robot.{_VERBS[name]}" if name in _VERBS else _FUNCTIONS.get(name, "")


def quantity(name: object) -> str:
    """The quantity that another library calls so; empty where there is none.

    >>> quantity("crba")
    'mass_matrix'
    """
    return _VERBS.get(str(name), "").partition("(")[0]
