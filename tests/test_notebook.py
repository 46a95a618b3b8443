"""Figures appear: in an executed notebook each of them once, and for ``pyplot.show()`` in scripts."""

import ast
import html
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import neuler
from neuler import plan

ROOT = Path(__file__).resolve().parent.parent
SOURCE = str(ROOT / "src")


def executed(notebook, folder):
    """All outputs, cell by cell; a cell that fails raises."""
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment["PYTHONPATH"] = SOURCE
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def kinds(outputs):
    return [sorted(output.data) for output in outputs if output.output_type in ("display_data", "execute_result")]


CELLS = {
    "start": """
import neuler
from neuler import plan
robot = neuler.robots.two_link()
run = neuler.simulate(robot, lambda t, q, qd: -5.0 * qd, ([0.3, 0.5], None), 0.2)
best = plan.Plan(robot, plan.duration(), start=[0.0, -2.0], goal=[1.0, -1.0], control_points=8).solve()
timed = neuler.timing.time_path(robot, [[0.0, -2.0], [1.0, -1.0]], torque=20.0, grid=100)
""",
    "run.plot()": "run.plot()",
    "a figure that is not the cell's result": "figure = run.plot()\nvalue = 3",
    "the same figure again": "figure",
    "plan.plot()": "best.plot()",
    "draw": "neuler.view.draw(robot, [0.3, 0.5])",
    "shown by pyplot": "import matplotlib.pyplot as plt\nrun.plot()\nplt.show()",
    "one of several": 'best.figures()["torque"]',
    "a run": "run",
    "a plan": "best",
    "a timed path": "timed",
    "a player": "run.player(height=333)",
    "a robot": "robot",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    return dict(zip(CELLS, executed(notebook, tmp_path_factory.mktemp("notebook")), strict=True))


PICTURES = ("run.plot()", "a figure that is not the cell's result", "the same figure again", "plan.plot()", "draw",
            "shown by pyplot", "one of several")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cell", PICTURES)
def test_a_figure_is_shown_once(outputs, cell):
    assert kinds(outputs[cell]) == [["image/png", "text/plain"]]


@pytest.mark.slow
def test_nothing_else_is_said(outputs):
    assert outputs["start"] == []
    assert not [output for each in outputs.values() for output in each if output.output_type in ("stream", "error")]


@pytest.mark.slow
def test_a_run_shows_a_picture_a_table_and_a_player(outputs):
    (shown,) = outputs["a run"]
    page = shown.data["text/html"]
    assert shown.data["text/plain"].startswith("<run of 'two_link'")
    assert page.count('<img src="data:image/png;base64,') == 1
    for text in ("q_joint1", "tau_joint2", "rad/s", "N m", "energy drift"):
        assert text in page
    (frame,) = re.findall('<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)">', page)
    inside = html.unescape(frame)
    assert inside.startswith("<!DOCTYPE html>")
    assert "script-src 'sha256-" in inside  # the page's own script, and nothing else


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "begin"), [("a plan", "<plan of 'two_link'"), ("a timed path", "<TimedPath")])
def test_plans_and_timed_paths_show_themselves_as_runs_do(outputs, cell, begin):
    (shown,) = outputs[cell]
    page = shown.data["text/html"]
    assert shown.data["text/plain"].startswith(begin)
    assert page.count('<img src="data:image/png;base64,') == 1
    for text in ("q_joint1", "tau_joint2", "rad/s", "N m", "valid"):
        assert text in page
    assert page.count('<iframe sandbox="allow-scripts"') == 1


@pytest.mark.slow
def test_the_player_alone(outputs):
    (shown,) = outputs["a player"]
    assert "height:333px" in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("<player")


@pytest.mark.slow
def test_robots_still_show_themselves(outputs):
    (shown,) = outputs["a robot"]
    assert "joint1" in shown.data["text/html"]


# ---- a run, whatever happened to it -------------------------------------------------------------------------


def test_runs_of_many_rows_and_runs_that_end():
    robot = neuler.robots.two_link()
    many = neuler.simulate(robot, None, (np.zeros((3, 2)), None), 0.05)
    assert "3 rows" in many._repr_html_()
    lost = neuler.simulate(robot, lambda t, q, qd: np.full(2, np.nan if t > 0.02 else 0.0), None, 0.05)
    assert "the controller gave NaN" in lost._repr_html_()
    hostile = robot.replace(name="<script>alert(1)</script>")
    assert "<script>alert" not in neuler.simulate(hostile, None, None, 0.01)._repr_html_()


def test_a_long_run_has_its_player_on_request(monkeypatch):
    monkeypatch.setattr("neuler.simulation.run._INLINE", 10)
    run = neuler.simulate(neuler.robots.two_link(), None, None, 0.05)
    assert "<iframe" not in run._repr_html_()
    assert "<iframe" in run.player()._repr_html_()


# ---- scripts ------------------------------------------------------------------------------------------------


def test_pyplot_knows_the_figures():
    robot = neuler.robots.two_link()
    run = neuler.simulate(robot, None, None, 0.02)
    best = plan.Plan(robot, plan.duration(), start=[0.0, -2.0], goal=[1.0, -1.0], control_points=8).solve()
    made = [run.plot(), best.plot(), neuler.view.draw(robot)]
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == made
    best.figures()  # one by one: for files and notebooks
    neuler.view.draw(robot, ax=made[0].add_subplot(projection="3d"))
    assert len(pyplot.get_fignums()) == 3
    for figure in made:
        figure.savefig(io.BytesIO())


@pytest.mark.parametrize("backend", ["QtAgg", "TkAgg", "nbAgg", "module://ipympl.backend_nbagg", "WebAgg", "macosx"])
def test_windows_and_widgets_show_their_figures_themselves(backend, monkeypatch):
    """And are not closed by the notebook's display."""
    from neuler.view import picture

    figure = neuler.view.draw(neuler.robots.two_link())
    monkeypatch.setattr(picture, "get_backend", lambda: backend)
    figure._ipython_display_()
    assert pyplot.fignum_exists(figure.number)


def test_drawing_into_axes_gives_nothing_to_show():
    axes = pyplot.figure().add_subplot(projection="3d")
    assert neuler.view.draw(neuler.robots.two_link(), ax=axes) is None
    assert axes.lines


def test_other_threads_get_figures_that_pyplot_does_not_know():
    robot = neuler.robots.two_link()
    with ThreadPoolExecutor(1) as pool:
        figure = pool.submit(neuler.view.draw, robot).result()
    assert not pyplot.get_fignums()
    figure.savefig(io.BytesIO())


def test_a_figure_of_ones_own_gets_what_it_needs():
    run = neuler.simulate(neuler.robots.two_link(), None, None, 0.02)
    own = Figure()
    assert run.plot(figure=own) is own
    assert len(own.axes) > 3
    assert not pyplot.get_fignums()


@pytest.mark.slow
def test_a_backend_that_cannot_run_leaves_a_figure_that_can_be_saved(tmp_path):
    script = (
        "import neuler\n"
        "run = neuler.simulate(neuler.robots.two_link(), None, None, 0.02)\n"
        "run.plot().savefig('run.png')\n"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE, "MPLBACKEND": "tkagg", "DISPLAY": ""}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=environment, timeout=120)
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_commands_touch_no_window_system(tmp_path):
    script = (
        "import sys\nfrom neuler.cli import main\n"
        "main(['simulate', 'two_link', '--duration', '0.05', '-o', 'out'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=environment, timeout=120)
    assert (tmp_path / "out" / "run.png").exists()


# ---- the first lines of users of other libraries ------------------------------------------------------------


def toolbox():
    return nbformat.read(ROOT / "examples" / "from_robotics_toolbox.ipynb", as_version=4)


@pytest.mark.slow
def test_the_notebook_for_users_of_the_robotics_toolbox(tmp_path):
    found = executed(toolbox(), tmp_path)
    assert ["image/png", "text/plain"] in kinds(found[4])
    assert kinds(found[5]) == [["text/html", "text/plain"]]
    assert "0.5963" in found[1][0].data["text/plain"]  # as the toolbox prints it for robot.qn
    assert not [output for each in found for output in each if output.output_type in ("stream", "error")]


@pytest.mark.slow
def test_the_script_for_users_of_pinocchio(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "from_pinocchio.py")]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "agree: True True" in done.stdout
    assert done.stderr == ""


def test_they_are_short():
    """The first twenty lines or so: statements, without what is only printed."""
    code = "\n".join(cell.source for cell in toolbox().cells if cell.cell_type == "code")
    for source in (code, (ROOT / "examples" / "from_pinocchio.py").read_text()):
        lines = [
            node for node in ast.parse(source).body if not isinstance(node, ast.Expr | ast.Import | ast.ImportFrom)
        ]
        assert len(lines) <= 20
