"""What can be installed beside the core: the packages of every extra, and the command that installs them."""

from __future__ import annotations

import importlib.util

PACKAGES = {
    "control": ("scipy",),
    "view": ("matplotlib", "tqdm"),
    "simulate": ("scipy",),
    "plan": ("scipy", "casadi", "tqdm"),
    "identify": ("scipy", "clarabel"),
    "xacro": ("xacrodoc",),
    "symbols": ("sympy",),
    "casadi": ("casadi",),
    "jax": ("jax",),
    "torch": ("torch",),
    "fmu": ("ziglang",),
    "mjcf": ("mujoco",),
    "uno": ("unopy",),
    "scale": ("pyarrow", "cloudpickle", "scipy", "tqdm"),
    "cluster": ("dask", "distributed"),
    "ray": ("ray",),
    "peers": ("pin", "mujoco", "example-robot-data"),
}
"""As pyproject.toml lists them."""


def install(extra: str) -> str:
    """The command that installs the packages of an extra, wherever neuler itself came from.

    >>> install("view")
    'pip install matplotlib tqdm'
    """
    return f"pip install {' '.join(PACKAGES[extra])}"


def require(package: str, why: str, extra: str) -> None:
    """Refuse to go on without a package: ``why`` it is needed, and the command that installs it."""
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{why}: {install(extra)}")
