"""What the documentation says runs: docstrings, README, the conventions, the list of public names."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler.quantities.catalogue import QUANTITIES
from random_robots import later

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    info.name
    for info in pkgutil.walk_packages(neuler.__path__, "neuler.")
    if not info.name.endswith("__main__")
]  # fmt: skip

PAGES = [
    f"docs/{path.name}"
    for path in sorted((ROOT / "docs").glob("*.md"))
    if "```python\n" in path.read_text() and path.name != "quantities.md"
]  # fmt: skip
"""Pages with code that runs from top to bottom; the page of quantities repeats the examples of declarations, and the
blocks of the README run in tests/test_readme.py."""
LATER = (
    "docs/studies.md", "docs/contact.md", "docs/stride.md", "docs/identify-command.md", "docs/identify-excitation.md",
    "docs/planning.md", "docs/rollouts.md", "docs/gait.md", "docs/motions.md", "docs/simulation.md",
    "docs/measured-motion.md",
)  # fmt: skip
"""Pages whose subject has tests of its own, and that take long."""
NEEDED = {"docs/export-jax.md": "jax", "docs/export-torch.md": "torch"}
"""Packages that pages need and the everyday tests do not have: their blocks run with ``make test-exports``."""


@pytest.mark.parametrize("name", later(MODULES, "neuler.gait.prediction"))
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("name", QUANTITIES)
def test_examples_of_quantities(name):
    """They stand in declarations, where doctest does not look; every quantity has one, and none gives NaN."""
    text = QUANTITIES[name].text
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert parsed.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runner.run(parsed)
    assert runner.failures == 0


@pytest.mark.parametrize("page", later([page for page in PAGES if page not in NEEDED], *LATER))
def test_examples_on_pages(tmp_path, monkeypatch, page):
    run_blocks(page, tmp_path, monkeypatch)


@pytest.mark.exports
@pytest.mark.parametrize("page", NEEDED)
def test_examples_on_pages_that_need_more(tmp_path, monkeypatch, page):
    pytest.importorskip(NEEDED[page])
    assert page in PAGES
    run_blocks(page, tmp_path, monkeypatch)


def run_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)


def test_the_page_of_machines_says_what_is_so():
    """Every machine of the catalogue has a picture that is not heavy, a report command and the right numbers."""
    text = (ROOT / "docs" / "machines.md").read_text()
    machines = [name for name in neuler.robots.names() if neuler.robots.get(name).loops]
    for name in (*machines, "eel"):
        assert f"\n## {name}\n\n![{name} at two positions](images/{name}.png)\n" in text
        assert f"neuler report {name} -o {name}.html" in text
        assert 1_000 < (ROOT / "docs" / "images" / f"{name}.png").stat().st_size < 60_000
    rows = re.findall(r"\n\| \[(\w+)\]\(#\1\) \| [^|]+ \| (\d+) \| (\d+) \| (\d+), (\d+) \|", text)
    assert [row[0] for row in rows] == [name for name in re.findall(r"\n## (\w+)\n", text) if name in machines]
    for name, *numbers in rows:
        machine = neuler.robots.get(name)
        facts = machine.mobility
        found = (facts.freedoms, len(machine.active_names), facts.constraints, facts.constraints - facts.rank)
        assert tuple(map(int, numbers)) == found, name


def test_public_names():
    assert set(neuler.__all__) == {
        "CompileError", "Coulomb", "Coupling", "FormatError", "Frame", "Friction", "Function", "InputError", "Joint",
        "Kernel", "Leg", "Limits", "Link", "LoadDependent", "Loop", "Motor", "NeulerError", "Plan", "Polynomial",
        "Robot", "RobotError", "Spline", "Stribeck", "Transform", "control", "from_dh", "function", "layouts", "load",
        "math", "parallel_robot", "plan", "robots", "save", "simulate", "stack", "studies", "study", "threads",
    }  # fmt: skip
    for name in neuler.__all__:
        assert getattr(neuler, name).__doc__, f"{name} has no docstring"


def test_the_citation_has_the_version():
    assert f"\nversion: {neuler.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_test_that_the_errata_name_exists():
    text = (ROOT / "docs" / "errata.md").read_text()
    for file, function in re.findall(r"`(test_\w+\.py)::(\w+)`", text):
        assert f"def {function}(" in (ROOT / "tests" / file).read_text()


def test_files_that_the_equation_map_names_exist():
    text = (ROOT / "docs" / "equations.md").read_text()
    rooms = (
        "algebra|compiler|control|diagnose|formats|motions|optimize|passes|plan|quantities|recursions|robot|solve|structure|"
        "timing|trace"
    )
    found = re.findall(rf"`((?:{rooms})/[\w/]+\.py)(?:: ([\w, ]+))?`", text)
    assert len(found) > 30
    for file, names in found:
        source = (ROOT / "src" / "neuler" / file).read_text()
        for name in filter(None, (part.strip() for part in names.split(","))):
            assert re.search(rf"(?:def|class) {name}\b|^{name}\b", source, re.MULTILINE), f"{file}: {name}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md"])
def test_rooms_and_files_that_pages_name_exist(page):
    source = ROOT / "src" / "neuler"
    found = set(re.findall(r"`((?:[a-z_]+/)*(?:[a-z_]+\.py|[a-z_]+/))`", (ROOT / page).read_text()))
    assert len(found) > 10
    for name in found:
        places = [source / name, ROOT / name, *(room / name for room in source.iterdir() if room.is_dir())]
        assert any(place.exists() for place in places), f"{page}: {name}"


def test_every_room_is_on_the_page_of_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text()
    drawn = text.partition("## The rooms")[2].partition("```\n")[2].partition("```")[0]
    rooms = {
        path.name + "/" * path.is_dir() for path in (ROOT / "src" / "neuler").iterdir() if path.suffix in (".py", "")
    }
    hidden = {"__init__.py", "__main__.py", "__pycache__/", "version.py"}
    assert {name for name in rooms - hidden if name not in drawn} == set()


def test_words_of_the_glossary_are_in_order():
    words = re.findall(r"^\| ([a-z][\w, -]*?) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
    assert len(words) > 50
    assert words == sorted(words, key=str.lower)


def test_conventions_of_screws_and_wrenches():
    """A bar turning about the base's z, tip frame turned by a quarter: every sign on the conventions page."""
    bar = neuler.Robot(
        "bar",
        [neuler.Link("base"), neuler.Link.from_com("bar", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
        [neuler.Joint("hinge", "revolute", "base", "bar", axis=(0, 0, 1))],
        frames=[neuler.Frame("tip", "bar", neuler.Transform.from_rpy((1.0, 0, 0), (0, 0, np.pi / 2)))],
    )
    tip = bar.compile("link_velocities", frame="tip")([0.7], [3.0])
    np.testing.assert_allclose(tip, [3.0, 0, 0, 0, 0, 3.0], atol=1e-15)  # (linear; angular) in the frame's own axes
    world = bar.compile("jacobian", frame="tip", reference="world")([0.0])[:, 0]
    np.testing.assert_allclose(world, [0, 1.0, 0, 0, 0, 1.0], atol=1e-15)
    pose = bar.compile("link_poses", frame="tip")([np.pi / 2])
    np.testing.assert_allclose(pose[:3, 3], [0, 1, 0], atol=1e-15)
    reaction = bar.reaction_wrenches([0.0], [3.0], [0.0])
    np.testing.assert_allclose(reaction[1], [-9.0, 0, 2 * 9.81, 0, -9.81, 0], atol=1e-12)  # on the bar, at the hinge
    np.testing.assert_allclose(reaction[0], reaction[1], atol=1e-12)  # the ground on the base
    kinetic, potential = bar.energy([0.3], [3.0])
    assert kinetic == pytest.approx(0.5 * (0.1 + 2.0 * 0.25) * 9.0)
    assert potential == 0.0
    np.testing.assert_allclose(bar.momentum([0.0], [3.0]), [0, 3.0, 0, 0, 0, 1.8], atol=1e-14)
