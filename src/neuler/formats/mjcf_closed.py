"""Equality constraints of a MuJoCo model as couplings, loops and joints that are held.

MuJoCo pulls such constraints together softly; here they hold exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Curve

from neuler.formats.mjcf_refused import Refusals
from neuler.formats.mjcf_tree import WORLD, Tree, placement, shifted
from neuler.robot import Coupling, Loop, Polynomial
from neuler.robot.transform import Transform


class Closed:
    """What the equality constraints of a model amount to."""

    def __init__(self, mujoco: Any, model: Any, tree: Tree, refusals: Refusals) -> None:
        self.mujoco, self.model, self.tree, self.refusals = mujoco, model, tree, refusals
        self.couplings: list[Coupling] = []
        self.loops: list[Loop] = []
        self.held: dict[str, float] = {}
        """Positions of joints that stand still."""
        self.inactive: list[str] = []
        self.to_mocap: list[str] = []
        kind = mujoco.mjtEq
        readers = {kind.mjEQ_JOINT: self._joint, kind.mjEQ_CONNECT: self._connect, kind.mjEQ_WELD: self._weld}
        self._led: set[str] = set()
        for number in range(model.neq):
            name = model.equality(number).name or f"equality{number}"
            if not model.eq_active0[number]:
                self.inactive.append(repr(name))
                continue
            read = readers.get(int(model.eq_type[number]))
            if read is None:
                what = str(mujoco.mjtEq(int(model.eq_type[number])).name).removeprefix("mjEQ_").lower()
                refusals.add("equality", f"equality {name!r}: a constraint of kind {what!r}")
            else:
                read(number, name)

    def _joint(self, number: int, name: str) -> None:
        """q1 - q1_0 = a0 + a1 (q2 - q2_0) + ... + a4 (q2 - q2_0)^4, with q_0 of the model as it is drawn."""
        model = self.model
        first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        if second >= 0 and self._name(first) in {x for each in self.couplings if each.joint == self._name(second)
                                                 for x in each.of}:  # fmt: skip
            self.refusals.add("equality", f"equality {name!r}: leads joint {self._name(second)!r}, which leads it")
            return
        follower = self._name(first)
        if follower in self._led:
            self.refusals.add("equality", f"equality {name!r}: joint {follower!r} follows another already")
            return
        self._led.add(follower)
        a = np.array(model.eq_data[number][:5], dtype=float)
        rest = self._drawn(first)
        if second < 0 or not a[1:].any():
            self.held[follower] = rest + float(a[0])
            return
        leader, at = self._name(second), self._drawn(second)
        curve = Curve(a)(Curve([-at, 1.0])) + rest
        coefficients = np.zeros(5)
        coefficients[: len(curve.coef)] = curve.coef
        if not a[2:].any():
            self.couplings.append(Coupling(follower, leader, float(a[1]), float(coefficients[0])))
        else:
            self.couplings.append(Coupling(follower, leader, function=Polynomial(coefficients)))

    def _name(self, joint: int) -> str:
        return self.tree.joint_names[joint]

    def _drawn(self, joint: int) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])

    def _connect(self, number: int, name: str) -> None:
        """Two points stay together."""
        data = self.model.eq_data[number]
        self._loop(number, name, "spherical", shifted(np.array(data[:3])), shifted(np.array(data[3:6])))

    def _weld(self, number: int, name: str) -> None:
        """Two frames stay together; two points where the constraint has no moment (``torquescale`` 0)."""
        data = self.model.eq_data[number]
        kind = "fixed" if data[10] else "spherical"
        self._loop(number, name, kind, placement(data[3:6], data[6:10]), shifted(np.array(data[:3])))

    def _loop(self, number: int, name: str, kind: str, first: Transform, second: Transform) -> None:
        model, tree = self.model, self.tree
        objects = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
        if int(model.eq_objtype[number]) == int(self.mujoco.mjtObj.mjOBJ_SITE):
            bodies = [int(model.site_bodyid[k]) for k in objects]
            places = [tree.site(k)[1] for k in objects]
        else:
            bodies, places = [max(k, WORLD) for k in objects], [first, second]
        if any(int(model.body_mocapid[body]) >= 0 for body in bodies):
            self.to_mocap.append(repr(name))
            return
        ends = [
            tree.frame(f"{name}_{end}", body, place)
            for end, body, place in zip(("first", "second"), bodies, places, strict=True)
        ]
        self.loops.append(Loop(name, kind, *ends))
