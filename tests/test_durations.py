"""What the tests themselves rely on: a cache that is kept between runs, and the table of durations."""

import ast
from types import SimpleNamespace

import conftest
import neuler
from durations import Recorder
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
        if place == "measure.py" or not any(maker in text for maker in makers):  # it measures without a cache
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
        asserted = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]
        for node in asserted:
            called = {ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
            assert not called & CLOCKS, f"{path.name}, line {node.lineno}: {ast.unparse(node)}"


def reports(test, kernels, slow=False):
    words = {"slow": 1} if slow else {}
    for seconds, made in ((0.25, 0), (1.5, kernels), (0.0, 0)):
        yield SimpleNamespace(nodeid=f"tests/{test}", duration=seconds, kernels=made, keywords=words)


def test_the_table_adds_up():
    recorder = Recorder(SimpleNamespace(workerinput={}))
    try:
        for number in range(3):
            for report in reports(f"test_a.py::test_one[{number}]", 2):
                recorder.pytest_runtest_logreport(report)
        for report in [*reports("test_b.py::test_two", 1), *reports("test_b.py::test_later", 7, slow=True)]:
            recorder.pytest_runtest_logreport(report)
        rows = recorder.table(2).splitlines()
    finally:
        recorder.pytest_unconfigure()
    assert "| `make test` | 4 | 7.0 | 7 |" in rows
    assert "| `make test-slow` | 1 | 1.8 | 7 |" in rows
    assert rows.index("| test_a.py | 3 | 5.2 | 6 |  | |  |") < rows.index("| test_b.py | 1 | 1.8 | 1 | 1 | 1.8 | 7 |")
    assert "| test_b.py::test_two | 1.8 | 1 |" in rows


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
