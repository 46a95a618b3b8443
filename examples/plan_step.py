"""One step of a planar biped with the least effort: on one foot, then on both, mirrored in the next step.

    python examples/plan_step.py         # prints what came out, writes plan_step.png and plan_step.html

Nothing drives the base: what pushes it comes from the ground. In double support the forces of the two feet are found,
too: the front foot brakes while the rear one pushes. The plan is put to the test by a simulation without feedback, in
which the motors' torques and the ground's forces act as functions of time alone.
"""

from __future__ import annotations

import numpy as np

from neuler import Joint, Limits, Link, Robot, Transform, plan

HEEL, TOE = (-0.06, 0.0, -0.05), (0.14, 0.0, -0.05)
"""Points of a sole, m, in the axes of a foot, whose origin is the ankle."""
LENGTH, SINGLE, DOUBLE = 0.35, 0.45, 0.15
"""Of a step (m), and durations of its two phases (s)."""
SIDES = ("right", "left")


def rod(name: str, mass: float) -> Link:
    """A thigh or shank, 0.45 m long, hanging down."""
    inertia = mass * 0.45**2 / 12.0
    return Link.from_com(name, mass=mass, com=(0.0, 0.0, -0.225), inertia=(inertia, inertia, 0.01))


def robot() -> Robot:
    """Seven links: trunk, thighs, shanks, feet; the base moves in the plane y = 0, and no motor drives it."""
    links = [Link.from_com(name, mass=0.0) for name in ("ground", "slider_x", "slider_z")]
    links.append(Link.from_com("trunk", mass=40.0, com=(0.0, 0.0, 0.3), inertia=(2.0, 2.0, 0.5)))
    joints = [
        Joint("x", "prismatic", "ground", "slider_x", axis=(1, 0, 0), role="passive"),
        Joint("z", "prismatic", "slider_x", "slider_z", axis=(0, 0, 1), role="passive"),
        Joint("pitch", "revolute", "slider_z", "trunk", axis=(0, 1, 0), role="passive"),
    ]
    below = Transform(translation=(0.0, 0.0, -0.45))
    for side in SIDES:
        links += [rod(f"{side}_thigh", 8.0), rod(f"{side}_shank", 4.0)]
        links.append(Link.from_com(f"{side}_foot", mass=1.2, com=(0.04, 0.0, -0.03), inertia=(2e-3, 5e-3, 5e-3)))
        for name, parent, child, seat, least, most in (
            ("hip", "trunk", "thigh", Transform(), -1.5, 1.5),
            ("knee", f"{side}_thigh", "shank", below, 0.0, 2.4),
            ("ankle", f"{side}_shank", "foot", below, -1.0, 1.0),
        ):
            limits = Limits(least, most)
            drive = {"limits": limits, "rotor_inertia": 0.6}  # kg m^2 behind the gear
            joints.append(Joint(f"{side}_{name}", "revolute", parent, f"{side}_{child}", seat, (0, 1, 0), **drive))
    return Robot("biped", links, joints).with_gravity((0.0, 0.0, -9.81))


def sole(side: str) -> plan.Contact:
    """A foot on the ground."""
    return plan.Contact(f"{side}_foot", [HEEL, TOE], friction=0.8, name=side)


def task(machine: Robot, split: str = "free") -> plan.Plan:
    """The step; ``split``: how the feet share the ground's force in double support."""
    floor = plan.HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    swing = plan.clear_of([plan.Ball("left_foot", 1e-6, HEEL), plan.Ball("left_foot", 1e-6, TOE)], [floor]).measure
    above = [plan.limit(swing, -1e-3), plan.limit(swing, 0.02, when=(0.4, 0.6))]
    relations = [*plan.repeats("x", shift=LENGTH, order=1), *plan.repeats("z", "pitch", order=1)]
    for joint in ("hip", "knee", "ankle"):
        relations += plan.exchanges(f"right_{joint}", f"left_{joint}", order=1)
    return plan.Plan(
        machine,
        1e-3 * plan.effort(),
        start=plan.Boundary(q={"x": 0.0}, qd=None),
        phases=[
            plan.Phase(SINGLE, 12, above, contacts=[sole("right")], name="single"),
            plan.Phase(DOUBLE, 8, contacts=[sole("right"), sole("left")], name="double"),
        ],
        relations=relations,
        split=split,
        grid=3,
    )


def picture(machine: Robot, found: plan.Planned, path: str) -> None:
    """The step as sticks, and what the ground exerts on each foot."""
    import matplotlib.pyplot as plt

    figure, (sticks, forces) = plt.subplots(2, 1, figsize=(7.0, 7.5), height_ratios=(3, 2), layout="constrained")
    times = np.linspace(0.0, found.duration, 9)
    names = ["trunk", *(f"{side}_{part}" for side in SIDES for part in ("thigh", "shank", "foot"))]
    for k, q in enumerate(found.at(times).q):
        poses = {name: np.asarray(machine.compile("link_poses", frame=name)(q)) for name in names}
        at = {name: pose[[0, 2], 3] for name, pose in poses.items()}
        head = (poses["trunk"] @ [0.0, 0.0, 0.6, 1.0])[[0, 2]]
        shade = 0.25 + 0.75 * k / (len(times) - 1)
        sticks.plot(*np.transpose([head, at["trunk"]]), color="black", alpha=shade)
        for side, color in zip(SIDES, ("tab:blue", "tab:red"), strict=True):
            heel, toe = ((poses[f"{side}_foot"] @ [*point, 1.0])[[0, 2]] for point in (HEEL, TOE))
            leg = [at["trunk"], at[f"{side}_shank"], at[f"{side}_foot"], heel, toe, at[f"{side}_foot"]]
            sticks.plot(*np.transpose(leg), color=color, alpha=shade)
    sticks.axhline(0.0, color="gray")
    sticks.set(aspect="equal", xlabel="x (m)", ylabel="z (m)")
    t = np.linspace(0.0, found.duration, 601)
    for side, color in zip(SIDES, ("tab:blue", "tab:red"), strict=True):
        load = found.contact_loads(t)[f"{side}_foot"]
        forces.plot(t, load[:, 2], color=color, label=f"{side}, upwards")
        forces.plot(t, load[:, 0], color=color, linestyle="--", label=f"{side}, forwards")
    forces.set(xlabel="t (s)", ylabel="force of the ground (N)")
    forces.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Words, picture, page."""
    machine = robot()
    found = task(machine).solve()
    print(found)
    parallel = task(machine, "line").solve()
    print(f"with parallel forces of both feet: {parallel.objective:.4g} instead of {found.objective:.4g}")
    t = np.linspace(0.0, found.duration, 2001)
    print(f"largest force on the base that no motor and no foot gives: {np.abs(found.torques(t)[:, :3]).max():.1e} N")
    run = found.replay(step=2e-5)
    print(f"replay without feedback: {np.abs(run.error[-1]).max():.1e} (rad, m) from the plan at the end of the step")
    picture(machine, found, "plan_step.png")
    found.page("plan_step.html", title="One step of a biped")
    print("written: plan_step.png, plan_step.html")


if __name__ == "__main__":
    main()
