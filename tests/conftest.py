"""What every end-to-end test needs: a project, an empty home, and the real commands run as a user runs them."""

from __future__ import annotations

import gc
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from in_memory import folder_in_memory
from in_process import Ran
from known_machine import know_the_machine
from nebula.language import use_language
from nebula.sandbox.remembered import ON_DISK, remember

sys.dont_write_bytecode = False
"""Some machines turn it off for everyone; without it pytest prepares every file anew, a third of the fast part's time."""

for profile, examples in (("quick", 10), ("thorough", 150), ("search", 1000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=profile != "search",  # a change is judged by what it changes, and never by luck
        deadline=None,  # machines are noisy; a slow example is no failure
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile("quick")

BIN = Path(sys.executable).parent
VENDOR = Path(__file__).parents[1] / "scripts" / "vendor.py"
WHOLE_PROGRAM = ("e2e/", "web/", "server/conversation/test_conversation_", "server/rag/")
"""Tests that start the real commands over and over: sound, and too many for the fast part."""


USER_OF_POSTGRES = "pgserver"
"""As the package that brings PostgreSQL calls it."""
USUAL_ANSWERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""To signals, whatever we inherited: in the background of a script Ctrl-C is ignored, under nohup a hangup, and the
programs that tests start would not hear them either."""
WHOLLY_SLOW = re.compile(rb"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    """Brings the page's third-party modules to those of the lock file, and makes the user that PostgreSQL runs as where
    we are root: once, before workers would do it at the same time, and while no test looks whether `/etc/passwd` stays
    as it is."""
    gc.disable()  # until all is collected
    answer_signals_as_usual()
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        subprocess.run([sys.executable, VENDOR], check=True)
    if os.geteuid() == 0 and not is_worker and config.option.markexpr != "not slow" and shutil.which("useradd"):
        try:
            pwd.getpwnam(USER_OF_POSTGRES)
        except KeyError:
            subprocess.run(["useradd", "-s", "/bin/bash", USER_OF_POSTGRES], check=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast part does not even read a file that has nothing for it, nor import what that would import."""
    if config.option.markexpr != "not slow":
        return None
    if starts_the_program(collection_path):
        return True
    return (collection_path.suffix == ".py" and bool(WHOLLY_SLOW.search(collection_path.read_bytes()))) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if starts_the_program(item.path):
            item.add_marker(pytest.mark.slow)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what hands out the slow tests (`--dist loadscope`): file by file, but all of the browser's to one worker.
    Two browsers beside each other lose keys on two processors; the tests of other rooms wait for half of their time."""
    if config.option.dist != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/web" if nodeid.startswith("tests/web/") else nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    gc.freeze()  # what was collected stays to the end: the collector need not look at it thousands of times
    gc.enable()
    gc.set_threshold(20_000, 20, 20)  # and seldom at what tests leave


def starts_the_program(test_file: Path) -> bool:
    """Return whether a file of tests starts it over and over, or all in a folder do."""
    below = test_file.relative_to(Path(__file__).parent).as_posix()
    return (below if test_file.suffix else f"{below}/").startswith(WHOLE_PROGRAM)


@pytest.fixture(autouse=True, scope="session")
def home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is derived from a project lies in the user's home: no test may use that of whoever runs it. Git makes a
    repository without its thirteen samples of hooks, which were an eighth of all files to write and remove."""
    os.environ["NEBULA_HOME"] = str(tmp_path_factory.getbasetemp() / "nebula-home")
    template = tmp_path_factory.mktemp("git-template")
    (template / "hooks").mkdir()
    (template / "info").mkdir()
    (template / "info/exclude").write_text("# Files that git shall not see.\n")
    os.environ["GIT_TEMPLATE_DIR"] = str(template)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Thousands of tests share a process: none leaves a language behind, nor a command's answer to signals, which goes on
    until its process ends and hears no Ctrl-C of a later test, nor a graph open, since a terminal cannot be
    read where there are more than 1,024 descriptors. A hook, since two fixtures would cost each test a quarter of a millisecond."""
    use_language("en")
    answer_signals_as_usual()
    store = sys.modules.get("nebula.graph.store")
    if store is not None:
        store._close_all()


def answer_signals_as_usual() -> None:
    for number, answer in USUAL_ANSWERS.items():
        signal.signal(number, answer)


@dataclass(frozen=True)
class Bench:
    """A place of one's own: project, home, and an environment with nothing of the caller's in it."""

    project: Path
    home: Path

    def env(self, **more: str) -> dict[str, str]:
        names = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")  # the last is how another system is played
        kept = {name: os.environ[name] for name in names if name in os.environ}
        if "PYTHONPATH" not in kept | more:
            know_the_machine(self.home / ".nebula")
        return {**kept, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONWARNINGS": "error", **more}

    def argv(self, command: str, *args: str) -> list[str]:
        return [str(BIN / command), *args]

    def run(self, command: str, *args: str, stdin: str = "", timeout: float = 240, **env: str) -> Ran:
        done = subprocess.run(
            self.argv(command, *args),
            cwd=self.project,
            env=self.env(**env),
            input=stdin.encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, command: str, *args: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(command, *args),
            cwd=self.project,
            env=self.env(**env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def write(self, path: str, text: str) -> Path:
        target = self.project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def read(self, path: str) -> str:
        return (self.project / path).read_text(encoding="utf-8")

    def trace(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.read(".nebula/trace.jsonl").splitlines()]


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A folder for a test that waits for the disk most of its time, and asks nothing of it."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The files of a certificate that nobody trusts by itself, and of its key: for 127.0.0.1 and a host `page.example`."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=DNS:page.example,IP:127.0.0.1"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=127.0.0.1", "-addext", names],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    return Bench(project, home)


@pytest.fixture(params=["memory", "disk"])
def upper_side(request: pytest.FixtureRequest, bench: Bench) -> Iterator[str]:
    """Where the layers of commands lie: on disk for a nebula that has noted so of this machine. None is left."""
    home = bench.home / ".nebula"
    if request.param == "disk":
        remember(str(home), ON_DISK, 0)
    yield request.param
    assert list(home.glob("projects/*/layers/*")) == []
    assert (list(home.glob("projects/*/layers")) != []) == (request.param == "disk")
