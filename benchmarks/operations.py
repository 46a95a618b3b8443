"""Multiplications and additions of the recursions for n = 1..12, against the published counts.

    python benchmarks/operations.py            # Markdown on standard output

All ten inertial parameters of every link are nonzero, and so are all Denavit-Hartenberg
parameters. ``as given`` is the recursion on the link parameters as they are; ``regrouped``
gathers them into base parameters first, which is what kernels for joint forces compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler import Robot, robots
from neuler.algebra.screw import pair
from neuler.passes.tree import Tree
from neuler.passes.trees import fused_tree, grouped_tree, whole_tree
from neuler.quantities.catalogue import recipe
from neuler.recursions import barman
from neuler.recursions.composite import mass_matrix
from neuler.recursions.hybrid import forward_dynamics, hybrid, inverse_dynamics
from neuler.recursions.nasser import nasser
from neuler.recursions.rates import torque_rates
from neuler.trace.graph import Graph, Scalar, count
from neuler.trace.recipe import traced

Trace = Callable[[Tree, list[Scalar], list[Scalar], list[Scalar]], Sequence[Scalar]]
Bound = Callable[[int], tuple[int, int]]

METHODS: dict[str, tuple[Trace, Bound, str]] = {
    "inverse dynamics": (
        inverse_dynamics, lambda n: (93 * n - 108, 81 * n - 100), "93n-108 / 81n-100 (Featherstone 2008, table 10.1)"),
    "direct dynamics": (
        forward_dynamics, lambda n: (224 * n - 259, 205 * n - 248), "224n-259 / 205n-248 (Featherstone 2008)"),
    "Nasser's direct dynamics": (
        lambda *a: nasser(*a).coordinates, lambda n: (258 * n - 119, 191 * n - 83), "258n-119 / 191n-83 (Nasser)"),
    "inertia matrix": (
        lambda tree, q, qd, x: [m for row in mass_matrix(tree, q) for m in row],
        lambda n: (10 * n * n + 22 * n - 32, 6 * n * n + 37 * n - 43), "10n²+22n-32 / 6n²+37n-43 (Featherstone 2008)"),
}  # fmt: skip


def counted(tree: Tree, trace: Trace) -> tuple[int, int]:
    """Multiplications and additions of one traced recursion."""
    graph = Graph()
    q, qd, x = (list(graph.inputs(name, tree.dof)) for name in ("q", "qd", "x"))
    total = count(trace(tree, q, qd, x))
    return total["mul"], total["add"]


def table(name: str, largest: int = 12) -> list[str]:
    """One method for general chains of 1..largest revolute joints."""
    trace, bound, source = METHODS[name]
    lines = [f"### {name}: published {source}", "", "| n | as given | regrouped | published |", "|---|---|---|---|"]
    for n in range(1, largest + 1):
        robot = robots.general_chain(n)
        given, grouped = counted(fused_tree(robot), trace), counted(grouped_tree(robot), trace)
        limit = bound(n)
        published = f"{limit[0]}/{limit[1]}" if min(limit) >= 0 else f"{limit[0]}/{limit[1]} (no count can be negative)"
        lines.append(f"| {n} | {given[0]}/{given[1]} | {grouped[0]}/{grouped[1]} | {published} |")
    return [*lines, ""]


def torque_and_rate(tree: Tree) -> tuple[tuple[int, int], tuple[int, int]]:
    """Multiplications and additions of the torque alone and of torque and rate, with a wrench on the last link."""
    graph = Graph()
    q, qd, qdd, qddd = (list(graph.inputs(name, tree.dof)) for name in ("q", "qd", "qdd", "qddd"))
    load, load_rate = ({len(tree.bodies) - 1: [pair(graph.inputs(name, 6))]} for name in ("wrench", "rate"))
    alone = count(hybrid(tree, q, qd, qdd, [True] * tree.dof, load).coordinates)
    found = torque_rates(tree, q, qd, qdd, qddd, load, load_rate)
    both = count(found.tau + found.tau_rate)
    return (alone["mul"], alone["add"]), (both["mul"], both["add"])


def rates(largest: int = 12) -> list[str]:
    """Torque and rate for general chains of 1..largest revolute joints; ratios are of mul + add."""
    lines = [
        "### torque and rate, wrench on the last link: published 309n-162 / 268n-138 (Guarino)",
        "",
        "| n | torque, as given | both | ratio | torque, regrouped | both | ratio | published |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n in range(1, largest + 1):
        cells = []
        for tree in (fused_tree, grouped_tree):
            alone, both = torque_and_rate(tree(robots.general_chain(n)))
            cells += [f"{alone[0]}/{alone[1]}", f"{both[0]}/{both[1]}", f"{sum(both) / sum(alone):.2f}"]
        lines.append(f"| {n} | {' | '.join(cells)} | {309 * n - 162}/{268 * n - 138} |")
    return [*lines, ""]


def stanford_sensitivities() -> list[str]:
    """All sensitivities of the Stanford arm to q, qd, qdd: by the kernels' recursions and by Barman's own."""
    robot = robots.stanford()
    lines = [
        "### Stanford arm, sensitivities to q, qd and qdd",
        "",
        "| | mul/add |",
        "|---|---|",
    ]
    for title, quantity in (
        ("torques", "inverse_dynamics_sensitivities"),
        ("reaction wrenches of all links, in the frames of the links", "reaction_sensitivities"),
    ):
        total = count(traced(recipe(robot, quantity))[1])
        lines.append(f"| {title}: kernel | {total['mul']}/{total['add']} |")
    tree = whole_tree(robot)
    graph = Graph()
    found = barman.sensitivities(tree, *(list(graph.inputs(name, tree.dof)) for name in ("q", "qd", "qdd")))
    torques = [x for name in ("q", "qd", "qdd") for row in getattr(found, f"dtau_d{name}") for x in row]
    wrenches = [
        x for name in ("q", "qd", "qdd") for body in getattr(found, f"dreaction_d{name}") for row in body for x in row
    ]
    for title, outputs in (("torques", torques), ("reaction wrenches, in canonical frames", wrenches)):
        total = count(outputs)
        lines.append(f"| {title}: Barman's recursion | {total['mul']}/{total['add']} |")
    return [*lines, ""]


def rx90() -> list[str]:
    """RX-90 with full inertial parameters and rotor inertia, no friction."""
    robot: Robot = full_parameters(robots.rx90()).without_friction()
    given, grouped = (counted(tree(robot), inverse_dynamics) for tree in (fused_tree, grouped_tree))
    direct = counted(grouped_tree(robot), forward_dynamics)
    return [
        "### RX-90, all ten parameters of every link nonzero, rotor inertia",
        "",
        "| | mul/add |",
        "|---|---|",
        f"| inverse, as given | {given[0]}/{given[1]} |",
        f"| inverse, regrouped | {grouped[0]}/{grouped[1]} |",
        "| inverse, OpenSYMORO, standard parameters | 331/282 |",
        "| inverse, OpenSYMORO, 40 base parameters | 287/226 |",
        f"| direct, regrouped | {direct[0]}/{direct[1]} |",
        "",
    ]


def full_parameters(robot: Robot) -> Robot:
    """The robot's geometry with the inertial parameters of a general chain, and rotors on every joint."""
    import dataclasses

    donor = robots.general_chain(robot.nv)
    bodies = donor.links[1:]
    links = [robot.links[0]] + [
        dataclasses.replace(body, name=link.name) for body, link in zip(bodies, robot.links[1:], strict=True)
    ]
    joints = [dataclasses.replace(joint, rotor_inertia=0.1 + 0.01 * k) for k, joint in enumerate(robot.joints)]
    return robot.replace(links=links, joints=joints)


def report() -> str:
    """All tables as Markdown."""
    lines = [line for name in METHODS for line in table(name)]
    return "\n".join([*lines, *rates(), *stanford_sensitivities(), *rx90()])


if __name__ == "__main__":
    print(report())
