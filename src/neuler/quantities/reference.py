"""The page of all quantities, written from the declarations: ``python -m neuler.quantities.reference`` prints it."""

from __future__ import annotations

from neuler.quantities.catalogue import QUANTITIES
from neuler.quantities.declare import Quantity

ARGUMENTS = {
    "q": "positions (m, rad, quaternions), nq",
    "qd": "velocities (m/s, rad/s), nv",
    "qdd": "accelerations (m/s^2, rad/s^2), nv",
    "qddd": "jerks (m/s^3, rad/s^3), nv",
    "q_link": "positions of the joints, without theta of motors",
    "qd_link": "their velocities",
    "qdd_link": "their accelerations",
    "qddd_link": "their jerks",
    "qdddd_link": "their snaps (m/s^4, rad/s^4)",
    "tau": "forces (N, N m), nu",
    "given": "accelerations of the joints named in `motion`, forces of the others, nu",
    "weights": "a number for every one of tau, nu",
    "dt": "time (s)",
    "share": "of a step, 0 to 1",
    "damping": "rate at which open loops close (1/s)",
}
"""What the arguments are."""
_HEAD = """\
# Quantities

What can be computed of a robot. Each is a verb, `robot.inverse_dynamics(q, qd, qdd)`, compiled when it is first
called, and a variant with options, `robot.compile("inverse_dynamics", external=("tool",))`. Batch axes lead; arguments
go by place or by name; several results come as a named tuple. All take `dtype="float32"`, and `parameters=` makes some
of the robot's numbers one more input ([parameters](parameters.md)). This page is written from the declarations in
`quantities/` by `python -m neuler.quantities.reference`.

| argument | is |
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
        parts.append(f"For robots with {quantity.whose}.")
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
