"""What a new user reads first: the README, the guide to the pages, how to install, the changelog."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import neuler
from neuler.extras import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def named(requirement):
    """The package of a requirement."""
    return re.match(r"[\w.-]+", requirement).group()


# ---- the first screen -------------------------------------------------------------------------------------------


def test_the_first_screen():
    """One sentence, one picture, ten lines of code, a table of three rows, how to install, two commands."""
    parts = re.match(
        r"# neuler\n\n\*\*[^*]+\.\*\*\n\n!\[[^]]+\]\((docs/images/\w+\.png)\)\n\n```python\n(.*?)```\n\n(\|.*?)\n\n"
        r"## Install\n(.*?)\n## ",
        README,
        re.DOTALL,
    )
    picture, code, table, install = parts.groups()
    assert (ROOT / picture).stat().st_size < 80_000
    assert len([line for line in code.splitlines() if line]) <= 10
    assert len(table.splitlines()) == 2 + 3
    for command in ("pip install .\x20", "make demo", "make test"):
        assert command in install
    assert README.index("## Install") < README.index("## How fast it is")


def test_what_it_links_to():
    for page in ("docs/quantities.md", "docs/conventions.md", "docs/README.md", "examples/from_pinocchio.py"):
        assert f"]({page})" in README
    assert "**When to use something else:**" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith(("http", "mailto")):
            continue
        file, _, heading = target.partition("#")
        place = (page.parent / file) if file else page
        assert place.exists(), f"{page.name}: {target}"
        if heading:
            heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            assert heading in slugs, f"{page.name}: {target}"


def test_the_guide_names_every_page():
    guide = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name}" in guide, page.name


# ---- how to install -----------------------------------------------------------------------------------------


def test_extras_are_those_of_the_project():
    for extra, packages in PACKAGES.items():
        assert [named(each) for each in EXTRAS[extra]] == list(packages), extra
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| [^|]+ \|$", README.partition("## Install")[2], re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"\w+", row)}
    assert told == set(PACKAGES)


FILES = [
    path
    for folder in ("src", "docs", "examples", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".toml", ".ipynb")
]


def test_everything_that_is_to_be_installed_can_be():
    """By ``pip install``: this folder with extras that exist, or packages that an extra asks for."""
    every = {named(each) for group in EXTRAS.values() for each in group} - {"neuler"}
    found = 0
    for path in [ROOT / "README.md", *FILES]:
        for command in re.findall(r"pip install (\"[^\"]+\"|[\w. -]+)", path.read_text(encoding="utf-8")):
            for part in command.replace('"', "").split("#")[0].split():
                extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", part)
                if extras:
                    assert set(filter(None, (extras[1] or "").split(","))) <= set(EXTRAS), path
                else:
                    assert part.rstrip(".") in every, f"{path}: pip install {command}"
                found += 1
    assert found > 10


def test_messages_say_what_installs():
    """No message asks for neuler's own name on an index, where it is not yet."""
    for path in FILES:
        assert not re.search(r"pip install neuler\b|neuler\[", path.read_text(encoding="utf-8")), path


# ---- the blocks, with nothing but what the page says ------------------------------------------------------------

ALONE = """
import re, sys
from pathlib import Path

ABSENT = {absent!r}


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
scope = {{}}
for block in re.findall(r"```python\\n(.*?)```", Path({readme!r}).read_text(), re.DOTALL):
    exec(compile(block, "README.md", "exec"), scope)
"""


def test_blocks_run_in_order_with_only_the_extras_that_the_page_installs(tmp_path):
    """Other packages of the test environment are hidden from them."""
    (names,) = re.findall(r'pip install "\.\[([\w,]+)\]"', README)
    modules = {
        "pin": "pinocchio",
        "unopy": "unopy",
        "pytest-xdist": "xdist",
        "nbclient": "nbclient",
        "pyarrow": "pyarrow",
    }
    given = {named(each) for extra in names.split(",") for each in EXTRAS[extra]}
    asked = {named(each) for group in EXTRAS.values() for each in group}
    absent = sorted({modules.get(name, name) for name in asked - given - {"neuler"}} | {"IPython", "xdist"})
    assert {"pandas", "pinocchio", "mujoco", "pyarrow", "unopy"} <= set(absent)
    assert not {"scipy", "casadi", "matplotlib"} & set(absent)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    code = ALONE.format(absent=absent, readme=str(ROOT / "README.md"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "motion.html").exists()


def test_commands_of_the_page_exist():
    """Every command line of neuler's on the page is understood; what files it names does not matter."""
    from neuler.cli import parser

    blocks = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
    lines = re.findall(r"^neuler (.*)$", blocks, re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        words = line.partition("#")[0].partition("|")[0].split()
        parser().parse_args(words)


# ---- the version ------------------------------------------------------------------------------------------------


def test_the_changelog_has_this_version_with_its_date():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert newest.group(1) == neuler.__version__
    assert re.findall(r"^### (\w+)$", newest.group(3), re.MULTILINE) == ["Added", "Changed", "Fixed"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"date-released: {newest.group(2)}" in cited


def test_the_project_has_addresses():
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    assert len({re.match(r"https://[^/]+/[^/]+/[^/]+", url).group() for url in PROJECT["urls"].values()}) == 1
