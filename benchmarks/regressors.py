"""The regressor of joint forces beside Pinocchio's, one core, batch of 4,096."""

from __future__ import annotations

import functools

import numpy as np

from neuler import Kernel, Robot, bench

BATCH, ROUNDS = 4096, 4


def report(robots: dict[str, Robot]) -> list[str]:
    """A row a robot and form: dense, structural non-zeros, base columns."""
    import pinocchio as pin

    from neuler.peers import peer

    lines = [
        "## Regressors of joint forces beside Pinocchio, one core, batch of 4,096",
        "",
        "Ten columns a link, as computeJointTorqueRegressor has them, which is called from Python for one state after",
        "another; what such a call costs for a robot of one joint is not taken off.",
        "",
        "| robot, joints | form | columns | mul/add | compile, s | ns per state | Pinocchio | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, given in robots.items():
        robot = given.without_friction().without_motors()
        other = peer("pinocchio", robot)
        model = other.model
        data = model.createData()
        states = bench.random_states(robot, ("q", "qd", "qdd"), BATCH)
        q = np.tile(pin.neutral(model), (256, 1))
        v, a = np.random.default_rng(0).normal(size=(2, 256, model.nv))

        def theirs(model=model, data=data, q=q, v=v, a=a) -> None:
            for row in zip(q, v, a, strict=True):
                pin.computeJointTorqueRegressor(model, data, *row)

        moving = tuple(joint.child for joint in robot.joints if joint.moves)
        base = robot.base_parameters(moving)
        forms = {
            "dense": {"columns": moving},
            "non-zeros": {"columns": moving, "sparse": True},
            "base columns": {"columns": base.names},
            "base, non-zeros": {"columns": base.names, "sparse": True},
        }
        peer_ns = 1e9 * min(bench.best_seconds(theirs, repeats=3) for _ in range(ROUNDS)) / 256
        for form, options in forms.items():
            kernel = Kernel(robot, "regressor", **options)
            kernel.threads = 1
            out = np.empty((BATCH, *kernel.outputs[0].shape))
            call = functools.partial(kernel, *states.values(), out=out)
            ours = 1e9 * min(bench.best_seconds(call, repeats=5) for _ in range(ROUNDS)) / BATCH
            counts = kernel.operations
            lines.append(
                f"| {name}, {robot.nv} | {form} | {len(kernel.column_names)} | {counts.mul}/{counts.add} "
                f"| {kernel.compile_seconds:.1f} | {ours:.0f} | {peer_ns:.0f} | {peer_ns / ours:.1f} |"
            )
    return [*lines, ""]
