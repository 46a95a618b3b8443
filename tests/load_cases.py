"""Random trees under loads that are given in the axes of the base, on frames everywhere."""

import functools

import numpy as np
import pytest

from neuler.quantities.catalogue import recipe
from neuler.trace.recipe import evaluate
from random_robots import close, few, random_robot, random_states

EXACT = 1e-12
STEP = 1e-40
"""Of the complex step: no difference is taken, so it can be this small."""
SEEDS = (0, 2, 5, 6, 12, 20, 29, 32)
each = pytest.mark.parametrize("seed", SEEDS)
some = pytest.mark.parametrize("seed", few((12, 0, 29, 5), 1))
"""Where much is compiled."""
many = pytest.mark.parametrize("many", [True, False], ids=["many", "one"])
RATES = ("", "_rate", "_rate2")
LOADED = (
    "inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "bias_force", "generalized_force", "reaction_wrenches",
    "inverse_dynamics_rate", "inverse_dynamics_sensitivities", "forward_dynamics_sensitivities",
    "inverse_dynamics_hessian", "reaction_sensitivities",
)  # fmt: skip


@functools.cache
def loaded(seed, many=True):
    """Names to load: of frames on the tip and elsewhere, of links in the middle, behind a fixed joint, of the base."""
    robot = random_robot(seed)
    if not many:
        return ("tool",)
    fixed = [joint.child for joint in robot.joints if not joint.moves]
    links = robot.link_names
    return tuple(dict.fromkeys(("tool", "frame0", links[len(links) // 2], links[0], *fixed[-1:])))


def numbers(size, seed):
    return np.random.default_rng(seed).uniform(-20, 20, size)


@functools.cache
def case(seed, many=True):
    """A robot, its loads, and everything that a kernel may ask for: moving joints, far from their reversal."""
    robot, names = random_robot(seed), loaded(seed, many)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, seed))
    values = {"q": q, "qd": np.where(qd < 0, qd - 0.1, qd + 0.1), "qdd": qdd}
    values |= {name: numbers(robot.nv, seed + k) for k, name in enumerate(("qddd", "qdddd", "tau", "given", "weights"))}
    for k, name in enumerate(names):
        for order, suffix in enumerate(RATES):
            values |= {f"load_{name}{suffix}": numbers(6, 100 + seed + 3 * k + order)}
            values |= {f"wrench_{name}{suffix}": numbers(6, 200 + seed + 3 * k + order)}
    return robot, names, values


def floats(robot, quantity, values, **options):
    """On plain floats."""
    found = evaluate(recipe(robot, quantity, **options), values)
    return found[0] if len(found) == 1 else found


def compiled(robot, quantity, values, **options):
    kernel = robot.compile(quantity, **options)
    return kernel(*(values[operand.name] for operand in kernel.inputs))


def rotation(robot, values, name):
    return floats(robot, "link_poses", values, frame=name)[:3, :3]


def rotated(robot, values, names):
    """Loads as wrenches in the axes of their frames."""
    found = {}
    for name in names:
        force, moment = values[f"load_{name}"].reshape(2, 3) @ rotation(robot, values, name)
        found[f"wrench_{name}"] = np.concatenate([force, moment])
    return found


def agree(found, expected, tolerance=EXACT):
    """One output or several, each on the scale of its largest number."""
    found, expected = (x if isinstance(x, list | tuple) else [x] for x in (found, expected))
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        close(a, b, tolerance, what=f"output {k}")


def path(robot, values, names, seed):
    """t -> what a kernel may ask for, along polynomials through the state of ``values``, loads changing too."""

    def curve(*start):
        rest = np.random.default_rng(seed).uniform(-1, 1, (6 - len(start), len(start[0])))
        pieces = [np.polynomial.Polynomial(c) for c in np.vstack([*start, *rest]).T]
        return lambda t, order: np.array([piece.deriv(order)(t) if order else piece(t) for piece in pieces])

    motion = curve(values["q"], values["qd"])
    pulls = {name: curve(values[f"load_{name}"], values[f"load_{name}_rate"]) for name in names}

    def at(t):
        found = {name: motion(t, k) for k, name in enumerate(("q", "qd", "qdd", "qddd", "qdddd"))}
        return found | {f"load_{n}{s}": pull(t, k) for n, pull in pulls.items() for k, s in enumerate(RATES)}

    return at
