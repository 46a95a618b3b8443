"""Hua's Algorithms 1 and 2 as printed (but for their misprints, which may be put back), in the base frame, by NumPy."""

import numpy as np


class Hua:
    """A serial robot of hinges with a motor for every joint; ``misprint`` puts one of the printed errors back."""

    def __init__(self, robot, misprint=""):
        self.robot, self.misprint = robot, misprint
        self.motors = {motor.joint: motor for motor in robot.motors}
        self.elastic = [joint.name for joint in robot.joints if self.motors[joint.name].elastic]
        self.index = {link.name: k for k, link in enumerate(robot.links)}

    def kinematics(self, q):
        """Poses of the links' frames, joint axes and motor axes in the base frame."""
        poses, axes = [np.eye(4)], []
        for joint, angle in zip(self.robot.joints, q, strict=True):
            pose = poses[self.index[joint.parent]] @ joint.placement.matrix
            axis = np.array(joint.axis)
            k = np.cross(axis, np.eye(3)).T
            turn = np.eye(4)
            turn[:3, :3] = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
            poses.append(pose @ turn)
            axes.append(poses[-1][:3, :3] @ axis)
        return poses, axes

    def _seat(self, motor, joint, poses):
        """Axis and centre of mass of a motor in the base frame, and its inertia at rest."""
        carrier = poses[self.index[motor.carrier or joint.parent]]
        own = joint.placement.matrix
        axis = own[:3, :3] @ np.array(joint.axis) if motor.axis is None else np.array(motor.axis)
        place = own[:3, 3] if motor.position is None else np.array(motor.position)
        z = carrier[:3, :3] @ axis
        a, _, c = motor.moments
        return z, carrier[:3, :3] @ place + carrier[:3, 3], a * np.eye(3) + (c - a) * np.outer(z, z)

    def inverse(self, q, qd, qdd, gravity=True, external=(0.0, 0.0, 0.0)):
        """Algorithm 1: tau of every joint's motor, load side of every joint, reaction forces and moments.

        ``external``: f_e in the base frame, with which (20) begins at the frame "tool" of the last link.
        """
        robot, n = self.robot, len(self.robot.joints)
        theta = {name: n + k for k, name in enumerate(self.elastic)}
        g = np.array(robot.gravity) if gravity else np.zeros(3)
        poses, axes = self.kinematics(q[:n])
        w, wd, a = [np.zeros(3)], [np.zeros(3)], [np.zeros(3)]
        for k, joint in enumerate(robot.joints):
            p = self.index[joint.parent]
            arm = poses[k + 1][:3, 3] - poses[p][:3, 3]
            w.append(w[p] + qd[k] * axes[k])  # (2)
            wd.append(wd[p] + qdd[k] * axes[k] + qd[k] * np.cross(w[p], axes[k]))  # (3)
            a.append(a[p] + np.cross(wd[p], arm) + np.cross(w[p], np.cross(w[p], arm)))  # (12)
        bodies = [self._unified(k, poses) for k in range(n + 1)]
        force, moment = [np.zeros(3)] * (n + 1), [np.zeros(3)] * (n + 1)
        spins = []
        for k, joint in enumerate(robot.joints):
            motor = self.motors[joint.name]
            z, _, _ = self._seat(motor, joint, poses)
            swapped = self.misprint == "algorithm 1"
            at = theta.get(joint.name, k) if not swapped else k
            spins.append((self.index[motor.carrier or joint.parent], z, motor, motor.ratios[joint.name], at))
        for i in range(n, -1, -1):
            mass, com, inertia = bodies[i]
            arm = com - poses[i][:3, 3]
            ac = a[i] + np.cross(wd[i], arm) + np.cross(w[i], np.cross(w[i], arm))  # (15)
            f = mass * (ac - g)  # (18)
            m = inertia @ wd[i] + np.cross(w[i], inertia @ w[i]) + np.cross(arm, f)  # (22), (24)
            for carrier, z, motor, ratio, at in spins:
                if carrier == i:
                    h = ratio * motor.rotor
                    m = m + h * (qdd[at] * z + qd[at] * np.cross(w[i], z))  # (23)
                    if self.misprint == "21":
                        m = m - h * (qdd[at] * z + qd[at] * np.cross(w[i], z)) + h * qd[at] * z
            if any(external) and i == robot.locate("tool")[0]:  # (20): f_b,n+1 = f_e
                tool = poses[i] @ robot.locate("tool")[1].matrix
                f = f + np.array(external)
                m = m + np.cross(tool[:3, 3] - poses[i][:3, 3], external)
            for k, joint in enumerate(robot.joints):
                if self.index[joint.parent] == i:
                    f = f + force[k + 1]
                    m = m + moment[k + 1] + np.cross(poses[k + 1][:3, 3] - poses[i][:3, 3], force[k + 1])
            force[i], moment[i] = f, m
        tau, load = np.zeros(n), np.zeros(n)
        for k, joint in enumerate(robot.joints):
            carrier, z, motor, ratio, at = spins[k]
            load[k] = moment[k + 1] @ axes[k]  # (27), (28)
            project = poses[k + 1][:3, :3] @ poses[carrier][:3, :3].T @ z if self.misprint == "27" else z
            turning = wd[carrier] + ratio * qdd[at] * z + ratio * qd[at] * np.cross(w[carrier], z)  # (8), (9)
            spin = ratio * motor.rotor * (turning @ project)
            spring = motor.stiffness * (q[theta[joint.name]] - q[k]) if motor.elastic else load[k]
            tau[k] = spring + spin  # (27), (29)
        return tau, load, np.array(force), np.array(moment)

    def _unified(self, k, poses):
        """Mass, centre of mass and inertia about it of a link with all its motors at rest, in the base frame."""
        link, turn = self.robot.links[k], poses[k][:3, :3]
        parts = [(link.mass, turn @ np.array(link.com) + poses[k][:3, 3], turn @ link.inertia_about_com @ turn.T)]
        for joint in self.robot.joints:
            motor = self.motors[joint.name]
            if self.index[motor.carrier or joint.parent] == k:
                _, place, inertia = self._seat(motor, joint, poses)
                parts.append((motor.mass, place, inertia))
        mass = sum(m for m, _, _ in parts)
        com = sum(m * c for m, c, _ in parts) / mass
        return (
            mass,
            com,
            sum(j + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, j in parts),
        )

    def direct(self, q, qd, tau, external=(0.0, 0.0, 0.0)):
        """Algorithm 2: accelerations of joints and motors from the torques of the motors, (31)-(36)."""
        n, ne = len(self.robot.joints), len(self.elastic)
        number = {joint.name: k for k, joint in enumerate(self.robot.joints)}

        def column(qdd, rates, gravity):
            pull = external if gravity else (0.0, 0.0, 0.0)
            t, load, _, _ = self.inverse(q, rates, qdd, gravity=gravity, external=pull)
            first = [load[k] if joint.name in self.elastic else t[k] for k, joint in enumerate(self.robot.joints)]
            return np.array([*first, *(t[number[name]] for name in self.elastic)])  # (32)-(35)

        bias = column(np.zeros(n + ne), qd, True)
        still = column(np.zeros(n + ne), np.zeros(n + ne), False)  # the springs alone, K (theta - q) of (35)
        matrix = np.array([column(unit, np.zeros(n + ne), False) - still for unit in np.eye(n + ne)]).T
        right = np.zeros(n + ne)
        for k, joint in enumerate(self.robot.joints):
            motor = self.motors[joint.name]
            if motor.elastic:
                e = self.elastic.index(joint.name)
                right[k] = motor.stiffness * (q[n + e] - q[k])
                if self.misprint == "algorithm 2":  # a second gear ratio at the link
                    ratio = motor.ratios[joint.name]
                    right[k] = motor.stiffness * ratio * (q[n + e] - ratio * q[k])
                right[n + e] = tau[k]
            else:
                right[k] = tau[k]
        return np.linalg.solve(matrix, right - bias), matrix
