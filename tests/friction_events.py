"""Dry friction by events: SciPy's DOP853 between them, and at each the one set of laws that is consistent, by trial."""

import dataclasses
import itertools

import numpy as np
from scipy.integrate import solve_ivp

AT_REST = 1e-9
"""Of speeds: whose sign alone matters."""


class Events:
    """Motion of a robot whose dry friction acts along its own velocities, under constant forces."""

    def __init__(self, robot, tau, rtol=1e-11, atol=1e-12):
        self.robot, self.tau, self.tolerances = robot, np.asarray(tau, float), {"rtol": rtol, "atol": atol}
        self.smooth = without_coulomb(robot)
        slots, at = {}, 0
        for joint in robot.tree.moving_joints:
            slots[joint.name] = range(at, at + joint.nv)
            at += joint.nv
        self.own = [k for joint in robot.moving_joints for k in slots[joint.name]]

    def friction(self, q, mode):
        """Forces of friction of slides that move in these directions."""
        creep = AT_REST * np.asarray(mode, float)
        return self.robot.bias_force(q, creep) - self.smooth.bias_force(q, creep)

    def accelerations(self, q, v, mode):
        """qdd with those of mode 0 held, and the forces that hold them."""
        robot = self.smooth
        mass = robot.mass_matrix(q)
        force = robot.actuation_matrix(q).T @ self.tau if robot.loops else self.tau
        force = force - robot.bias_force(q, v) - self.friction(q, mode)
        free = np.flatnonzero(mode)
        a = np.zeros(len(v))
        if len(free):
            a[free] = np.linalg.solve(mass[np.ix_(free, free)], force[free])
        return a, force - mass @ a

    def rates(self, q, v):
        if not self.robot.loops:
            return v
        return self.robot.tree_motion(q, v, np.zeros(self.robot.nv))[0][self.own]

    def mode(self, q, v, broken=()):
        """Directions, 0 where held, that agree with the accelerations they make; those that broke away move."""
        rest = np.flatnonzero(v == 0.0)
        best, mode = -np.inf, np.sign(v)
        for sides in itertools.product((0, 1, -1), repeat=len(rest)):
            trial = np.sign(v)
            trial[rest] = sides
            if any(trial[k] == 0 for k in broken):
                continue
            a, held = self.accelerations(q, v, trial)
            margins = [np.inf]
            for k, side in zip(rest, sides, strict=True):
                ahead, back = (self.friction(q, one(len(v), k, way))[k] for way in (1, -1))
                margins.append(a[k] * side if side else min(ahead - held[k], held[k] - back))
            if min(margins) > best:
                best, mode = min(margins), trial
        return mode

    def run(self, q, v, duration):
        """q and v after so many seconds, and how often the laws changed."""
        q, v, t, changes = np.array(q, float), np.array(v, float), 0.0, 0
        n, broken = len(q), ()
        while t < duration:
            mode = self.mode(q, v, broken)
            if not mode.any():
                return q, v, changes
            found = solve_ivp(
                lambda _, y, mode=mode: np.concatenate(
                    [self.rates(y[:n], y[n:]), self.accelerations(y[:n], y[n:], mode)[0]]
                ),
                (t, duration), np.concatenate([q, v]), "DOP853", events=self._events(n, mode), **self.tolerances,
            )  # fmt: skip
            assert found.status >= 0, found.message
            t, q, v = float(found.t[-1]), found.y[:n, -1].copy(), found.y[n:, -1].copy()
            v[mode == 0] = 0.0
            for k, times in enumerate(found.t_events[: len(v)]):
                if len(times):
                    v[k] = 0.0
            held = np.flatnonzero(mode == 0)
            broken = [k for k, times in zip(held, found.t_events[len(v) :], strict=True) if len(times)]
            changes += found.status
            assert changes < 500
        return q, v, changes

    def _events(self, n, mode):
        found = []
        for k in range(len(mode)):
            found.append(_turned(n, k, mode))
        for k in np.flatnonzero(mode == 0):
            found.append(self._broken(n, k, mode))
        return found

    def _broken(self, n, k, mode):
        def margin(_, y):
            held = self.accelerations(y[:n], y[n:], mode)[1][k]
            ahead, back = (self.friction(y[:n], one(len(mode), k, way))[k] for way in (1, -1))
            return min(ahead - held, held - back)

        margin.terminal, margin.direction = True, -1
        return margin


def _turned(n, k, mode):
    """A velocity that was to keep its sign."""

    def speed(_, y):
        return y[n + k] * mode[k] if mode[k] else 1.0

    speed.terminal, speed.direction = True, -1
    return speed


def one(n, k, way):
    found = np.zeros(n)
    found[k] = way
    return found


def without_coulomb(robot):
    """The same robot without dry friction; viscous friction stays."""
    joints = [j if j.coulomb == 0.0 else _plain(j) for j in robot.joints]
    return robot.replace(joints=joints, motors=[_plain(m) for m in robot.motors])


def _plain(part):
    return dataclasses.replace(part, coulomb=0.0, coulomb_reverse=None)
