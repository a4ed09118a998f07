"""An interpreter that commands do not see: the user is asked once, and the answer is kept."""

from __future__ import annotations

import json
import shutil

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

pytestmark = pytest.mark.slow
RUN = Call("runCommand", {"command": ".venv/bin/python -c hello"})
HEADING = "A virtual environment has its interpreter where commands do not see it:"


@pytest.fixture
def project(bench: Bench) -> Bench:
    """A project whose environment leads to an interpreter in a place of the home's own."""
    own = bench.home / "own/python/bin"
    own.mkdir(parents=True)
    shutil.copy("/bin/echo", own / "python3")
    environment = bench.project / ".venv/bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to(own / "python3")
    bench.write(".gitignore", ".venv\n")
    return bench


def config(bench: Bench) -> dict[str, object]:
    path = bench.home / ".nebula/config.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


@pytest.mark.parametrize(
    ("lang", "heading"),
    [("en", HEADING), ("ja", "仮想環境のインタープリターが、コマンドから見えない場所にあります:")],
)
def test_a_yes_runs_the_command_again_and_is_remembered(project: Bench, lang: str, heading: str) -> None:
    def person(me: Person) -> None:
        me.prompt()
        me.line("run it")
        me.wait(heading)
        me.wait("~/own/python")
        me.wait("(y/N)")
        me.send("y")
        me.wait("It ran.")
        me.prompt(times=2)
        me.line("exit")

    with ScriptedModel([Turn("", [RUN]), Turn("It ran."), Turn("", [RUN]), Turn("Again.")]) as server:
        sit_down_here(project, person, NEBULA_LANG=lang, **server.env())
        told = json.loads(server.turns[1].json["messages"][-1]["content"])
        assert (told["exit_code"], told["output"]) == (0, "-c hello\n")
        ran = run_here(project, "nebula", stdin="run it\nexit\n", **server.env())
    assert heading not in ran.out and config(project)["sandbox_read"] == ["~/own/python"]


def test_a_yes_that_is_taken_back_is_not_remembered(project: Bench) -> None:
    turns = [Turn("", [RUN]), Turn("One."), Turn("", [RUN]), Turn("Two.")]
    with ScriptedModel(turns) as server:
        typed = "run it\ny\n/permissions revoke ~/own/python\nrun it\n/permissions\nexit\n"
        ran = run_here(project, "nebula", stdin=typed, **server.env())
        told = [json.loads(server.turns[place].json["messages"][-1]["content"])["exit_code"] for place in (1, 3)]
    assert "Taken back: ~/own/python  a folder that commands may read, in later sessions as well" in ran.out
    assert told[0] == 0 and told[1] in (126, 127) and "sandbox_read" not in config(project)
    assert "Everything is asked about." in ran.out


def test_a_no_is_remembered_and_nobody_is_asked_again(project: Bench) -> None:
    turns = [Turn("", [RUN]), Turn("One."), Turn("", [RUN]), Turn("Two.")]
    with ScriptedModel(turns) as server:
        first = run_here(project, "nebula", stdin="run it\nn\nexit\n", **server.env())
        second = run_here(project, "nebula", stdin="run it\nexit\n", **server.env())
        assert json.loads(server.turns[1].json["messages"][-1]["content"])["exit_code"] in (126, 127)
    assert HEADING in first.out and config(project)["sandbox_hidden"] == ["~/own/python"]
    assert HEADING not in second.out and "Commands do not see ~/own/python" in second.out
    assert "sandbox_read" not in config(project)


def test_a_check_asks_too_and_headless_only_tells(project: Bench) -> None:
    check = ".venv/bin/python -c hello"
    project.write(".nebula/config.json", json.dumps({"checks": [check]}))
    run = Call("runCheck", {"name": check})
    with ScriptedModel([Turn("", [run]), Turn("No."), Turn("", [run]), Turn("Passed.")]) as server:
        ran = run_here(project, "nebula", "-p", "check", "--trust", **server.env())
        assert "Commands do not see ~/own/python" in ran.err and config(project).get("sandbox_read") is None
        run_here(project, "nebula", "--trust", stdin="check\ny\nexit\n", **server.env())
        assert json.loads(server.turns[3].json["messages"][-1]["content"])["passed"] is True
