"""Gains of a controller tuned by gradients: jax.grad through a lax.scan with compiled dynamics inside.

    pip install jax
    python examples/jax_gain.py [--iterations 60]

An arm of two links follows sines under computed torque. The controller knows the bare arm and measures angles with
noise; the arm that is simulated carries 0 to 3 kg at its tip. What is minimised is the mean square of the tracking
error plus a little of that of the torque's changes, over all payloads at once: stiff gains track better, and answer the
noise.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import neuler
import neuler.jax

jax.config.update("jax_enable_x64", True)

ARM = neuler.robots.two_link()
TIP = 0.3
"""From joint 2 to the payload, m."""
MOVED = ("link2.mass", "link2.mx", "link2.zz")
"""What a payload changes: mass, first moment, inertia about the joint."""
DT, STEPS = 0.01, 200
NOISE = 1e-3 * np.random.default_rng(0).standard_normal((STEPS, 2))
"""Of the measured angles, rad."""
PAYLOADS = np.linspace(0.0, 3.0, 7)
EFFORT = 3e-6
"""Weight of (Nm)^2 beside rad^2."""

kernel = ARM.compile("forward_dynamics", parameters=MOVED)
forward = neuler.jax.wrap(kernel, mode="reverse")
inverse = neuler.jax.wrap(ARM.inverse_dynamics, mode="reverse")


def wanted(t):
    """Angles of both joints, their rates and accelerations."""
    phase = 2.0 * t + jnp.array([0.0, 1.0])
    return jnp.sin(phase), 2.0 * jnp.cos(phase), -4.0 * jnp.sin(phase)


def run(log_gains, mass):
    """Squares of tracking errors (rad^2) and of changes of torques (Nm^2), means over one run with one payload."""
    stiffness, damping = jnp.exp(log_gains)
    parameters = kernel.parameter_values + mass * jnp.array([1.0, TIP, TIP**2])

    def step(state, now):
        q, qd, before = state
        k, noise = now
        x, xd, xdd = wanted(k * DT)
        measured = q + noise
        tau = inverse(measured, qd, xdd + stiffness * (x - measured) + damping * (xd - qd))
        qd = qd + DT * forward(q, qd, tau, parameters)
        return (q + DT * qd, qd, tau), ((q - x) ** 2, (tau - before) ** 2)

    x, xd, xdd = wanted(0.0)
    start = x, xd, inverse(x, xd, xdd)
    _, (errors, changes) = jax.lax.scan(step, start, (jnp.arange(STEPS), NOISE))
    return errors.mean(), changes.mean()


def objective(log_gains):
    """The mean over all payloads, and the root of the mean square tracking error, rad."""
    errors, changes = jax.vmap(run, in_axes=(None, 0))(log_gains, PAYLOADS)
    return errors.mean() + EFFORT * changes.mean(), jnp.sqrt(errors.mean())


def tuned(log_gains, iterations: int, rate: float = 0.1):
    """Adam, from some gains: the best ones, and objectives on the way."""
    step = jax.jit(jax.value_and_grad(objective, has_aux=True))
    first, second, history = 0.0, 0.0, []
    best = np.inf, log_gains
    for k in range(1, iterations + 1):
        (value, _), slope = step(log_gains)
        history.append(float(value))
        best = min(best, (float(value), log_gains), key=lambda pair: pair[0])
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        log_gains = log_gains - rate * (first / (1 - 0.9**k)) / (jnp.sqrt(second / (1 - 0.99**k)) + 1e-12)
    return best[1], history


def main() -> None:
    """Tune, and say what it brought."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60)
    iterations = parser.parse_args().iterations
    start = jnp.log(jnp.full((2, 2), jnp.array([[20.0], [4.0]])))
    began = time.perf_counter()
    found, history = tuned(start, iterations)
    seconds = time.perf_counter() - began
    for name, gains in (("before", start), ("after", found)):
        value, error = objective(gains)
        stiffness, damping = np.exp(gains)
        print(
            f"{name:7} objective {value:.3g}, tracking error {1e3 * error:.2f} mrad; "
            f"stiffness {np.round(stiffness, 1)} 1/s^2, damping {np.round(damping, 1)} 1/s"
        )
    print(f"{iterations} gradients of {len(PAYLOADS)} runs of {STEPS} steps in {seconds:.1f} s")
    print(f"improvement: {history[0] / min(history):.1f} times")


if __name__ == "__main__":
    main()
