"""What the tests themselves rely on: a cache that is kept between runs, and the table of durations."""

import ast
import json
from types import SimpleNamespace

import conftest
import neuler
from durations import Recorder, table
from neuler.compiler import cache, sources


def test_what_tests_name_themselves_is_decided_by_their_own_lines(monkeypatch):
    theirs, ours = cache.key("name"), cache.key("name", origin="neuler.kernels")
    monkeypatch.setattr(conftest, "_every_source", lambda: "a changed line")
    assert cache.key("name") != theirs
    assert cache.key("name", origin="neuler.kernels") == ours


def test_neuler_says_which_module_makes_what_it_compiles():
    """So that code in a cache that is kept belongs to the sources as they are."""
    makers, calls = ("compile_recipe", "compile_program", "cache.key"), 0
    for path in sources.root().rglob("*.py"):
        text, place = path.read_text(), path.relative_to(sources.root()).as_posix()
        if place == "speed.py" or not any(maker in text for maker in makers):  # it measures without a cache
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in makers:
                calls += 1
                assert "origin" in {word.arg for word in node.keywords}, f"{place}, line {node.lineno}"
    assert calls > 5


CLOCKS = {"time.perf_counter", "time.monotonic", "time.process_time", "time.time", "time.thread_time"}


def test_no_test_asserts_what_a_clock_says():
    """Timings belong in benchmarks; tests count work (tests/work.py)."""
    for path in sorted(conftest.TESTS.glob("*.py")):
        text = path.read_text()
        if not any(clock in text for clock in CLOCKS):
            continue
        asserted = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
        for node in asserted:
            called = {ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
            assert not called & CLOCKS, f"{path.name}, line {node.lineno}: {ast.unparse(node)}"


def test_the_table_adds_up(tmp_path):
    record = tmp_path / "record.json"
    config = SimpleNamespace(option=SimpleNamespace(numprocesses=2), getoption=lambda name: record)
    recorder = Recorder(config)
    for name, kernels in (("a.py::one[0]", 2), ("a.py::one[1]", 3), ("b.py::two", 0)):
        for seconds, made in ((0.25, 0), (1.5, kernels), (0.0, 0)):
            told = SimpleNamespace(nodeid=f"tests/{name}", duration=seconds, kernels=made)
            recorder.pytest_runtest_logreport(told)
    recorder.pytest_unconfigure()
    daily = json.loads(record.read_text())
    assert daily["tests"] == {
        "tests/a.py::one[0]": [1.75, 2],
        "tests/a.py::one[1]": [1.75, 3],
        "tests/b.py::two": [1.75, 0],
    }
    rows = table({**daily, "seconds": 90.0}, {"seconds": 60.0, "workers": 1, "tests": {"tests/b.py::later": [9.0, 7]}})
    assert "| `make tests` | 1.5 | 2 | 3 | 5.2 | 5 |" in rows
    assert "| `make test-slow` | 1.0 | 1 | 1 | 9.0 | 7 |" in rows
    assert rows.index("| b.py | 1 | 1.8 | 0 | 1 | 9.0 | 7 |") < rows.index("| a.py | 2 | 3.5 | 5 |  | |  |")
    assert "| a.py::one[1] | 1.8 | 3 |" in rows


def test_only_what_is_compiled_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path))
    robot = neuler.robots.two_link().with_gravity((0.1, 0.2, -3.0))
    recorder = Recorder(SimpleNamespace(workerinput={}))
    try:
        for _ in range(2):
            robot.replace(name="again").gravity_force([0.0, 0.0])
        assert recorder.compiled == 1
    finally:
        recorder.pytest_unconfigure()
