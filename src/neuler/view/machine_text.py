"""A machine with loops as text: its mobility, its loops, its legs, its tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from neuler.errors import RobotError
from neuler.files.columns import mechanism_of
from neuler.recipes.mobility import Mobility
from neuler.robot import Mechanism, ParallelRobot
from neuler.robot.doctor import Finding
from neuler.robot.parallel import PLATFORM
from neuler.view import text
from neuler.view.text import columns, count, number, safe, shown, vector

Machine = Mechanism | ParallelRobot


def mechanism(machine: Machine) -> Mechanism:
    """The tree with loops that a machine is."""
    found = mechanism_of(machine)
    assert found is not None
    return found


def findings(machine: Machine) -> list[Finding]:
    """The doctor's on its tree, and what its loops ask for: closed, mobile, driven, without a constraint too many."""
    own = mechanism(machine)
    found = [_without_loops(finding) for finding in own.tree.check()]
    subject = f"{kind(machine)} {machine.name!r}"
    try:
        facts = own.mobility
    except RobotError as error:
        return [Finding("error", subject, str(error).removeprefix(f"mechanism {own.name!r}: ")), *found]
    active = sum(joint.nv for joint in own.active_joints)
    if not facts.freedoms:
        found.append(Finding("warning", subject, "does not move: its loops leave no freedom"))
    elif not facts.independent:
        found.append(
            Finding(
                "warning",
                subject,
                f"is under-actuated: it has {count(facts.freedoms, 'freedom')}, and {_named(own.active_names)} "
                f"{'moves' if active == 1 else 'move'} fewer",
            )
        )
    elif active > facts.freedoms:
        told = (
            f"has {active} motors for {count(facts.freedoms, 'freedom')}: of all forces that do it the least is given"
        )
        found.append(Finding("note", subject, told))
    if facts.redundant:
        told = f"redundant constraints: {', '.join(facts.redundant)}; rigid links leave their forces undecided"
        found.append(Finding("note", subject, told))
    return sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _without_loops(finding: Finding) -> Finding:
    """Of a singular tree: its loops may carry what it lacks."""
    if "forward dynamics do not exist" not in finding.message:
        return finding
    return dataclasses.replace(finding, severity="note", message=f"cut open, {finding.message}")


def _named(names: Iterable[str]) -> str:
    return ", ".join(names) or "no joint"


def kind(machine: Machine) -> str:
    """What it is called."""
    return "parallel robot" if isinstance(machine, ParallelRobot) else "mechanism"


# ---- tables --------------------------------------------------------------------------------------


def mobility_rows(machine: Machine) -> list[list[str]]:
    """What the loops leave free, one fact a row."""
    own = mechanism(machine)
    facts = own.mobility
    lost = facts.constraints - facts.rank
    return [
        ["freedoms", f"{facts.freedoms} = {own.nv} velocities of the tree - {facts.rank} independent constraints"],
        ["constraints", f"{facts.constraints}, {lost} redundant" + (f": {', '.join(facts.redundant)}" if lost else "")],
        ["active joints", _named(own.active_names)],
        ["independent joints", ", ".join(facts.independent) or "none: the active joints do not decide the motion"],
        ["closed at", f"q = {vector(facts.reference)}"],
    ]


LOOP_HEAD = ("loop", "kind", "first frame", "on link", "second frame", "on link", "constraints")


def loop_rows(machine: Machine) -> list[list[str]]:
    """Every cut joint and the frames that it joins."""
    own = mechanism(machine)
    rows = []
    for loop in own.loops:
        first, second = (own.tree.links[own.tree.locate(frame)[0]].name for frame in (loop.first, loop.second))
        rows.append([loop.name, loop.kind, loop.first, first, loop.second, second, str(loop.constraints)])
    return rows


COUPLING_HEAD = ("coupled joint", "follows", "ratio", "offset")


def coupling_rows(machine: Machine) -> list[list[str]]:
    """Every pair of geared joints."""
    return [[c.joint, c.of, number(c.ratio), number(c.offset)] for c in mechanism(machine).couplings]


LEG_HEAD = ("leg", "motors", "other joints", "to the platform by", "at m")


def leg_rows(robot: ParallelRobot) -> list[list[str]]:
    """Every leg: its motors, its passive joints, and the joint that carries the platform."""
    rows = []
    for leg in robot.legs:
        others = [joint.name for joint in leg.chain.moving_joints if joint.name not in leg.motors]
        place = vector(leg.attachment.translation)
        rows.append([leg.name, ", ".join(leg.motors) or "none", ", ".join(others) or "none", leg.kind, place])
    return rows


# ---- all of it -----------------------------------------------------------------------------------


def headline(machine: Machine) -> str:
    """One line: what it is made of."""
    own = mechanism(machine)
    parts = [kind(machine), count(len(own.tree.links), "link"), count(len(own.tree.moving_joints), "joint")]
    if isinstance(machine, ParallelRobot):
        parts.append(count(len(machine.legs), "leg"))
    elif own.loops:
        parts.append(count(len(own.loops), "loop"))
    if own.couplings:
        parts.append(count(len(own.couplings), "coupling"))
    return f"{', '.join(parts)}, {number(own.tree.mass)} kg, gravity ({vector(own.tree.gravity)}) m/s^2"


def summary(machine: Machine, found: Iterable[Finding], marks: tuple[str, str, str] = text.FANCY) -> str:
    """All that ``neuler info`` prints about a machine."""
    own = mechanism(machine)
    parts = [f"{shown(machine.name)}: {headline(machine)}"]
    try:
        rows = mobility_rows(machine)
    except RobotError:
        rows = [
            ["freedoms", "unknown: its loops cannot be closed, see below"],
            ["active joints", _named(own.active_names)],
        ]
    parts.append("mobility:\n" + "\n".join(f"  {name:<18}  {shown(fact)}" for name, fact in rows))
    if isinstance(machine, ParallelRobot):
        parts.append(columns(LEG_HEAD, safe(leg_rows(machine)), left=4))
    if own.loops:
        parts.append(columns(LOOP_HEAD, safe(loop_rows(machine)), left=6))
    if own.couplings:
        parts.append(columns(COUPLING_HEAD, safe(coupling_rows(machine)), left=2))
    parts += [text.tree(own.tree, marks), *text.parameters(own.tree), text.doctor(found)]
    return "\n\n".join(parts)


def as_dict(machine: Machine, found: Iterable[Finding]) -> dict[str, Any]:
    """The same as plain data for JSON; the tree as of a robot. ``mobility`` is null where the loops stay open."""
    own = mechanism(machine)
    data: dict[str, Any] = {"name": machine.name, "kind": kind(machine).replace(" ", "_")}
    tree = text.as_dict(own.tree, found)
    data |= {key: tree[key] for key in ("nq", "nv", "mass", "gravity")}
    try:
        data["mobility"] = _mobility(own.mobility)
    except RobotError:
        data["mobility"] = None
    data["active_joints"] = list(own.active_names)
    data["loops"] = [dataclasses.asdict(loop) | {"constraints": loop.constraints} for loop in own.loops]
    data["couplings"] = [dataclasses.asdict(coupling) for coupling in own.couplings]
    if isinstance(machine, ParallelRobot):
        data["platform"] = PLATFORM
        data["legs"] = [
            {
                "name": leg.name,
                "joints": [f"{leg.name}.{joint.name}" for joint in leg.chain.moving_joints],
                "motors": [f"{leg.name}.{motor}" for motor in leg.motors],
                "kind": leg.kind,
                "rotation": [list(row) for row in leg.attachment.rotation],
                "translation": list(leg.attachment.translation),
            }
            for leg in machine.legs
        ]
    return data | {key: tree[key] for key in ("links", "joints", "frames", "findings")}


def _mobility(facts: Mobility) -> dict[str, Any]:
    return {
        "freedoms": facts.freedoms,
        "constraints": facts.constraints,
        "rank": facts.rank,
        "redundant": list(facts.redundant),
        "independent": list(facts.independent),
        "reference": list(facts.reference),
    }
