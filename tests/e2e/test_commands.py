"""Commands in a layer, from outside: what is proposed, what is applied, and what undo gives back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import file_history_rig
import nebula
from nebula.workspace import open_workspace
from sandbox_rig import Tree, as_user, python_for, tree
from scripted_model import Call, ScriptedModel, Turn

GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(project: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=project, check=True, capture_output=True, env={**os.environ, **GIT})


@pytest.fixture
def project(bench) -> Path:
    """A repository with a bit of everything: edits that are not committed, modes, links, ignored and secret files."""
    bench.write("src/app.py", "def  main( ):\n  return 1\n")
    bench.write("src/old_name.py", "VALUE = 1\n")
    bench.write("run.sh", "#!/bin/sh\necho run\n").chmod(0o755)
    bench.write(".gitignore", "/build/\nnode_modules/\n*.log\n")
    (bench.project / "logo.bin").write_bytes(bytes(range(256)))
    (bench.project / "link").symlink_to("src/app.py")
    (bench.project / "nowhere").symlink_to("/does/not/exist")
    git(bench.project, "init", "-q", "-b", "main")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-q", "-m", "first")
    bench.write("src/app.py", "def  main( ):\n  return 2  # not committed\n")
    bench.write("untracked.txt", "mine\n").chmod(0o640)
    bench.write("build/out.o", "object\n")
    bench.write(".env", "KEY=secret-value-1234\n")
    return bench.project


def seen(project: Path) -> Tree:
    """What undo answers for: not the repository, not nebula's own folder."""
    return {path: what for path, what in tree(project).items() if path.split("/")[0] not in (".git", ".nebula")}


def ran(bench, line: str, *options: str, **args: Any) -> tuple[Any, dict[str, Any], list[dict[str, Any]]]:
    """One turn that runs one command: how it ended, what the model was told, and the events."""
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line, **args})]), Turn("Done.")]) as server:
        done = bench.run("nebula", "-p", "go", "--output-format", "stream-json", *options, **server.env())
    events = [json.loads(text) for text in done.out.splitlines()]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    return done, result["result"]["content"][0]["Json"], events


def proposed(events: list[dict[str, Any]]) -> dict[str, str]:
    (approval,) = [event for event in events if event["type"] == "approval"]
    return {change["path"]: change["kind"] for change in approval["changes"]}


def undo(project: Path) -> None:
    with open_workspace(str(project)) as workspace:
        file_history_rig.undo(workspace.history)


FORMATTER = "find . -name '*.py' -not -path './.git/*' -exec sed -i 's/def  main( )/def main()/' {} +"
RENAME = "mv src lib && sed -i 's/return 2/return 3/' lib/app.py && ln -sfn lib/app.py link"


@pytest.mark.usefixtures("upper_side")
class TestWhatIsProposedAndTakenBack:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("git reset --hard -q", {"src/app.py": "changed"}),
            ("git clean -fdxq", {"untracked.txt": "deleted", "build/out.o": "deleted"}),
            (
                'cd /; rm -rf "$OLDPWD" 2>/dev/null; true',
                dict.fromkeys(
                    (
                        ".gitignore", "link", "logo.bin", "nowhere", "run.sh", "src/app.py", "src/old_name.py",
                        "untracked.txt", "build/out.o",
                    ),
                    "deleted",
                ),
            ),
            (
                "rm -rf ./* .gitignore",
                dict.fromkeys(
                    (
                        ".gitignore", "link", "logo.bin", "nowhere", "run.sh", "src/app.py", "src/old_name.py",
                        "untracked.txt", "build/out.o",
                    ),
                    "deleted",
                ),
            ),
            (FORMATTER, {"src/app.py": "changed"}),
            (
                "printf '*\\n' > src/.gitignore; echo evil >> src/app.py; rm src/old_name.py",
                {"src/.gitignore": "created", "src/app.py": "changed", "src/old_name.py": "deleted"},
            ),
            ("chmod 600 run.sh && printf 'a\\0b' > logo.bin", {"run.sh": "mode", "logo.bin": "changed"}),
            (
                RENAME,
                {
                    "lib/app.py": "created",
                    "lib/old_name.py": "created",
                    "src/app.py": "deleted",
                    "src/old_name.py": "deleted",
                    "link": "link",
                },
            ),
        ],
    )  # fmt: skip
    def test_right_and_exactly(self, line: str, expected: dict[str, str], bench, project: Path) -> None:
        before = seen(project)
        done, told, events = ran(bench, line, "--yes")
        assert (done.code, told["exit_code"]) == (2 if "OLDPWD" in line else 0, 0)  # that takes `.git` along
        assert proposed(events) == expected
        assert sorted(told["changed"]) == sorted(expected)
        after = seen(project)
        assert after != before
        undo(project)
        assert seen(project) == before
        with open_workspace(str(project)) as workspace:
            file_history_rig.redo(workspace.history)
        assert seen(project) == after

    def test_rm_of_the_place_it_stands_in(self, bench, project: Path) -> None:
        """`rm` itself refuses: the command fails, and nothing is proposed."""
        done, told, events = ran(bench, "rm -rf .", "--yes")
        assert (done.code, told["exit_code"], told["changed"]) == (0, 1, [])
        assert not [event for event in events if event["type"] == "approval"]

    def test_thousands_of_ignored_files_are_one_line(self, bench, project: Path) -> None:
        line = "for d in $(seq 20); do mkdir -p node_modules/p$d; (cd node_modules/p$d; touch $(seq 100)); done; echo 1 > new"
        done, told, events = ran(bench, line, "--yes")
        assert done.code == 0
        assert proposed(events) == {"new": "created"}
        assert told["changed"] == ["new"]
        assert "2,000" in told["remark"]  # files, not their folders
        assert "not restorable" in told["remark"]
        assert sum(len(files) for _, _, files in os.walk(project / "node_modules")) == 2_000
        journal = (project / ".nebula/journal/changes.jsonl").read_text()
        assert "node_modules" not in journal

    def test_what_it_says_of_a_rename(self, bench, project: Path) -> None:
        _, _, events = ran(bench, "git mv src/old_name.py src/new_name.py", "--yes")
        (approval,) = [event for event in events if event["type"] == "approval"]
        renamed = {change["path"]: change.get("renamed_from") for change in approval["changes"]}
        assert renamed == {"src/new_name.py": "src/old_name.py", "src/old_name.py": None}
        assert approval["path"] == approval["changes"][0]["path"]


class TestWhatIsLeftOut:
    def test_git_secret_and_control_files_are_named_and_the_rest_applied(self, bench, project: Path) -> None:
        line = "echo x > new.txt; git add new.txt; git -c user.name=a -c user.email=a@b commit -qm second; echo K=1 > .env; mkdir .vscode; echo 1 > .vscode/s"
        before = tree(project / ".git")
        done, told, _ = ran(bench, f"{line}; git log --oneline | wc -l", "--yes")
        assert done.code == 2
        assert told["changed"] == ["new.txt"]
        assert (project / ".env").read_text() == "KEY=secret-value-1234\n"
        assert not (project / ".vscode").exists()
        assert tree(project / ".git") == before
        for named in (".env", ".vscode/s", "second"):
            assert named in told["remark"]

    def test_a_commit_that_nobody_allowed_is_refused_whatever_comes_later(self, bench, project: Path) -> None:
        commit = "git -c user.name=a -c user.email=a@b commit -qam second"
        lines = [commit, "git status --short", "echo more > more.txt"]
        script = [*(Turn("", [Call("runCommand", {"command": line})]) for line in lines), Turn("Committed.")]
        with ScriptedModel([*script, *script]) as server:
            done = bench.run("nebula", "-p", "go", "--yes", **server.env())
            assert done.code == 2
            left_out = "A command's changes under .git were left out: commit on main (second), 1 file."
            assert [line for line in done.err.splitlines() if ".git" in line] == [
                f"nebula: {left_out} To allow them add --allow .git"
            ]
            final = json.loads(bench.run("nebula", "-p", "go", "--yes", "--output-format", "json", **server.env()).out)
        assert final["status"] == "refused"
        assert (project / "more.txt").exists()

    def test_a_bare_repository_is_a_control_folder(self, bench, project: Path) -> None:
        _, told, _ = ran(bench, f"{BARE}; cd ../..; echo 1 > docs/page.md", "--yes")
        assert told["changed"] == ["docs/page.md"]
        assert not (project / "docs/x/config").exists() and "docs/x/config" in told["remark"]
        _, told, _ = ran(bench, BARE, "--yes", "--allow", "docs/x")
        assert "docs/x/HEAD" in told["changed"]

    def test_a_control_file_allowed_by_name_is_applied(self, bench, project: Path) -> None:
        done, told, _ = ran(bench, "mkdir .vscode; echo 1 > .vscode/s", "--yes", "--allow", ".vscode/s")
        assert (done.code, told["changed"]) == (0, [".vscode/s"])

    def test_the_repository_allowed_by_name_gets_its_commit(self, bench, project: Path) -> None:
        commit = "git -c user.name=a -c user.email=a@b commit -qam second"
        done, told, _ = ran(bench, commit, "--yes", "--allow", ".git")
        assert done.code == 0
        assert "not restorable" in told["remark"]
        logged = subprocess.run(["git", "log", "--format=%s"], cwd=project, capture_output=True, text=True, check=True)
        assert logged.stdout == "second\nfirst\n"
        git(project, "fsck", "--strict")
        before = tree(project / ".git")
        hook = "echo 'touch ran' > .git/hooks/pre-commit; git tag new"
        done, told, events = ran(bench, hook, "--yes", "--allow", ".git")
        assert "hook" in told["remark"]
        assert done.code == 2
        (problem,) = [event["problem"] for event in events if event["type"] == "tool_result"]
        assert problem.endswith("To allow them add --allow .git/hooks/pre-commit")
        assert tree(project / ".git") == before

    def test_a_commit_keeps_a_secret_file_that_git_tracks(self, bench, project: Path) -> None:
        bench.write("tests/key.pem", "PEM\n")
        git(project, "add", "-A")
        git(project, "commit", "-q", "-m", "with secrets")
        commit = "git -c user.name=a -c user.email=a@b commit -qm"
        done, told, _ = ran(
            bench, f"echo x >> run.sh; git status --short; git add -A; {commit} all", "--yes", "--allow", ".git"
        )
        assert (done.code, told["output"]) == (0, " M run.sh\n")
        kept = subprocess.run(["git", "show", "HEAD:.env", "HEAD:tests/key.pem"], cwd=project, capture_output=True)
        assert kept.stdout == b"KEY=secret-value-1234\nPEM\n"
        line = f"rm .git/index; git add -A; {commit} emptied"
        done, told, events = ran(bench, f"echo y > y.txt; {line}", "--yes", "--allow", ".git")
        assert (done.code, told["changed"]) == (2, ["y.txt"])
        (problem,) = [event["problem"] for event in events if event["type"] == "tool_result"]
        assert "emptied" in problem and "--allow .env --allow tests/key.pem" in problem
        logged = subprocess.run(["git", "log", "-1", "--format=%s"], cwd=project, capture_output=True)
        assert logged.stdout == b"all\n"

    def test_a_file_that_changed_meanwhile_is_a_conflict(self, bench, project: Path) -> None:
        """The command says when it has begun, by output; then the user saves; then, seeing that, it writes."""
        line = (
            "echo begun; until grep -q user src/app.py; do sleep 0.05; done; echo it > src/app.py; echo it > other.txt"
        )
        script = [Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]
        with ScriptedModel(script) as server:
            turn = bench.start("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **server.env())
            assert turn.stdout is not None
            lines = []
            for text in turn.stdout:
                lines.append(json.loads(text))
                if lines[-1]["type"] == "output" and "begun" in lines[-1]["text"]:
                    (project / "src/app.py").write_text("the user's\n")
            assert turn.wait(60) == 0
            turn.stderr.close()  # type: ignore[union-attr]
            turn.stdout.close()
        (told,) = [event["result"]["content"][0]["Json"] for event in lines if event["type"] == "tool_result"]
        assert told["changed"] == ["other.txt"]
        assert "src/app.py" in told["remark"]
        assert (project / "src/app.py").read_text() == "the user's\n"


SECRETS_OF_GIT = [
    ".git/credentials", ".git/config.bak", "vendor/lib/.git/config", "vendor/lib/.git/logs/HEAD", ".git/logs/HEAD",
    ".git/modules/a/b/c/d/e/config", ".git/FETCH_HEAD", "vendor/mirror.git/config",
]  # fmt: skip


class TestSecrets:
    def test_what_the_tools_refuse_below_any_repository_is_empty_for_a_command(self, bench, project: Path) -> None:
        git(project, "branch", "config-of-credentials")
        for path in SECRETS_OF_GIT:
            place = project / path
            place.parent.mkdir(parents=True, exist_ok=True)
            old = place.read_text() if place.exists() else ""
            text = '[remote "o"]\n\turl = https://me:canary@example.org/x\n' if path.endswith("config") else "canary\n"
            place.write_text(old + text.replace("canary", "https://me:canary@x/") if "FETCH" in path else old + text)
        line = "grep -r canary . ; git rev-parse config-of-credentials; git config remote.o.url; git log --oneline"
        done, told, _ = ran(bench, f"{line}; cat vendor/lib/.git/config")
        assert (done.code, told["exit_code"]) == (0, 0), told
        assert "canary" not in told["output"] and "fatal" not in told["output"]
        assert told["output"].endswith("https://example.org/x\n") or "https://example.org/x" in told["output"]

    def test_a_commit_adds_to_the_logs_that_it_saw_empty(self, bench, project: Path) -> None:
        log = project / ".git/logs/HEAD"
        before = log.read_text()
        done, told, _ = ran(
            bench, "git -c user.name=a -c user.email=a@b commit -qam second", "--yes", "--allow", ".git"
        )
        assert (done.code, told["exit_code"]) == (0, 0)
        assert log.read_text().startswith(before)
        shown = subprocess.run(["git", "reflog"], cwd=project, capture_output=True, text=True, check=True).stdout
        assert [line.split(": ", 1)[1] for line in shown.splitlines()] == ["commit: second", "commit (initial): first"]

    def test_a_secret_file_is_empty_and_one_allowed_by_name_is_for_the_model_alone(self, bench, project: Path) -> None:
        _, told, _ = ran(bench, "cat .env; wc -c < .env", "--yes")
        assert told["output"] == "0\n"
        script = [Turn("", [Call("runCommand", {"command": "cat .env"})]), Turn("Done.")]
        with ScriptedModel(script) as server:
            done = bench.run("nebula", "-p", "go", "--yes", "--allow", ".env", "--backstage", **server.env())
        assert "secret-value-1234" in server.turns[-1].json["messages"][-1]["content"]
        kept = "".join(
            path.read_text("utf-8", "replace") for path in (project / ".nebula").rglob("*") if path.is_file()
        )
        assert "secret-value-1234" not in kept + done.out + done.err


BARE = "git init -q --bare docs/x; cd docs/x; git config core.bare false; git config core.fsmonitor /bin/true"


class TestWithoutYes:
    def test_nothing_is_applied_and_the_model_knows(self, bench, project: Path) -> None:
        before = seen(project)
        done, told, _ = ran(bench, "echo out; echo x > new.txt; exit 3")
        assert done.code == 2
        assert (told["exit_code"], told["output"], told["changed"]) == (3, "out\n", [])
        assert "--yes" in told["error"]
        assert seen(project) == before

    def test_a_command_that_changed_nothing_succeeds(self, bench, project: Path) -> None:
        done, told, _ = ran(bench, 'cat run.sh; mkdir .c; echo "*" > .c/.gitignore; touch a.log .c/x')
        assert done.code == 0
        assert (told["exit_code"], told["changed"]) == (0, [])
        assert not (project / "a.log").exists()

    def test_the_model_knows_that_what_git_ignores_was_dropped(self, bench, project: Path) -> None:
        done, told, _ = ran(bench, "mkdir -p node_modules/left && touch node_modules/left/index.js")
        assert done.code == 0 and told["changed"] == [] and not (project / "node_modules/left").exists()
        assert "node_modules/" in told["remark"] and "this was dropped" in told["remark"]

    def test_the_network_is_refused(self, bench, project: Path) -> None:
        done, told, _ = ran(bench, "echo ran", "--yes", network=True)
        assert done.code == 2
        assert "--allow-network" in told["error"]
        with ScriptedModel([Turn("", [Call("runCommand", {"command": "id", "network": True})]), Turn("No.")]) as server:
            assert "To allow it add --allow-network." in bench.run("nebula", "-p", "go", **server.env()).err
        done, told, _ = ran(bench, "echo ran", "--yes", "--allow-network", network=True)
        assert (done.code, told["output"]) == (0, "ran\n")

    def test_listed_hosts_are_reached_without_a_question(self, bench, project: Path) -> None:
        (bench.home / ".nebula").mkdir(parents=True, exist_ok=True)
        (bench.home / ".nebula" / "config.json").write_text('{"sandbox_network": ["127.0.0.2:1"]}')
        ask = "python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.3:1/')\" 2> /dev/null"
        done, told, events = ran(bench, f"echo $http_proxy; {ask}", network=True)
        assert done.code == 0
        assert told["output"].startswith("http://127.0.0.1:")
        assert "sandbox_network does not list them: 127.0.0.3:1." in told["remark"]
        assert not [event for event in events if event["type"] == "approval"]


def test_the_node_says_what_ran_its_exit_code_and_its_time(bench, project: Path) -> None:
    ran(bench, "sleep 1.2; exit 3", "--yes")
    (node,) = (project / ".nebula" / "graph").rglob("*.xml")
    tool = next(each for each in ElementTree.parse(node).iter("text") if each.get("role") == "tool")
    assert 1.2 <= float(tool.attrib["duration"]) < 60
    assert "sleep 1.2; exit 3" in str(tool.text) and '"exit_code": 3' in str(tool.text)


ODD_NAMES = r"""
printf x > $'\xff'; printf y > $'a\nb'; ln -s $'\xfe' link2; mv untracked.txt $'\xfd'; mv $'\xff' fine.txt; printf z > $'\xfc'
git update-ref $'refs/heads/\xfb' HEAD; mkdir -p $(printf 'd/%.0s' {1..120}); cp run.sh tool; chmod 4755 tool; mkfifo pipe
"""


def test_names_that_are_no_text_cost_neither_the_turn_nor_its_node(bench, project: Path) -> None:
    done, told, events = ran(bench, ODD_NAMES, "--yes")
    assert (done.code, done.err.count("could not be put")) == (2, 0), done.err  # it makes a branch
    assert told["exit_code"] == 0, told
    assert {"fine.txt", "link2", "tool"} <= set(told["changed"])
    assert "because of its name: a\nb, \ufffd, \ufffd." in told["remark"]
    assert "neither a file, a link nor a folder: pipe." in told["remark"]
    assert "without their set-user-ID and set-group-ID bits: tool." in told["remark"]
    assert "more than 100 folders deep: what is in d/d/" in told["remark"]
    assert "branch \ufffd" in told["remark"]
    assert json.loads(json.dumps(events, ensure_ascii=False).encode())  # everything can be carried on
    assert len(list((project / ".nebula" / "graph").rglob("*.xml"))) == 1


def test_what_a_submodule_ignores_is_asked_of_the_submodule(bench, project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / ".gitignore").write_text("*.tmp\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "inner")
    (project / "folder-link").symlink_to("src")
    line = "touch a.log z.log inner/b.tmp; rm folder-link; mkdir folder-link; touch folder-link/c.log; echo x > inner/d.txt"
    _, _, events = ran(bench, line, "--yes")
    assert set(proposed(events)) == {"folder-link", "folder-link/c.log", "inner/d.txt"}


class TestLimits:
    def test_a_limit_is_said_and_nothing_proposed(self, bench, project: Path) -> None:
        done, told, events = ran(bench, "echo x > new.txt; sleep 60", "--yes", timeout_s=1)
        assert (done.code, told["exit_code"], told["stopped"]) == (0, None, "time")
        assert not [event for event in events if event["type"] == "approval"]
        assert not (project / "new.txt").exists()

    def test_both_ends_of_a_long_output_reach_the_model(self, bench, project: Path) -> None:
        _, told, _ = ran(bench, "echo begin; seq 500000; echo end", "--yes")
        assert told["output"].startswith("begin\n")
        assert told["output"].endswith("end\n")
        assert len(told["output"]) < 1_100_000


class TestChecks:
    def test_a_check_leaves_nothing_behind(self, bench, project: Path) -> None:
        bench.write(".nebula/config.json", '{"checks": ["touch litter.txt; echo fine"]}')
        script = [Turn("", [Call("runCheck", {"name": "touch litter.txt; echo fine"})]), Turn("Done.")]
        with ScriptedModel(script) as server:
            done = bench.run("nebula", "-p", "go", "--trust", "--output-format", "stream-json", **server.env())
        (result,) = [e for e in map(json.loads, done.out.splitlines()) if e["type"] == "tool_result"]
        assert result["check"]["passed"]
        assert not (project / "litter.txt").exists()


def test_interrupted_it_ends_with_everything_it_started(bench, project: Path) -> None:
    marker = f"nebula-test-{os.getpid()}"
    script = [Turn("", [Call("runCommand", {"command": f"echo begun; exec -a {marker} sleep 300"})]), Turn("Done.")]
    with ScriptedModel(script) as server:
        turn = bench.start("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **server.env())
        assert turn.stdout is not None
        for text in turn.stdout:
            event = json.loads(text)
            if event["type"] == "output" and event["text"]:
                turn.send_signal(2)
        assert turn.wait(60) == 130
        turn.stderr.close()  # type: ignore[union-attr]
        turn.stdout.close()
    running = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert marker not in running.replace(sys.argv[0], "")


def test_nothing_of_it_is_loaded_before_a_command_runs(bench, project: Path) -> None:
    bench.run("nebula", "doctor")  # finds out what this machine can
    code = (
        "import sys; from nebula.cli.nebula import main; code = main(['-p', 'hi', '--yes'])\n"
        "print([name for name in sys.modules if name.startswith('nebula.sandbox')], file=sys.stderr)"
    )
    with ScriptedModel([Turn("Hello.")]) as server:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=project, env=bench.env(**server.env()), capture_output=True, check=False
        )
    loaded = done.stderr.decode()
    assert "nebula.sandbox.remembered" in loaded, loaded
    assert "command" not in loaded
    assert "contract" not in loaded


def test_a_commit_in_a_layer_has_the_users_name(bench, project: Path) -> None:
    (bench.home / ".gitconfig").write_text('[user]\n\tname = A \\"B\\" C\n\temail = one@example.org\n')
    line = "git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>'; ls -A ~"
    assert ran(bench, line, "--yes")[1]["output"] == 'A "B" C <one@example.org>\n'
    line = "git init -q /tmp/own && cd /tmp/own && git config user.name Own && git commit -q --allow-empty -m x"
    assert ran(bench, f"{line} && git log -1 --format=%an", "--yes")[1]["output"] == "Own\n"


def test_an_interpreter_that_commands_do_not_see_is_pointed_out(bench, project: Path) -> None:
    program = bench.home / "pythons" / "3" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho seen\n")
    program.chmod(0o755)
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(program)
    place = "~/pythons/3"
    _, told, events = ran(bench, ".venv/bin/python", "--yes")
    assert place in told["remark"] and "sandbox_read" in told["remark"]
    assert [event for event in events if event["type"] == "notice" and place in json.dumps(event)]
    assert place in bench.run("nebula", "doctor").out
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"sandbox_read": ["~/pythons"]}))
    _, told, _ = ran(bench, ".venv/bin/python", "--yes")
    assert (told["output"], told.get("remark")) == ("seen\n", None)
    assert place not in bench.run("nebula", "doctor").out


def test_an_ordinary_user_needs_no_privilege(bench, project: Path) -> None:
    """The whole way as somebody who is not root: run, propose, apply, take back."""
    uid = 54321 if os.geteuid() == 0 else os.geteuid()
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        home, theirs = Path(name) / "home", Path(name) / "project"
        home.mkdir()
        shutil.copytree(project, theirs, symlinks=True)
        for path in (Path(name), *Path(name).rglob("*")):
            os.chown(path, uid, uid, follow_symlinks=False)
        before = seen(theirs)
        line = "id -u; rm -r src; echo new > new.txt; chmod 600 run.sh"
        with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
            paths = [Path(nebula.__file__).parent.parent, sysconfig.get_path("purelib")]
            done = subprocess.run(
                [python_for(uid), "-m", "nebula", "-p", "go", "--yes"],
                cwd=theirs,
                env=bench.env(**server.env()) | {"HOME": str(home), "PYTHONPATH": ":".join(map(str, paths))},
                capture_output=True,
                check=False,
                timeout=60,
                **as_user(uid),
            )
            told = json.loads(server.turns[-1].json["messages"][-1]["content"])
        assert done.returncode == 0, done.stderr
        assert (told["exit_code"], told["output"]) == (0, f"{uid}\n")
        assert (theirs / "new.txt").stat().st_uid == uid and not (theirs / "src").exists()
        undo(theirs)
        assert seen(theirs) == before
