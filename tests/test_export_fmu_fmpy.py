"""Functional Mock-up Units through FMPy, and libraries for other platforms."""

import re
import runpy
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import neuler
from fmu_robots import DT, ELASTIC, between, free_arm, hostile, standing_arm
from neuler.export.fmu.binaries import this_platform
from shown_robots import all_kinds, geared, under_actuated


def fmpy_run(path, kind, robot, tau, stop, h, **more):
    """q and qd after every communication step, as FMPy has them."""
    fmpy = pytest.importorskip("fmpy")
    names = [x.name for x in fmpy.read_model_description(str(path)).modelVariables]
    forces = dict(zip([x for x in names if x.startswith("tau.")], tau, strict=True))
    wanted = [x for x in names if x.startswith(("q.", "qd."))]
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=stop, output_interval=h, output=wanted,
        start_values={**forces, **more.pop("starts", {})}, **more,
    )  # fmt: skip
    rows = np.array([found[name] for name in wanted]).T[1:]
    return rows[:, : robot.nq], rows[:, robot.nq :]


def machines():
    puma = neuler.robots.puma560()
    elastic = standing_arm().replace(motors=[ELASTIC])
    return {
        "an arm": (standing_arm(), {"frames": "tool", "parameters": ("gravity", "links")}),
        "dry friction": (puma, {"frames": "link6"}),
        "smooth friction": (puma.with_smooth_friction(1e-2), {"method": "implicit"}),
        "a free base": (free_arm(), {"external": "link2"}),
        "loops": (neuler.robots.four_bar(), {}),
        "a platform": (neuler.robots.gough_stewart(), {"frames": neuler.robots.gough_stewart().links[-1].name}),
        "an elastic drive": (elastic, {"method": "implicit", "parameters": "m.stiffness"}),
        "every kind of joint": (all_kinds(), {"frames": "f"}),
        "couplings": (geared(), {}),
        "a loop with too few motors": (under_actuated(), {}),
        "stops": (between(0.05), {"limits": "hold", "method": "euler"}),
    }  # fmt: skip


@pytest.mark.exports
@pytest.mark.parametrize("name", machines())
def test_through_fmpy(name, tmp_path):
    """No message of its checks; co-simulation is the rollout, CVode comes near it."""
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot, options = machines()[name]
    rng = np.random.default_rng(4)
    q = robot.neutral() if robot.loops else robot.random_configuration(rng)
    qd, tau = 0.1 * rng.normal(size=robot.nv), 0.3 * rng.normal(size=robot.nu)
    unit = robot.fmu(DT, q0=q, qd0=qd, **options)
    path = unit.save(tmp_path)
    assert validate_fmu(str(path)) == []
    assert set(fmpy.supported_platforms(str(path))) == {this_platform(), "c-code"}
    own = {key: x for key, x in options.items() if key in ("method", "limits")}
    wanted = robot.rollout(q, qd, tau, DT, steps=200, every=10, **own)
    assert wanted.status == 0
    assert name != "stops" or (wanted.qd[-1] == 0).any()
    found = fmpy_run(path, "CoSimulation", robot, tau, 0.2, 10 * DT)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], wanted.qd, rtol=0, atol=1e-11)
    smooth = name not in ("dry friction", "loops", "a loop with too few motors", "a platform", "stops")
    assert ("<ModelExchange" in unit.description) == smooth
    if smooth:
        exact = robot.rollout(q, qd, tau, DT / 20, steps=4000, every=200)
        found = fmpy_run(path, "ModelExchange", robot, tau, 0.2, 10 * DT, solver="CVode", relative_tolerance=1e-10)
        np.testing.assert_allclose(found[0], exact.q, rtol=0, atol=1e-6)


@pytest.mark.exports
def test_parameters_through_fmpy(tmp_path):
    pytest.importorskip("fmpy")
    robot = standing_arm()
    path = robot.fmu(DT, parameters=("link2.mass", "joint1.viscous")).save(tmp_path)
    starts = {"parameter.link2.mass": 1.7, "parameter.joint1.viscous": 0.4, "q.joint1": 0.3}
    found = fmpy_run(path, "CoSimulation", robot, [0.1, 0.2], 0.2, DT, starts=starts)
    changed = {"link2.mass": 1.7, "joint1.viscous": 0.4}
    wanted = robot.rollout([0.3, 0.0], [0, 0], [0.1, 0.2], DT, steps=200, parameters=changed)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.exports
def test_hostile_names_through_fmpy(tmp_path):
    pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot = hostile()
    path = robot.fmu(DT, frames=robot.links[2].name).save(tmp_path)
    assert validate_fmu(str(path)) == []
    wanted = robot.rollout(np.zeros(4), np.zeros(4), np.ones(4), DT, steps=100, every=10)
    found = fmpy_run(path, "CoSimulation", robot, np.ones(4), 0.1, 10 * DT)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.exports
def test_sources_that_an_importer_compiles(tmp_path):
    """A unit without a library: FMPy builds it with CMake."""
    fmpy = pytest.importorskip("fmpy")
    build = pytest.importorskip("fmpy.build")
    if shutil.which("cmake") is None:
        pytest.skip("there is no CMake")
    robot = standing_arm()
    path = robot.fmu(DT, q0=[0.3, 0.2], platforms=()).save(tmp_path)
    assert fmpy.supported_platforms(str(path)) == ["c-code"]
    folder = tmp_path / "unit"
    fmpy.extract(str(path), unzipdir=str(folder))
    (tmp_path / "build").mkdir()
    build.build_platform_binary(folder, tmp_path / "build", cmake_options={"CMAKE_C_STANDARD": "99"})
    found = fmpy_run(folder, "CoSimulation", robot, [0.5, 0.0], 0.1, DT)
    wanted = robot.rollout([0.3, 0.2], [0, 0], [0.5, 0.0], DT, steps=100)
    np.testing.assert_allclose(found[0], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.exports
def test_libraries_for_other_platforms():
    """Built, not run: what they are, by their first bytes, and the functions that they export by name."""
    pytest.importorskip("ziglang")
    unit = standing_arm().fmu(DT, platforms=("linux64", "darwin64", "win64"))
    ends = {path.split("/")[1]: data for path, data in unit.binaries.items()}
    assert list(unit.binaries) == [
        f"binaries/{x}/two_link.{end}" for x, end in (("linux64", "so"), ("darwin64", "dylib"), ("win64", "dll"))
    ]
    assert ends["linux64"][:5] == b"\x7fELF\x02"
    assert ends["win64"][:2] == b"MZ"
    magic, count = struct.unpack_from(">II", ends["darwin64"])
    assert (magic, count) == (0xCAFEBABE, 2)
    processors = set()
    for k in range(count):
        processor, _, at, size, _ = struct.unpack_from(">IIIII", ends["darwin64"], 8 + 20 * k)
        processors.add(processor)
        assert ends["darwin64"][at : at + 4] == b"\xcf\xfa\xed\xfe"
        assert at % 2**14 == 0
        assert at + size <= len(ends["darwin64"])
    assert processors == {0x01000007, 0x0100000C}  # x86-64 and ARM64
    for data in ends.values():
        assert b"fmi2DoStep\0" in data
        assert b"fmi2GetDirectionalDerivative\0" in data
        assert b"neuler-fmu-" not in data  # no path of this machine


@pytest.mark.exports
def test_the_example(capsys):
    pytest.importorskip("fmpy")
    example = Path(__file__).parent.parent / "examples" / "fmu_arm.py"
    runpy.run_path(str(example), run_name="__main__")
    said = re.findall(r"(\w+): (\S+) rad from the rollout", capsys.readouterr().out)
    assert [kind for kind, _ in said] == ["CoSimulation", "ModelExchange"]
    assert float(said[0][1]) < 1e-12
    assert float(said[1][1]) < 1e-4
