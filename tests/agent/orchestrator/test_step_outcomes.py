"""Whether a step is done is what its calls and the files say, never what the model says."""

from __future__ import annotations

import pytest

from nebula.agent.plan.kept_plans import find_plan
from nebula.blame.line_record import UNTOLD, hash_line
from nebula.events import Retry, StepProgress
from nebula.files.home import derived_folder
from nebula.graph.graph import Graph
from scripted_model.planned import Call, Turn, hermes, say, step, write


async def test_a_model_that_insists_on_a_refused_write_is_refused(carry_out, root):
    done = await carry_out([write("../evil.py", "x\n")] * 9, step("1"))
    assert (done.code, done.final.status, done.states) == (2, "refused", ["failed"])
    assert not (root.parent / "evil.py").exists()


async def test_refused_once_and_done_otherwise_is_no_failure(carry_out, root):
    turns = [write("run.sh", "echo\n"), write("run.py", "x = 1\n"), say("Made run.py instead.")]
    done = await carry_out(turns, step("1"), step("2", tool="write_file", parameters={"path": "b.md", "content": "b"}))
    assert (done.code, done.final.status, done.states) == (0, "ok", ["done", "done"])
    assert sorted(path.name for path in root.iterdir() if path.is_file()) == ["b.md", "run.py"]


async def test_what_is_written_beside_a_refused_file_does_not_settle_it(carry_out):
    """In the same message: the model did not yet know that it was refused."""
    both = [Call("write_file", {"path": path, "content": "x\n", "mode": "create"}) for path in ("run.sh", "run.py")]
    done = await carry_out([hermes(Turn("Both.", both)), say("Done.")], step("1"))
    assert (done.code, done.final.status) == (2, "refused")


async def test_a_stray_call_after_the_declared_file_was_written_is_no_failure(carry_out, root, tmp_path):
    turns = [write("a.py", "x = 1\n"), write(".env", "K=1\n"), say("Done.")]
    assert (await carry_out(turns, step("1", files=["./a.py"]))).code == 0
    assert (await carry_out([write("c.py", "x\n"), *turns[1:]], step("1"))).code == 2
    turns = [write("b.py", "x = 1\n"), *turns[1:], say("No.")]
    done = await carry_out(turns, step("1", files=["b.py"]), step("2", files=["no.py"]))
    kept = find_plan(derived_folder(str(root), str(tmp_path / "home")), done.final.node_id)
    assert (done.states, kept.done) == (["done", "failed"], {"1": "I write b.py.\n\nI write .env.\n\nDone."})


async def test_a_declared_file_that_the_model_takes_away_is_no_failure(carry_out, root):
    remove = hermes(Turn("Away with it.", [Call("runCommand", {"command": "rm old.py"})]))
    (root / "old.py").write_text("x = 1\n")
    done = await carry_out([remove, say("Gone.")], step("1", files=["./old.py"]))
    assert (done.code, done.states, (root / "old.py").exists()) == (0, ["done"], False)


async def test_a_declared_file_that_was_there_before_does_not_settle_a_refusal(carry_out, root):
    (root / "a.py").write_text("x = 1\n")
    assert (await carry_out([write(".env", "K=1\n"), say("Done.")], step("1", files=["a.py"]))).code == 2


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src/app.ts", "src/app.ts: files of this kind are not allowed here; EC_ALLOW_EXT says which are: .py, .md"),
        ("AGENTS.md", "AGENTS.md: controls other programs; the user must allow it by name."),
        ("../evil.py", "../evil.py: The path escapes the root; stay below it."),
        ("x" * 5000 + ".py", "x" * 200 + "…: The path is too long"),
    ],
)
async def test_a_refusal_names_the_file_the_rule_and_the_setting(carry_out, path, said):
    done = await carry_out([write(path, "x\n"), say("I could not.")], step("1"))
    assert done.code == 2 and done.remark.startswith(said)
    planned = {"tool": "write_file", "parameters": {"path": path, "content": "x", "mode": "create"}}
    assert (await carry_out([], step("1", **planned))).remark.startswith(said)


async def test_a_secret_file_that_is_allowed_by_name_is_written(carry_out, root):
    done = await carry_out([write(".env", "K=1\n"), say("Done.")], step("1"), allow=(".env",))
    assert (done.code, (root / ".env").read_text()) == (0, "K=1\n")


async def test_what_a_secret_file_held_before_is_in_no_record(carry_out, root):
    (root / ".env").write_text("K=value-before\nSAID=the task\n")  # the prompt, too, comes before it is read
    wrote = write("a.py", "key = 'value-before'\nlighthouse = 1\n")
    done = await carry_out([wrote, say("I wrote value-before.")], step("1"), allow=(".env",))
    assert (done.events[0].prompt, done.final.text) == ("[redacted]", "I write a.py.\n\nI wrote [redacted].")
    [written] = Graph(root / ".nebula/graph").get_node(done.final.node_id).files
    assert written.wrote == f"1:{UNTOLD}{hash_line(b'lighthouse = 1')}"
    records = [path for path in (root / ".nebula").rglob("*") if path.is_file() and "journal" not in path.parts]
    assert len(records) > 3 and not [path for path in records if b"value-before" in path.read_bytes()]


async def test_what_a_plan_writes_into_a_secret_file_is_in_no_record(carry_out, root, tmp_path):
    into = {"path": ".env", "content": "K=planned-value\nPIN=x9y8\n"}
    planned = step("1", tool="write_file", parameters=into), step("2", "Say it.")
    for options in ({"dry_run": True}, {}):
        done = await carry_out([say("It is planned-value.")], *planned, allow=(".env",), **options)
        assert (done.code, done.final.text) == (0, "It is [redacted].")
        assert "b/.env" in (done.final.forecast or "b/.env")
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and "journal" not in path.parts]
    assert [path.name for path in kept if b"x9y8" in (text := path.read_bytes()) or b"planned-value" in text] == [
        ".env"
    ]


async def test_overwrite_makes_what_is_not_there(carry_out, root):
    planned = step("2", tool="write_file", parameters={"path": "b.py", "content": "b = 1\n", "mode": "overwrite"})
    done = await carry_out([write("new/a.py", "a = 1\n", "overwrite"), say("Done.")], step("1"), planned)
    assert (done.code, done.states) == (0, ["done", "done"])
    assert [(root / name).read_text() for name in ("new/a.py", "b.py")] == ["a = 1\n", "b = 1\n"]


async def test_a_file_that_has_its_content_already_was_written(carry_out, root):
    (root / "a.py").write_text("a = 2\n")
    script = [write("a.py", "a = 1\n"), write("a.py", "a = 2\n", "overwrite"), say("Written.")]
    done = await carry_out(script, step("1", files=["a.py"]))
    assert (done.code, done.states) == (0, ["done"])


async def test_overwrite_of_what_was_not_read_is_not_done_blindly(carry_out, root):
    (root / "a.py").write_text("precious = 1\n")
    done = await carry_out([write("a.py", "x = 1\n", "overwrite"), say("Overwritten.")], step("1"))
    assert (done.code, done.final.status) == (1, "error")
    assert done.remark.startswith("Not written: a.py. ") and "read" in done.remark
    assert (root / "a.py").read_text() == "precious = 1\n"


async def test_a_task_that_is_run_twice_succeeds_twice(carry_out, root):
    for mode in ("create", "overwrite"):
        for _ in range(2):
            done = await carry_out([write(f"{mode}.py", "x = 1\n", mode), say("It is there.")], step("1"))
            assert (done.code, (root / f"{mode}.py").read_text()) == (0, "x = 1\n")


async def test_a_declared_file_that_is_not_there_is_a_failure_whatever_the_model_says(carry_out):
    done = await carry_out([say("I wrote one.md.")], step("1", files=["one.md"]), step("2"))
    assert (done.code, done.states) == (1, ["failed", "not_run"])
    assert [each.title for each in done.final.steps] == ["Step 1", "Step 2"]
    assert done.remark == "Files that the plan declares are not there: one.md"


async def test_what_is_declared_may_be_a_folder_or_a_pattern(carry_out, root):
    (root / "lib").mkdir()
    declared = ["lib", "src/*.py", "./src/a.py"]
    done = await carry_out([write("src/a.py", "x = 1\n"), say("Done.")], step("1", files=declared))
    assert done.code == 0
    done = await carry_out([say("Done.")], step("1", files=["/etc/passwd", "src/*.js", "../x"]))
    assert done.remark.endswith("/etc/passwd, src/*.js, ../x")


async def test_a_dry_run_sees_what_it_would_have_written(carry_out, root):
    done = await carry_out([write("a.py", "x = 1\n"), say("Done.")], step("1", files=["a.py"]), dry_run=True)
    assert done.code == 0 and not (root / "a.py").exists() and "+x = 1" in (done.final.forecast or "")


async def test_a_declared_file_that_is_gone_in_the_end_fails_the_task(carry_out, root):
    asked = []

    def model(request):
        asked.append(request)
        if len(asked) == 1:
            return write("a.py", "x = 1\n")
        if len(asked) == 3:
            (root / "a.py").unlink()  # somebody else, while the second step is at work
        return say("Done.")

    done = await carry_out(model, step("1", files=["a.py"]), step("2"))
    assert (done.code, done.states) == (1, ["done", "done"])
    assert done.remark == "Files that the plan declares are not there: a.py"


async def test_retry_means_once_more_and_then_the_rest_is_not_done(carry_out):
    turns = [say("Done."), say("Done."), say("Never asked.")]
    done = await carry_out(turns, step("1", files=["a.py"], on_error="retry"), step("2"))
    assert (done.code, done.states) == (1, ["failed", "not_run"])
    attempts = [each.attempt for each in done.events if isinstance(each, StepProgress) and each.state == "started"]
    assert attempts == [1, 2] and not [each for each in done.events if isinstance(each, Retry)]


async def test_retry_that_succeeds_goes_on(carry_out):
    turns = [say("Done."), write("a.py", "x\n"), say("Done."), say("Done.")]
    done = await carry_out(turns, step("1", files=["a.py"], on_error="retry"), step("2"))
    assert (done.code, done.states) == (0, ["done", "done"])


async def test_skip_goes_on_and_what_depends_on_it_is_skipped(carry_out):
    turns = [say("Done."), say("Done.")]
    steps = [step("1", files=["a.py"], on_error="skip"), step("2", depends_on=["1"]), step("3")]
    done = await carry_out(turns, *steps)
    assert (done.code, done.states) == (1, ["failed", "skipped", "done"])


async def test_a_planned_file_that_is_there_already_is_the_model_s_to_decide(carry_out, root):
    (root / "a.py").write_text("old = 1\n")
    what = {"path": "a.py", "content": "new = 1\n", "mode": "create"}
    read = hermes(Turn("I read it.", [Call("read_file", {"path": "a.py"})]))
    stray = write(".env", "K=1\n")  # no failure, since what the step declares is written
    turns = [read, write("a.py", "new = 1\n", "overwrite"), stray, say("Done.")]
    done = await carry_out(turns, step("1", tool="write_file", parameters=what, files=["a.py"]))
    assert (done.code, (root / "a.py").read_text()) == (0, "new = 1\n")
    assert "The plan says to create a.py, but:" in done.prompts[0] and "new = 1" in done.prompts[0]


async def test_a_planned_tool_that_fails_is_said_with_its_reason(carry_out):
    done = await carry_out([], step("1", tool="read_file", parameters={"path": "missing.py"}))
    assert (done.code, done.states) == (1, ["failed"]) and done.remark.startswith("missing.py:")
    done = await carry_out([], step("1", tool="write_file", parameters={"path": "x.exe", "content": ""}))
    assert (done.code, done.final.status) == (2, "refused") and "EC_ALLOW_EXT" in done.remark


async def test_a_planned_command_that_fails_is_a_failed_step(carry_out):
    done = await carry_out([], step("1", tool="runCommand", parameters={"command": "exit 3"}), step("2"))
    assert (done.code, done.states) == (1, ["failed", "not_run"])
    assert done.remark == "The command ended with exit code 3."
    done = await carry_out([], step("1", tool="runCommand", parameters={"command": "sleep 9", "timeout_s": 1}))
    assert done.code == 1 and done.remark.startswith("The command was stopped")
    done = await carry_out([], step("1", tool="runCommand", parameters={"command": "echo hi > a.txt"}, files=["a.txt"]))
    assert done.code == 0
    gone = step("1", tool="runCommand", parameters={"command": "rm a.txt"}, files=["a.txt"])
    assert (await carry_out([], gone)).code == 0


def command(line):
    return hermes(Turn("I run it.", [Call("run_command", {"command": line})]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo x > bad.sh", "Left out, because EC_ALLOW_EXT does not name files of this kind: bad.sh."),
        ("echo x > .env", "Left out, because EC_ALLOW_EXT does not name files of this kind: .env."),
    ],
)
async def test_what_a_command_made_and_the_policy_left_out_is_named_and_refused(carry_out, root, line, said):
    for turns, planned in (
        ([command(line), say("Done.")], step("1")),
        ([], step("1", tool="run_command", parameters={"command": line})),
    ):
        done = await carry_out(turns, planned)
        assert (done.code, done.final.status, done.remark) == (2, "refused", said)
    assert sorted(path.name for path in root.iterdir()) == [".nebula"]


async def test_a_change_of_the_repository_that_was_left_out_names_the_option(carry_out, root):
    done = await carry_out([command("git init -q"), say("Done.")], step("1"))
    assert (done.code, done.final.status) == (2, "refused") and "--allow .git" in done.remark
    assert not (root / ".git").exists()


async def test_what_is_applied_beside_it_stays_and_a_later_change_settles_it(carry_out, root):
    turns = [command("echo x > bad.sh; echo y > good.md"), say("Done.")]
    done = await carry_out(turns, step("1"))
    assert (done.code, (root / "good.md").read_text()) == (2, "y\n")
    done = await carry_out([command("echo x > bad.sh"), write("good.py", "x = 1\n"), say("Done.")], step("1"))
    assert done.code == 0


async def test_a_change_of_the_repository_that_was_left_out_is_not_settled_by_anything(carry_out):
    turns = [command("git init -q"), write("a.py", "x = 1\n"), command("true"), command("exit 1"), say("Done.")]
    assert (await carry_out(turns, step("1"))).code == 2


async def test_what_a_step_reads_is_cut_to_the_room_of_its_model(carry_out, root):
    (root / "long.py").write_text("".join(f"x{number} = {number}\n" for number in range(20_000)))
    look = hermes(Turn("Reading.", [Call("read_file", {"path": "long.py"})]))
    done = await carry_out([look, say("Read.")], step("1"), settings={"context_tokens": 8_000})
    assert done.code == 0 and 8_000 < len(done.prompts[1]) < 16_000


@pytest.mark.parametrize(("command", "code", "states"), [("true", 0, ["done"]), ("false", 1, ["failed"])])
async def test_a_step_that_names_a_kind_of_check_runs_it(carry_out, command, code, states):
    settings = {"checks": (f"pytest() {{ {command}; }}; pytest",), "trust": True, "repair_rounds": 0}
    done = await carry_out([], step("1", tool="run.test"), settings=settings)
    assert (done.code, done.states) == (code, states)
