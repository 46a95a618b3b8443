"""An arm as a Functional Mock-up Unit, simulated by FMPy: co-simulation and model exchange beside a rollout of neuler.

Needs FMPy (pip install fmpy) and a C compiler (the system's, or pip install ziglang).
"""

import tempfile
from pathlib import Path

import numpy as np

import neuler

arm = neuler.load(Path(__file__).with_name("arm.urdf")).without_friction()
dt, duration = 1e-3, 1.0
q0 = np.linspace(0.3, -0.3, arm.nq)
tau = arm.gravity_force(q0)  # held: enough for the arm, not for what its hand is given
load = f"payload:{arm.tip}.mass"


def main():
    """Write, simulate, compare."""
    try:
        import fmpy
    except ImportError:
        print("FMPy is missing: pip install fmpy")
        return
    try:
        unit = arm.fmu(dt, frames=arm.tip, parameters=load, q0=q0)
    except neuler.CompileError as error:
        print(error)
        return
    print(unit)
    with tempfile.TemporaryDirectory() as folder:
        path = str(unit.save(folder))
        names = [variable.name for variable in fmpy.read_model_description(path).modelVariables]
        forces = dict(zip([name for name in names if name.startswith("tau.")], tau, strict=True))
        mass = next(name for name in names if name.startswith("parameter."))
        positions = [name for name in names if name.startswith("q.")]
        found = {}
        for kind in ("CoSimulation", "ModelExchange"):
            run = fmpy.simulate_fmu(
                path, fmi_type=kind, stop_time=duration, output_interval=10 * dt, relative_tolerance=1e-8,
                start_values={**forces, mass: 1.5}, output=[*positions, f"pose.{arm.tip}.z"],
            )  # fmt: skip
            found[kind] = np.array([run[name] for name in positions]).T[1:]
            print(
                f"{kind}: the tip goes from {run[f'pose.{arm.tip}.z'][0]:.4f} m to {run[f'pose.{arm.tip}.z'][-1]:.4f} m"
            )
    wanted = arm.rollout(q0, np.zeros(arm.nv), tau, dt, round(duration / dt), every=10, parameters={load: 1.5})
    for kind, q in found.items():
        print(f"{kind}: {np.abs(q - wanted.q).max():.1e} rad from the rollout")


if __name__ == "__main__":
    main()
