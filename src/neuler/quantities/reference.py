"""The page of all quantities, generated from the declarations: ``python -m neuler.quantities.reference`` prints it."""

from __future__ import annotations

from neuler.quantities.catalogue import QUANTITIES
from neuler.quantities.declare import Quantity

ARGUMENTS = {
    "q": "positions (m, rad, quaternions), (nq)",
    "qd": "velocities (m/s, rad/s), (nv)",
    "qdd": "accelerations (m/s^2, rad/s^2), (nv)",
    "qddd": "jerks (m/s^3, rad/s^3), (nv)",
    "q_link": "positions of the joints, without theta of motors",
    "qd_link": "their velocities",
    "qdd_link": "their accelerations",
    "qddd_link": "their jerks",
    "qdddd_link": "their snaps (m/s^4, rad/s^4)",
    "tau": "forces and torques (N, N m), (nu)",
    "given": "accelerations of the joints named in `motion`, forces of the others, (nu)",
    "weights": "a factor for each entry of tau, (nu)",
    "dt": "time (s)",
    "share": "fraction of the Newton step taken, 0 to 1",
    "damping": "rate at which open loops close (1/s)",
}
"""What the arguments are."""
_HEAD = """\
# Quantities

Everything that neuler can compute for a robot. Each quantity is a method, compiled when it is first called:
`robot.inverse_dynamics(q, qd, qdd)`. [conventions.md](conventions.md) says what q, qd and tau contain, and all signs
and frames.

- **Arrays:** batch axes lead and broadcast; the shapes below are those of one state. `out=` takes arrays to write into.
  Dask arrays give [Dask arrays](functions.md#dask-arrays).
  Arguments may be given by name; several results are returned as a named tuple.
- **Options** are given in the call, `robot.jacobian(q, frame="tool0", reference="world")`, or once,
  `kernel = robot.compile("jacobian", frame="tool0")`. An option that names frames takes a mapping to give their
  wrenches at the same time: `robot.inverse_dynamics(q, qd, qdd, external={"tool0": wrench})`.
- All quantities take `dtype="float32"`, and `parameters=`, which turns some of the robot's numbers into an input
  ([parameters.md](parameters.md)).

This page is generated from the declarations in `quantities/` by `python -m neuler.quantities.reference`.

| argument | meaning |
|---|---|
"""


def _section(quantity: Quantity) -> str:
    shown = f"{quantity.name}({', '.join(quantity.arguments)}) -> {', '.join(quantity.results)}"
    options = [
        f"`{name}={default!r}`" for name, default in quantity.options.items() if name != "parameters"
    ]  # fmt: skip
    text, _, example = quantity.text.partition("\n>>> ")
    parts = [f"## {quantity.name}", f"`{shown}`", text.strip()]
    if quantity.only:
        parts.append(f"Only for robots with {quantity.whose}.")
    if options:
        parts.append(f"Options: {', '.join(options)}.")
    if example:
        parts.append(f"```python\n>>> {example.strip()}\n```")
    return "\n\n".join(parts)


def page() -> str:
    """The text of docs/quantities.md.

    >>> "## inverse_dynamics" in page()
    True
    """
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in ARGUMENTS.items())
    return _HEAD + rows + "\n" + "\n\n".join(_section(each) for each in QUANTITIES.values()) + "\n"


if __name__ == "__main__":
    print(page(), end="")
