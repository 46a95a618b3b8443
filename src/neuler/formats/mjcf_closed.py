"""Equality constraints of a MuJoCo model as couplings, loops and joints that are held.

MuJoCo pulls such constraints together softly; here they hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Curve

from neuler.formats.mjcf_refused import Refusals
from neuler.formats.mjcf_tree import WORLD, ModelTree, placement, shifted
from neuler.robot import Coupling, Loop, Polynomial
from neuler.robot.transform import Transform


class Closed:
    """What the equality constraints of a model amount to."""

    def __init__(self, mujoco: Any, model: Any, tree: ModelTree, refusals: Refusals) -> None:
        self.mujoco, self.model, self.tree, self.refusals = mujoco, model, tree, refusals
        self.couplings: list[Coupling] = []
        self.loops: list[Loop] = []
        self.held: dict[str, float] = {}
        """Positions of joints that stand still."""
        self.inactive: list[str] = []
        self.to_mocap: list[str] = []
        self.rigid: list[str] = []
        """Between bodies that do not move relative to each other."""
        kind = mujoco.mjtEq
        readers = {
            kind.mjEQ_JOINT: self._joint, kind.mjEQ_TENDON: self._tendon, kind.mjEQ_CONNECT: self._connect,
            kind.mjEQ_WELD: self._weld,
        }  # fmt: skip
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
        follower = self._name(first)
        if not self._may_follow(name, follower, [self._name(second)] if second >= 0 else []):
            return
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

    def _tendon(self, number: int, name: str) -> None:
        """L1 - L1_0 = a0 + a1 (L2 - L2_0) of fixed tendons, L = sum of coefficients times positions."""
        model = self.model
        tendons = [k for k in (int(model.eq_obj1id[number]), int(model.eq_obj2id[number])) if k >= 0]
        a = np.array(model.eq_data[number][:5], dtype=float)
        weights: dict[str, float] = {}
        total = float(a[0])
        for tendon, share in zip(tendons, (1.0, -float(a[1])), strict=False):
            parts = self._fixed(tendon)
            if not parts or (len(tendons) > 1 and a[2:].any()):
                self.refusals.add("equality", f"equality {name!r}: tendons that are not sums of joints' positions")
                return
            total += share * float(model.tendon_length0[tendon])
            for joint, coefficient in parts:
                weights[self._name(joint)] = weights.get(self._name(joint), 0.0) + share * coefficient
        weights = {joint: weight for joint, weight in weights.items() if weight}
        follower = next((joint for joint in reversed(weights) if joint not in self._led), "")
        leaders = [joint for joint in weights if joint != follower]
        if not follower:
            self.refusals.add("equality", f"equality {name!r}: all of its joints follow others already")
        elif self._may_follow(name, follower, leaders):
            offset = total / weights[follower]
            if leaders:
                ratios = [-weights[joint] / weights[follower] for joint in leaders]
                self.couplings.append(Coupling(follower, leaders, ratios, offset))
            else:
                self.held[follower] = offset

    def _fixed(self, tendon: int) -> list[tuple[int, float]]:
        """Joints of a fixed tendon and their coefficients; nothing of a spatial one."""
        model, first = self.model, int(self.model.tendon_adr[tendon])
        places = range(first, first + int(model.tendon_num[tendon]))
        if any(int(model.wrap_type[k]) != int(self.mujoco.mjtWrap.mjWRAP_JOINT) for k in places):
            return []
        return [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in places]

    def _may_follow(self, name: str, follower: str, leaders: list[str]) -> bool:
        """Whether a joint may be led by others; why not is told."""
        below = {each.joint: each.of for each in self.couplings}
        reached, left = set(leaders), list(leaders)
        while left:
            for joint in below.get(left.pop(), ()):
                if joint not in reached:
                    reached.add(joint)
                    left.append(joint)
        if follower in self._led:
            self.refusals.add("equality", f"equality {name!r}: joint {follower!r} follows another already")
        elif follower in reached:
            self.refusals.add("equality", f"equality {name!r}: joint {follower!r} would lead itself")
        else:
            self._led.add(follower)
            return True
        return False

    def _name(self, joint: int) -> str:
        return self.tree.joint_names[joint]

    def _drawn(self, joint: int) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])

    def _connect(self, number: int, name: str) -> None:
        """Two points stay together."""
        data = self.model.eq_data[number]
        self._loop(number, name, "spherical", lambda: (shifted(np.array(data[:3])), shifted(np.array(data[3:6]))))

    def _weld(self, number: int, name: str) -> None:
        """Two frames stay together; two points where the constraint has no moment (``torquescale`` 0)."""
        data = self.model.eq_data[number]
        kind = "fixed" if data[10] else "spherical"
        self._loop(number, name, kind, lambda: (placement(data[3:6], data[6:10]), shifted(np.array(data[:3]))))

    def _loop(self, number: int, name: str, kind: str, ends: Callable[[], tuple[Transform, Transform]]) -> None:
        """A loop between two sites, or between two bodies, on which ``ends`` are then placed."""
        model, tree = self.model, self.tree
        objects = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
        if int(model.eq_objtype[number]) == int(self.mujoco.mjtObj.mjOBJ_SITE):
            bodies = [int(model.site_bodyid[k]) for k in objects]
            places = [tree.site(k)[1] for k in objects]
        else:
            bodies, places = [max(k, WORLD) for k in objects], list(ends())
        if any(int(model.body_mocapid[body]) >= 0 for body in bodies):
            self.to_mocap.append(repr(name))
            return
        if len({int(model.body_weldid[body]) for body in bodies}) == 1:
            self.rigid.append(repr(name))
            return
        frames = [
            tree.frame(f"{name}_{end}", body, place)
            for end, body, place in zip(("first", "second"), bodies, places, strict=True)
        ]
        self.loops.append(Loop(name, kind, *frames))
