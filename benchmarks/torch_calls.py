"""Inverse dynamics from PyTorch beside the same kernel from NumPy: one call, batches, forward and backward passes.

    python benchmarks/torch_calls.py [--robot UR5]

One thread. The matrices that derivatives are compared with are our own sensitivities, a compiled kernel as well: a
forward pass keeps nothing, the backward pass computes three matrices and multiplies them. The least time of some
repeats counts, all ways take turns, and gradients are compared.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import neuler
import neuler.torch
from neuler import Robot

BATCH, ROUNDS = 4096, 200
Calls = Mapping[str, Callable[[], object]]


def least(calls: Calls, number: int) -> dict[str, float]:
    """Seconds of one call of each, the least of all rounds."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name] = min(found[name], timeit.timeit(call, number=number) / number)
    return found


def by_matrices(robot: Robot) -> Callable[..., Any]:
    """Inverse dynamics whose backward pass multiplies the sensitivities."""
    import torch

    class Torque(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, qd: Any, qdd: Any) -> Any:
            ctx.save_for_backward(q, qd, qdd)
            return torch.from_numpy(robot.inverse_dynamics(q.numpy(), qd.numpy(), qdd.numpy()))

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:
            matrices = robot.inverse_dynamics_sensitivities(*(x.detach().numpy() for x in ctx.saved_tensors))
            return tuple(torch.einsum("...i,...ij->...j", weights, torch.from_numpy(x)) for x in matrices)

    return Torque.apply


def gradient(f: Callable[..., Any], given: list[Any]) -> Callable[[], Any]:
    """The forward and the backward pass of the sum of squared torques."""
    import torch

    def call() -> Any:
        tau = f(*given)
        return torch.autograd.grad((tau * tau).sum(), given)

    return call


def report(name: str, robot: Robot) -> list[str]:
    """The section of RESULTS.md."""
    import torch

    torch.set_num_threads(1)
    robot = robot.without_friction().without_motors()
    kernel = robot.inverse_dynamics
    operator, function = neuler.torch.wrap(kernel), neuler.torch.wrap(kernel, functional=True)
    matrices, product = by_matrices(robot), neuler.function(kernel).vjp()
    lines = [
        f"## PyTorch {torch.__version__}, {name}, inverse dynamics, one thread",
        "",
        "| | one state, us | batch of 4,096, ns a state |",
        "|---|---|---|",
    ]
    table: dict[str, list[float]] = {}
    for batch, number, unit in (((), 10, 1e6), ((BATCH,), 1, 1e9 / BATCH)):
        plain = [torch.rand(*batch, robot.nv, dtype=torch.float64) for _ in range(3)]
        arrays = [x.numpy() for x in plain]
        given = [x.clone().requires_grad_() for x in plain]
        weights = kernel(*arrays)

        def transformed(plain: list[Any] = plain) -> Any:
            return torch.func.grad(lambda *a: operator(*a).square().sum(), argnums=(0, 1, 2))(*plain)

        def tangents(plain: list[Any] = plain) -> Any:
            return torch.func.jvp(operator, tuple(plain), tuple(plain))

        passes = {
            "forward and backward, operator": gradient(operator, given),
            "forward and backward, functional=True": gradient(function, given),
            "forward and backward, by matrices": gradient(matrices, given),
        }
        first, *others = (call() for call in passes.values())
        for other in others:
            for x, y in zip(first, other, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
        calls: Calls = {
            "NumPy": lambda arrays=arrays: kernel(*arrays),
            "operator": lambda plain=plain: operator(*plain),
            "functional=True": lambda plain=plain: function(*plain),
            **passes,
            "NumPy: kernel, vjp kernel": lambda arrays=arrays, w=weights: (kernel(*arrays), product(*arrays, w)),
            "torch.func.grad, operator": transformed,
            "torch.func.jvp, operator": tangents,
        }
        for call in calls.values():
            call()
        for label, seconds in least(calls, number).items():
            table.setdefault(label, []).append(unit * seconds)
    lines += [f"| {label} | {one:.1f} | {many:.1f} |" for label, (one, many) in table.items()]
    return [*lines, ""]


def main() -> None:
    """The table."""
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="UR5")
    name = parser.parse_args().robot
    print("\n".join(report(name, run.robot_of(name))))


if __name__ == "__main__":
    main()
