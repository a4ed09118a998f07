"""The interactive session in this process: what a person types and sees."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence

import pytest

from conftest import Bench
from in_process import Ran, run_here, sit_down_here
from nebula.cli.terminal.input.keys import ONE_KEY_S
from nebula.cli.terminal.input.typed_ahead import QUIET_S
from nebula.graph.graph import Graph
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn
from terminal_driver import CTRL_C, CTRL_D, CTRL_O, CTRL_R, ENTER, ESCAPE, Person

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\ntwo\n"})
ASK = "Go ahead? (y/N):"


def prompts_sent(server: ScriptedModel) -> list[str]:
    return [_last_prompt(request.json) for request in server.turns]


def _last_prompt(body: dict) -> str:
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    found = re.search("--- USER MESSAGE BEGIN ---\n(.*)--- USER MESSAGE END ---", users[-1], re.DOTALL)
    return found[1] if found else users[-1]


def leave(screen: Person) -> None:
    screen.prompt()
    screen.send(CTRL_D)


def test_a_command_that_cannot_be_carried_out_leaves_one_where_one_was(bench: Bench) -> None:
    """No model is there any more for a new session; the one at hand goes on."""
    with ScriptedModel([Turn("One.")]) as server:

        def person(screen: Person) -> None:
            screen.prompt()
            screen.line("first question")
            screen.prompt(times=2)
            server.stop()
            screen.line("/clear")
            screen.wait("No model can be reached.")
            screen.prompt(times=3)
            screen.line("/sessions")
            screen.wait("first question", times=2)
            screen.prompt(times=4)
            screen.send(CTRL_D)

        code, _ = sit_down_here(bench, person, **server.env("ollama"))
    assert code == 0


# Ctrl-R and /edit


def test_enter_takes_what_ctrl_r_found_and_later_lines_are_sent(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("first question")
        screen.prompt(times=2)
        screen.send(CTRL_R)
        screen.wait("I-search backward:")
        screen.send("first")
        screen.wait("[AGENT] You: first question", times=2)
        screen.send(ENTER)
        screen.prompt(times=2)
        screen.send(ENTER)
        screen.prompt(times=3)
        screen.line("and a new one")
        screen.prompt(times=4)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        code, _ = sit_down_here(bench, person, **server.env())
    assert code == 0
    assert prompts_sent(server) == ["first question", "first question", "and a new one"]


def test_ctrl_c_in_an_edit_keeps_things_as_they_are(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("first question")
        screen.prompt(times=2)
        screen.line("/edit")
        screen.wait("Ctrl-C keeps things as they are")
        screen.prompt(times=3)
        screen.send(CTRL_C)
        screen.wait("Everything stays as it is.")
        screen.prompt(times=4)
        screen.line("second question")
        screen.wait("Two.")
        screen.prompt(times=5)
        screen.line("/tree")
        screen.prompt(times=6)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        _, screen = sit_down_here(bench, person, **server.env())
    assert "├" not in screen.text, "no branch"
    assert re.search(r"^  [\w-]+  first question\n\* [\w-]+  second question$", screen.text, re.M)


# Approvals


@pytest.mark.parametrize("answer", ["y", "ok", "OK.", "yes please", "はい", "ｙ", "お願いします"])
def test_plain_words_of_agreement_agree(bench: Bench, answer: str) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("Written.")]) as server:
        ran = run_here(bench, "nebula", stdin=f"write\n{answer}\nexit\n", **server.env())
    assert "Written." in ran.out and (bench.project / "notes.txt").exists()


@pytest.mark.parametrize("answer", ["", "n", "no", "いいえ", "use tabs instead", "okapi"])
def test_anything_else_refuses_and_a_sentence_is_told_to_the_model(bench: Bench, answer: str) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("As you wish.")]) as server:
        ran = run_here(bench, "nebula", stdin=f"write\n{answer}\nexit\n", **server.env())
    assert "Refused. The model is told" in ran.out and not (bench.project / "notes.txt").exists()
    told = str(server.turns[-1].json["messages"][-1])
    assert (answer in told) if len(answer) > 3 else ("did not allow" in told)


def test_yes_to_all_is_marked_and_can_be_taken_back(bench: Bench) -> None:
    second = Call("writeFile", {"path": "more.txt", "content": "x"})
    third = Call("writeFile", {"path": "third.txt", "content": "x"})

    def person(screen: Person) -> None:
        screen.prompt()
        assert "yes to all" not in screen.text
        screen.line("write")
        screen.wait(ASK)
        screen.line("a")
        screen.wait("Both.")
        screen.prompt(times=2)
        screen.wait("yes to all (/permissions) · agent")
        screen.line("/permissions")
        screen.wait("*  every change of ordinary files")
        screen.wait("Take all of them back now? (y/N):")
        screen.line("y")
        screen.wait("From now on everything is asked about.")
        screen.prompt(times=3)
        screen.line("again")
        screen.wait(ASK, times=2)
        screen.line("n")
        screen.wait("Not then.")
        leave(screen)

    with ScriptedModel([Turn("", [CREATE, second]), Turn("Both."), Turn("", [third]), Turn("Not then.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert (bench.project / "more.txt").exists() and not (bench.project / "third.txt").exists()


def test_a_yes_is_taken_back_while_the_turn_that_it_was_given_in_is_at_work(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.line("a")
        server.wait_until(lambda: len(server.turns) == 2)
        screen.line("/permissions")
        screen.wait("/permissions revoke NAME takes one back")
        screen.line("/permissions revoke *")
        screen.wait("From now on everything is asked about.")
        held.set()
        screen.wait(ASK, times=2)
        screen.line("n")
        screen.wait("Not then.")
        leave(screen)

    held, second = threading.Event(), Call("writeFile", {"path": "more.txt", "content": "x"})
    with ScriptedModel([Turn("", [CREATE]), Turn("", [second], until=held), Turn("Not then.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert (bench.project / "notes.txt").exists() and not (bench.project / "more.txt").exists()


def test_what_the_command_line_allowed_can_be_taken_back_too(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("No.")]) as server:
        ran = run_here(bench, "nebula", "--yes", stdin="/permissions ask\nwrite\nn\nexit\n", **server.env())
    assert "yes to all (/permissions)" in ran.out and ASK in ran.out
    assert not (bench.project / "notes.txt").exists()


def test_a_network_that_was_taken_back_is_no_delegates_either(bench: Bench) -> None:
    told: list[str] = []

    def answer(request: RecordedRequest) -> Turn:
        said = str(request.json["messages"][-1])
        if "PART" in said:
            return Turn("", [Call("runCommand", {"command": "true", "network": True})])
        if "WHOLE" in said:
            return Turn("", [Call("delegate", {"task": "PART"})])
        told.append(said)
        return Turn("Done.")

    typed = "/permissions revoke network\nWHOLE\nexit\n"
    with ScriptedModel(answer) as server:
        run_here(bench, "nebula", "--allow-network", stdin=typed, **server.env())
    assert "was not run" in told[0], "the delegate's command"


def test_a_pattern_is_allowed_and_shown(bench: Bench) -> None:
    second = Call("writeFile", {"path": "more.txt", "content": "x"})
    with ScriptedModel([Turn("", [CREATE]), Turn("One."), Turn("", [second]), Turn("Two.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\np\nagain\n/permissions\n\nexit\n", **server.env())
    assert "yes to *.txt (/permissions)" in ran.out and (bench.project / "more.txt").exists()


def test_the_diff_and_all_of_a_message(bench: Bench) -> None:
    second = Call("writeFile", {"path": "more.txt", "content": "x\n"})
    with ScriptedModel([Turn("", [CREATE, second]), Turn("Both.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\nd\nm\nexit\n", **server.env())
    assert "This message writes 2 files:" in ran.out and "+two" in ran.out
    assert "All 2 writes of this message are allowed." in ran.out and ran.out.count(ASK) == 2


def test_what_a_message_writes_is_listed_for_each_message(bench: Bench) -> None:
    def message(content: str) -> Turn:
        return Turn("", [Call("writeFile", {"path": path, "content": content}) for path in ("a.txt", "b.txt")])

    with ScriptedModel([message("x\n"), message("x\ny\n"), Turn("None.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\nn\nn\nn\nn\nexit\n", **server.env())
    assert ran.out.count("This message writes 2 files:") == 2 and ran.out.count("  b.txt (+2 −0)") == 1


def test_a_yes_to_the_whole_message_is_not_offered_for_the_last_of_it(bench: Bench) -> None:
    second = Call("writeFile", {"path": "more.txt", "content": "x\n"})
    with ScriptedModel([Turn("", [CREATE, second]), Turn("Both.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\ny\ny\nexit\n", **server.env())
    assert ran.out.count(ASK) == 2 and ran.out.count("m yes to all 2 of this message") == 1


def test_one_key_answers_a_plain_question(bench: Bench) -> None:
    def person(seen: Person) -> None:
        seen.wait("You:")
        seen.line("# remember use tabs")
        seen.wait("Add this to AGENTS.md? (y/N):")
        seen.send("y")
        seen.wait("Written to AGENTS.md")
        seen.send("\x04")

    with ScriptedModel([]) as server:
        sit_down_here(bench, person, **server.env())
    assert bench.read("AGENTS.md") == "- use tabs\n"


def asked_about(bench: Bench, call: Call, answers: str = "n\n") -> str:
    """What is printed when the model wants to do this, and it is refused."""
    with ScriptedModel([Turn("", [call]), Turn("No.")]) as server:
        return run_here(bench, "nebula", stdin=f"do it\n{answers}exit\n", **server.env()).out


@pytest.mark.parametrize(("lines", "shown"), [(8, True), (11, False)])
def test_a_diff_that_fits_half_the_screen_is_shown_with_the_question(bench: Bench, lines: int, shown: bool) -> None:
    """Of 24 rows, as where nobody says how many there are: three lines of head, and these."""
    out = asked_about(bench, Call("writeFile", {"path": "new.txt", "content": "word\n" * lines}))
    assert ("+word\n" in out.split(ASK)[0]) is shown


def test_a_command_whose_changes_fit_shows_them_with_the_question(bench: Bench) -> None:
    asked = asked_about(bench, Call("runCommand", {"command": "echo one > a.txt; echo two > b.txt"})).split(ASK)[0]
    assert "+one\n" in asked and "+two\n" in asked


@pytest.mark.parametrize(("lines", "offered"), [(2, 0), (40, 1)])
def test_the_diff_is_offered_only_where_it_is_not_in_sight(bench: Bench, lines: int, offered: int) -> None:
    """And when it was shown, the ways to answer stand below it again."""
    out = asked_about(bench, Call("writeFile", {"path": "new.txt", "content": "word\n" * lines}), "d\nn\n")
    assert out.count("d show the diff") == offered and out.count("y yes · n no") == 2
    assert "+word\n" in out and "or say why not" in out.split(ASK)[1]


def test_the_one_file_of_a_command_is_named_once(bench: Bench) -> None:
    asked = asked_about(bench, Call("runCommand", {"command": "echo one > out.txt"})).split(ASK)[0]
    assert asked.count("created  out.txt (+1 −0)") == 1 and "+one\n" in asked and "d show" not in asked


def test_a_session_is_listed_on_one_line_with_what_it_is_about(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("fix the parser of the shop, please")
        screen.wait("They ran.")
        screen.prompt(times=2)
        screen.line("/sessions")
        screen.prompt(times=3)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("They ran.")]) as server:
        _, screen = sit_down_here(bench, person, columns=80, **server.env())
    listed = r"session_\d{8}_\d{6}_\w{8}  \d{4}-\d\d-\d\d \d\d:\d\d  fix the parser of the"
    assert re.search(rf"^\* {listed}.{{1,8}}$\n\n?\[AGENT\]", screen.text, re.M)
    _, shell = sit_down_here(bench, lambda screen: screen.wait("fix the parser"), "sessions", columns=80)
    assert re.fullmatch(rf"{listed}.{{1,8}}", shell.text.strip())


def asked_by_hunks(bench: Bench, changed: Sequence[int], answers: str) -> Ran:
    """The model changes these of forty lines."""
    bench.write("a.txt", "".join(f"line {number}\n" for number in range(40)))
    edits = [{"old_text": f"line {number}\n", "new_text": f"LINE {number}\n"} for number in changed]
    script = [
        Turn("", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "edits": edits})]),
        Turn("So be it."),
    ]
    with ScriptedModel(script) as server:
        return run_here(bench, "nebula", stdin=f"edit\n{answers}exit\n", **server.env())


def test_hunks_are_chosen_one_by_one(bench: Bench) -> None:
    ran = asked_by_hunks(bench, (2, 20, 38), "h\ny\nn\nはい\n")
    assert "h choose hunk by hunk" in ran.out and "Take hunk 3 of 3? (y/N):" in ran.out
    first, second = ran.out.split("Take hunk 1 of 3?")
    assert "+LINE 2\n" in first and "+LINE 20" not in first and "+LINE 20\n" in second.split("Take hunk 2 of 3?")[0]
    text = bench.read("a.txt")
    assert "LINE 2\n" in text and "line 20\n" in text and "LINE 38\n" in text


@pytest.mark.parametrize(("answers", "taken"), [("h\nn\nr\n", [20, 38]), ("h\ny\nq\n", [2]), ("h\nｒ\n", [2, 20, 38])])
def test_the_rest_of_the_hunks_is_taken_or_left_by_one_key(bench: Bench, answers: str, taken: list[int]) -> None:
    ran = asked_by_hunks(bench, (2, 20, 38), answers)
    assert "r yes to the rest" in ran.out and "So be it." in ran.out
    assert [number for number in (2, 20, 38) if f"LINE {number}\n" in bench.read("a.txt")] == taken


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "taken"), [("nr", ["b", "c"]), ("yq", ["a"])])
def test_the_files_of_a_command_are_chosen_by_single_keys(bench: Bench, keys: str, taken: list[str]) -> None:
    def person(seen: Person) -> None:
        seen.wait("You:")
        seen.line("go")
        seen.wait("f choose file by file")
        seen.send("f")
        for number, key in enumerate(keys, 1):
            seen.wait(f"Take file {number} of 3? (y/N):")
            seen.send(key)
        seen.wait("Made.")
        seen.send(CTRL_D)

    script = [Turn("", [Call("runCommand", {"command": "touch a b c"})]), Turn("Made.")]
    with ScriptedModel(script) as server:
        sit_down_here(bench, person, **server.env())
    assert [name for name in "abc" if (bench.project / name).exists()] == taken


@pytest.mark.parametrize(
    ("answers", "told", "said"),
    [
        (
            "h\ny\nthat is tested elsewhere\n",
            "The user said: that is tested elsewhere\\nThe user left out a part",
            "The rest was left out. The model is told why.",
        ),
        ("h\nnot now\nnor this\n", "The user refused: not now nor this", "Refused. The model is told why."),
    ],
)
def test_what_is_said_of_a_hunk_is_told_the_model(bench: Bench, answers: str, told: str, said: str) -> None:
    bench.write("a.txt", "".join(f"line {number}\n" for number in range(40)))
    edits = [{"old_text": f"line {number}\n", "new_text": f"LINE {number}\n"} for number in (2, 20)]
    read, edit = Call("readFile", {"path": "a.txt"}), Call("editFile", {"path": "a.txt", "edits": edits})
    with ScriptedModel([Turn("", [read]), Turn("", [edit]), Turn("So be it.")]) as server:
        ran = run_here(bench, "nebula", stdin=f"edit\n{answers}exit\n", **server.env())
        assert told in server.turns[-1].json["messages"][-1]["content"]
    assert [line for line in ran.out.splitlines() if "The model is told" in line] == [said]


def test_a_slip_at_a_hunk_leaves_nothing_out(bench: Bench) -> None:
    ran = asked_by_hunks(bench, (2,), "h\nx\n/help\ny\n")
    assert "x is not an answer to this question." in ran.out and "/help is not an answer" in ran.out
    assert "LINE 2\n" in bench.read("a.txt")


def test_an_enter_that_comes_late_answers_no_other_question(bench: Bench) -> None:
    """A key answers by itself; whoever ends every answer with Enter, slowly, did not mean the next question."""

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("write")
        screen.wait(ASK)
        screen.send("y")
        time.sleep(ONE_KEY_S + 0.1)
        screen.send(ENTER)
        screen.wait(ASK, times=2)
        screen.line("y")
        screen.wait("Written.")
        screen.prompt()
        screen.send(CTRL_C)
        screen.send(CTRL_D)

    writes = [Call("writeFile", {"path": f"{name}.txt", "content": "x\n"}) for name in "ab"]
    with ScriptedModel([Turn("", writes), Turn("Written.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert [(bench.project / f"{name}.txt").exists() for name in "ab"] == [True, True]


def test_a_key_typed_twice_refuses_nothing(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("Written.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\nyy\ny\nexit\n", **server.env())
    assert "yy is not an answer to this question." in ran.out and (bench.project / "notes.txt").exists()


@pytest.mark.slow
def test_what_is_said_of_a_file_that_a_command_changed_is_told_the_model(bench: Bench) -> None:
    script = [Turn("", [Call("runCommand", {"command": "touch a b"})]), Turn("Made.")]
    with ScriptedModel(script) as server:
        run_here(bench, "nebula", stdin="go\nf\ny\nb is generated\nexit\n", **server.env())
        told = json.loads(server.turns[-1].json["messages"][-1]["content"])
    assert told["changed"] == ["a"] and told["remark"] == "The user said: b is generated\nThe user left out: b."


def test_no_hunk_at_all_is_a_no(bench: Bench) -> None:
    ran = asked_by_hunks(bench, (2, 20), "h\n\n\n")
    assert "Refused. The model is told." in ran.out and "LINE" not in bench.read("a.txt")


@pytest.mark.parametrize(("answer", "line"), [("y", "LINE 2\n"), ("", "line 2\n")])
def test_a_single_hunk_is_chosen_as_well(bench: Bench, answer: str, line: str) -> None:
    ran = asked_by_hunks(bench, (2,), f"h\n{answer}\n")
    assert "Take hunk 1 of 1? (y/N):" in ran.out and line in bench.read("a.txt")


def test_where_there_is_no_hunk_the_question_stays(bench: Bench) -> None:
    script = [Turn("", [Call("writeFile", {"path": "empty.txt", "content": ""})]), Turn("So be it.")]
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", stdin="go\nh\ny\nexit\n", **server.env())
    assert ran.out.count(ASK) == 2 and bench.read("empty.txt") == ""


# The live line and backstage


def test_the_live_line_says_what_it_waits_for_and_how_to_interrupt(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("go")
        screen.wait("rate limited, again in ")
        screen.wait("2 of 4")
        screen.wait("Esc interrupts")
        screen.send(ESCAPE)
        screen.wait("Interrupted")
        leave(screen)

    with ScriptedModel([Fault.status_code(429, retry_after="30")] * 4) as server:
        sit_down_here(bench, person, **server.env())


def test_ctrl_o_reveals_what_has_run(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("look")
        screen.wait("Seen.")
        screen.prompt(times=2)
        assert "· list" not in screen.text
        screen.send(CTRL_O)
        screen.wait("· list → Success")
        screen.wait("backstage")
        screen.prompt(times=2)
        screen.send(CTRL_O)
        screen.wait("Backstage off.")
        leave(screen)

    bench.write("a.txt", "x")
    with ScriptedModel([Turn("Looking.", [Call("list", {"path": "."})]), Turn("Seen.")]) as server:
        sit_down_here(bench, person, **server.env())


def test_sentences_of_the_program_break_between_words(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("/help")
        screen.prompt(times=2)
        screen.send(CTRL_D)

    with ScriptedModel([]) as server:
        _, screen = sit_down_here(bench, person, columns=50, **server.env())
    words = "send; \\+Enter, Alt+Enter or Ctrl+J begin a new line"
    at = next(number for number, line in enumerate(screen.lines) if "send;" in line)
    shown = [line.strip() for line in screen.lines[at : at + 3]]
    assert " ".join(shown).startswith(f"Enter              {words}")
    assert screen.lines[at + 1].startswith(" " * 21)


# Branches and ids


def test_fork_takes_the_number_of_its_menu_and_an_id_of_the_tree(bench: Bench) -> None:
    turns = [Turn(f"Answer {n}.") for n in range(5)]
    with ScriptedModel(turns) as server:
        ran = run_here(bench, "nebula", stdin="one\ntwo\nthree\n/tree\n/fork\n\nexit\n", **server.env())
        menu = dict(re.findall(r"^[ *] +(\d)  [\w-]+  (one|two|three)$", ran.out, re.M))
        assert menu == {"1": "three", "2": "two", "3": "one"}
        ids = {prompt: node for node, prompt in re.findall(r"^[ *] ([\w-]+)  (one|two|three)$", ran.out, re.M)}
        script = f"/fork 3\n/fork {ids['two']}\n/fork 0badcafe\nfour\n/diff {ids['one']}\nexit\n"
        again = run_here(bench, "nebula", "-c", stdin=script, **server.env())
    assert re.findall("The next prompt continues from: (.*)", again.out) == ["one", "two"]
    assert "0badcafe" in again.out
    sent = str(server.turns[-1].json["messages"])
    assert "Answer 1." in sent and "Answer 2." not in sent


def test_retry_says_that_files_stay_changed_also_in_a_later_run(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        ran = run_here(bench, "nebula", "--yes", stdin="write\n/retry\nexit\n", **server.env())
        assert "What the last turn changed stays: notes.txt." in ran.out
    with ScriptedModel([Turn("", [CREATE]), Turn("Two.")]) as server:
        (bench.project / "notes.txt").unlink()
        run_here(bench, "nebula", "--yes", "-p", "write", **server.env())
    with ScriptedModel([Turn("Three.")]) as server:
        ran = run_here(bench, "nebula", "-c", stdin="/retry\nexit\n", **server.env())
    assert "What the last turn changed stays: notes.txt." in ran.out


@pytest.mark.parametrize("is_resumed", [False, True])
def test_tries_of_a_first_prompt_are_siblings_and_fork_offers_them(bench: Bench, is_resumed: bool) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three."), Turn("On."), Turn("Four.")]) as server:
        if is_resumed:
            run_here(bench, "nebula", stdin="why?\nexit\n", **server.env())
            run_here(bench, "nebula", "-c", stdin="/retry\nexit\n", **server.env())
            ran = run_here(
                bench, "nebula", "-c", stdin="/edit how?\nand?\n/retry\n/fork\n\n/tree\nexit\n", **server.env()
            )
        else:
            script = "why?\n/retry\n/edit how?\nand?\n/retry\n/fork\n\n/tree\nexit\n"
            ran = run_here(bench, "nebula", stdin=script, **server.env())
    with Graph(bench.project / ".nebula/graph") as graph:
        nodes = {node.response: node for node in graph.list_nodes()}
        tries = [nodes[answer].id for answer in ("One.", "Two.", "Three.")]
        assert all(graph.list_tries(nodes[answer]) == tries for answer in ("One.", "Two.", "Three."))
        assert [nodes[answer].beginning for answer in ("One.", "Two.", "Three.")] == ["", tries[0], tries[0]]
        assert nodes["On."].beginning == nodes["Four."].beginning == ""
    drawn = [line for line in ran.out.splitlines() if line.startswith(("├ ", "│ ", "└ ", "  ├", "  └"))]
    assert [f"{line[:3].rstrip()} {line.split()[-1]}" for line in drawn[:3]] == ["├ why?", "├ why?", "└ how?"]
    offered = ran.out.partition("newest first:")[2]
    assert offered.count("(another try of the first)") == 2
    assert offered.index("how?") < offered.index("why? (another try of the first)")


# The other commands


def test_what_was_used_is_told_in_the_singular_too(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        ran = run_here(bench, "nebula", stdin="/cost\none\n/cost\ntwo\n/cost\nexit\n", **server.env())
    assert "Nothing was asked in this session yet." in ran.out
    assert "This session: 1 turn, 100 tokens in, 20 out" in ran.out
    assert "This session: 2 turns, 200 tokens in, 40 out" in ran.out


def test_files_go_back_and_forth(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("Done.")]) as server:
        script = "/undo\nwrite\n/diff\n/undo\n/undo\n/redo\n/redo\n/restore\nexit\n"
        ran = run_here(bench, "nebula", "--yes", stdin=script, **server.env())
    for said in ("There is nothing to undo.", "+two", "Taken back: notes.txt", "Done again: notes.txt"):
        assert said in ran.out
    assert "There is nothing to redo." in ran.out and "/restore works right after /fork" in ran.out
    assert bench.read("notes.txt") == "one\ntwo\n"


def test_an_undo_that_is_refused_says_so_once(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("Done.")]) as server:
        run_here(bench, "nebula", "--yes", "-p", "write", **server.env())
        bench.write("notes.txt", "mine\n")
        ran = run_here(bench, "nebula", "-c", stdin="/undo\nexit\n", **server.env())
    assert ran.out.lower().count("nothing was touched") == 1 and bench.read("notes.txt") == "mine\n"


def test_what_is_gone_already_is_not_taken_back_and_not_brought_back(bench: Bench) -> None:
    earlier = Call("writeFile", {"path": "first.txt", "content": "x\n"})
    with ScriptedModel([Turn("", [earlier]), Turn("One."), Turn("", [CREATE]), Turn("Two.")]) as server:
        run_here(bench, "nebula", "--yes", "-p", "write", **server.env())
        run_here(bench, "nebula", "--yes", "-c", "-p", "write", **server.env())
        (bench.project / "notes.txt").unlink()
        ran = run_here(bench, "nebula", "-c", stdin="/undo\n/redo\n/undo\nexit\n", **server.env())
    assert "The files are already as they were before; there is nothing to take back." in ran.out
    assert "There is nothing to redo." in ran.out and not (bench.project / "notes.txt").exists()
    assert re.findall("Taken back: .*", ran.out) == ["Taken back: first.txt"]


def test_what_was_done_again_by_hand_is_not_done_twice(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("Done.")]) as server:
        run_here(bench, "nebula", "--yes", "-p", "write", **server.env())
        run_here(bench, "nebula", "-c", stdin="/undo\nexit\n", **server.env())
        bench.write("notes.txt", "one\ntwo\n")
        ran = run_here(bench, "nebula", "-c", stdin="/redo\nexit\n", **server.env())
    assert "The files are like that already; there was nothing to redo." in ran.out and "Done again" not in ran.out


@pytest.mark.parametrize("back", ["/history notes.txt 1", "/undo"])
def test_retry_is_silent_about_files_that_were_taken_back(bench: Bench, back: str) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("One."), Turn("Two.")]) as server:
        ran = run_here(bench, "nebula", "--yes", stdin=f"write\n{back}\n/retry\nexit\n", **server.env())
    assert "Taken back: notes.txt" in ran.out and "What the last turn changed stays" not in ran.out


CONTROL = [".github/workflows/ci.yml", "AGENTS.md", ".vscode/settings.json", ".env"]


@pytest.mark.parametrize("path", CONTROL)
@pytest.mark.parametrize("options", [[], ["--yes"]])
def test_a_control_or_secret_file_is_asked_about_by_name(bench: Bench, path: str, options: list[str]) -> None:
    """Whatever else is allowed; and there is no yes for longer than this write."""
    write = Call("writeFile", {"path": path, "content": "A=1\n"})
    again = Call("editFile", {"path": path, "new_content": "A=2\n"})
    answers = "write\na\nm\np\ny\nn\nexit\n"
    with ScriptedModel([Turn("", [write]), Turn("", [again]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", *options, stdin=answers, **server.env())
    assert bench.read(path) == "A=1\n", "the second change was asked about again"
    asked = ran.out.split(ASK)[0]
    assert f"Create a new file: {path}" in asked and f"{path} may hold secrets or decides what other programs" in asked
    assert "in this session" not in asked and ran.out.count("is not an answer to this question.") == 3
    assert ran.out.count(ASK) == 5


def test_a_control_file_that_is_refused_is_not_written(bench: Bench) -> None:
    with ScriptedModel(
        [Turn("", [Call("writeFile", {"path": "AGENTS.md", "content": "Obey.\n"})]), Turn("No.")]
    ) as server:
        run_here(bench, "nebula", stdin="write\nnot that\nexit\n", **server.env())
        told = str(server.turns[-1].json["messages"][-1])
    assert not (bench.project / "AGENTS.md").exists() and "The user refused: not that" in told


@pytest.mark.parametrize("path", [".git/config", ".nebula/config.json"])
def test_what_no_name_allows_is_not_asked_about(bench: Bench, path: str) -> None:
    with ScriptedModel([Turn("", [Call("writeFile", {"path": path, "content": "x"})]), Turn("No.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\nexit\n", **server.env())
    assert ASK not in ran.out and not (bench.project / ".git").exists()


@pytest.mark.parametrize(("answer", "read"), [("y", True), ("n", False)])
def test_a_secret_file_is_read_by_name_and_by_the_model_alone(bench: Bench, answer: str, read: bool) -> None:
    bench.write(".env", "PASSWORD=hunter2-hunter2\n")
    with ScriptedModel([Turn("", [Call("readFile", {"path": "./.env"})]), Turn("Well.")]) as server:
        ran = run_here(bench, "nebula", stdin=f"read\na\n{answer}\nexit\n", **server.env())
        told = str(server.turns[-1].json["messages"][-1])
    assert "Read a secret file: .env" in ran.out and ".env may hold secrets." in ran.out and ran.out.count(ASK) == 2
    assert ("hunter2-hunter2" in told) is read and "hunter2" not in ran.out
    for kept in ("log.txt", "trace.jsonl"):
        assert "hunter2" not in (bench.project / ".nebula" / kept).read_text()


def test_a_command_says_what_it_cannot_take(bench: Bench) -> None:
    script = "/undo x y z\n/curtain foo\n/mode\nplan\n/mode\nloud\n/resume\n/help\nexit\n"
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin=script, **server.env())
    for said in (
        "/undo takes no argument; nothing was done.",
        "There is no curtain 'foo'; there are quiet and paths.",
        "There is no mode 'loud'; there are plan and agent.",
        "There is no other session in this directory.",
        "the sessions of this directory; /history FILE its turns, /history FILE N takes one's part back",
    ):
        assert said in ran.out
    assert "nothing to undo" not in ran.out and ran.out.count("Mode: plan") == 1


def test_a_plan_is_made_and_accepted(bench: Bench) -> None:
    with ScriptedModel([Turn("1. Write it."), Turn("", [CREATE]), Turn("Written.")]) as server:
        ran = run_here(bench, "nebula", "--yes", stdin="/accept\n/plan how\nok\nexit\n", **server.env())
    assert "There is no plan to accept." in ran.out
    assert "Mode: plan" in ran.out and "Type accept to carry this plan out" in ran.out
    assert "Plan accepted. Mode: agent" in ran.out and (bench.project / "notes.txt").exists()


def test_modes_and_models_are_chosen_from_lists(bench: Bench) -> None:
    with ScriptedModel([Turn("never")]) as server:
        script = "mode\n2\nmode other\nmode agent\nmodel\n2\nmodel nowhere-9\n/curtain\n/backstage\n/tools\nexit\n"
        ran = run_here(bench, "nebula", stdin=script, **server.env())
    for said in ("Mode: plan", "There is no mode 'other'", "Mode: agent", "Model: gpt-4.1-mini (saved as your choice)"):
        assert said in ran.out
    assert "the live line shows: paths" in ran.out and "Backstage on" in ran.out and "writeFile" in ran.out
    assert '"model": "gpt-4.1-mini"' in (bench.home / ".nebula" / "config.json").read_text("utf-8")


def test_at_the_start_a_number_goes_on_with_one_of_those_that_are_named(bench: Bench) -> None:
    with ScriptedModel(lambda _: Turn("Fine.")) as server:
        for prompt in ("older", "newer"):
            run_here(bench, "nebula", "-p", prompt, **server.env())
        resumed = run_here(bench, "nebula", stdin="\n2\nhow is it?\n2\nexit\n", **server.env())
        fresh = run_here(bench, "nebula", stdin="9\n1\nexit\n", **server.env())
    newest, oldest = (resumed.out.index(said) for said in ("  1  20", "  2  20"))
    assert "newer" in resumed.out[newest:oldest] and "(1 turn so far)" in resumed.out
    assert prompts_sent(server)[2:] == ["how is it?", "2", "9", "1"]
    assert "older" in str(server.turns[2].json["messages"]) and "Resumed" not in fresh.out


def test_sessions_are_listed_left_and_resumed(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        run_here(bench, "nebula", "-p", "first", **server.env())
        first = run_here(bench, "nebula", "sessions", "--json").json[0]["id"]
        script = f"1\n/clear\nsecond\n/sessions\n/resume {first}\n/resume nowhere\n/resume\n\nthird\nexit\n"
        ran = run_here(bench, "nebula", stdin=script, **server.env())
    assert f"Resumed {first} (1 turn so far)" in ran.out and "A new session begins: " in ran.out
    assert "nowhere" in ran.out and f"nebula --resume {first}" in ran.out
    sent = str(server.turns[-1].json["messages"])
    assert "One." in sent and "Two." not in sent


def test_what_is_sent_can_be_looked_at_and_made_smaller(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        ran = run_here(
            bench, "nebula", stdin="/compact\none\ntwo\n/context\n/compact\n/context\nexit\n", **server.env()
        )
    assert "There is nothing to compact" in ran.out and "past turns: 2 in full" in ran.out
    assert "1 more turn goes as a summary" in ran.out and "past turns: 1 in full, 1 as summaries" in ran.out


def test_unknown_words_are_not_sent(bench: Bench) -> None:
    with ScriptedModel([Turn("never")]) as server:
        ran = run_here(bench, "nebula", stdin="/rewind\n/undoo\n/xyzzy\n/graph\n/tree\nexit\n", **server.env())
    assert "nebula has no /rewind. /undo takes back files" in ran.out and "did you mean /undo?" in ran.out
    assert "There is no command /xyzzy" in ran.out and "The conversation graph is empty so far." in ran.out
    assert not server.turns


def test_a_session_in_japanese(bench: Bench) -> None:
    with ScriptedModel([Turn("", [CREATE]), Turn("できました。")]) as server:
        script = "/help\n書いて\nはい\n/cost\n/permissions\nexit\n"
        ran = run_here(bench, "nebula", stdin=script, **{**server.env(), "NEBULA_LANG": "ja"})
    for said in (
        "コマンド:",
        "新しいファイルを作成します: notes.txt",
        "実行してもよろしいですか？",
        "1 ターン",
        "確認します",
    ):
        assert said in ran.out


def test_a_project_with_checks_is_trusted_once(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"checks": ["true"]}')
    with ScriptedModel([]) as server:
        asked = run_here(bench, "nebula", stdin="ok\nexit\n", **server.env())
        again = run_here(bench, "nebula", stdin="exit\n", **server.env())
    assert "Trusted, and remembered for this folder." in asked.out and "Trust this folder" not in again.out


def test_what_was_typed_before_a_question_does_not_answer_it_on_a_plain_terminal(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.wait("[AGENT] You:")
        screen.line("write")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.line("yes")
        screen.wait("yes")  # echoed: the terminal has it, and nobody has read it
        answer.set()
        screen.wait(ASK)
        screen.line("n")
        screen.wait("Left as it was.")
        screen.wait("[AGENT] You:", times=2)
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("", [CREATE], until=answer), Turn("Left as it was.")]) as server:
        sit_down_here(bench, person, TERM="dumb", **server.env())
    assert not (bench.project / "notes.txt").exists()


@pytest.mark.slow
def test_a_question_waits_until_nobody_is_typing(bench: Bench) -> None:
    waited = []

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("write")
        server.wait_until(lambda: len(server.turns) == 1)
        pressed = time.monotonic()
        screen.send("yes")
        screen.wait("› yes")
        answer.set()
        screen.wait(ASK)
        waited.append(time.monotonic() - pressed)
        screen.line("n")
        screen.wait("Left as it was.")
        screen.prompt(times=2)
        screen.send(CTRL_C)
        leave(screen)

    answer = threading.Event()
    with ScriptedModel([Turn("", [CREATE], until=answer), Turn("Left as it was.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert waited[0] >= QUIET_S
    assert not (bench.project / "notes.txt").exists()


def test_after_an_interruption_what_was_typed_ahead_waits_to_be_looked_at(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("go")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.line("delete everything")
        screen.wait("› delete everything ⏎")
        screen.send(ESCAPE)
        screen.wait("Interrupted")
        screen.wait("[AGENT] You: go\n… delete everything")
        screen.send(CTRL_C)
        leave(screen)

    with ScriptedModel([Turn("slow", fault=Fault.slow(30)), Turn("never")]) as server:
        sit_down_here(bench, person, **server.env())
    assert len(server.turns) == 1


def test_the_language_of_the_users_own_config_is_spoken(bench: Bench) -> None:
    (bench.home / ".nebula").mkdir()
    (bench.home / ".nebula" / "config.json").write_text('{"lang": "ja"}', encoding="utf-8")
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin="mode plan\nexit\n", **server.env())
    assert "モード: plan" in ran.out


def test_the_tree_shows_this_talk_and_all_of_them_when_asked(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        run_here(bench, "nebula", "-p", "an older talk", **server.env())
        ran = run_here(bench, "nebula", stdin="\nthis talk\n/tree\n/graph\n/tree all\nexit\n", **server.env())
    part, everything = ran.out.split("/tree all")
    assert "an older talk" not in part.split("Two.")[1] and part.count("this talk") == 3
    assert "an older talk" in everything and "this talk" in everything


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_terminal_that_reads_no_keys_is_told_of_none(bench: Bench, lang: str) -> None:
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin="/help\nexit\n", TERM="dumb", NEBULA_LANG=lang, **server.env())
    assert "/help" in ran.out and "plan" in ran.out
    assert not re.search("Shift|Ctrl|Tab", ran.out)


def test_a_model_that_printed_a_call_is_native_again_after_prose_and_in_the_next_session(bench: Bench) -> None:
    bench.write("a.txt", "1\n")
    printed = '{"name": "readFile", "arguments": {"path": "a.txt"}}'
    script = [Turn(printed), Turn("In prose."), Turn("native"), Turn(printed), Turn("In prose."), Turn("native")]
    with ScriptedModel(script) as server:
        run_here(bench, "nebula", stdin="\ngo\ngo on\nexit\n", **server.env(), NEBULA_MODEL="openai/own-model")
        first = run_here(bench, "nebula", "-p", "once more", **server.env(), NEBULA_MODEL="openai/own-model")
        second = run_here(bench, "nebula", "-p", "and again", **server.env(), NEBULA_MODEL="openai/own-model")
    assert ["tools" in turn.json for turn in server.turns] == [True, False, True, True, False, True]
    assert (first.code, first.out, second.out) == (0, "In prose.\n", "native\n")
    assert "prints its tool calls as text" in first.err
    assert second.err.count("prints its tool calls") == 0


def test_a_turn_that_was_cut_short_says_so_when_the_session_is_resumed(bench: Bench) -> None:
    with ScriptedModel(
        [Turn("I look.", [Call("list", {"path": "."})]), Fault.status_code(400), Turn("Here.")]
    ) as server:
        run_here(bench, "nebula", stdin="first\n\nexit\n", **server.env())
        cut = run_here(bench, "nebula", "-c", stdin="/retry\nexit\n", **server.env()).out
        whole = run_here(bench, "nebula", "-c", stdin="exit\n", **server.env()).out
    told = "That turn was cut short; what it had changed by then stays. /retry asks it again.\n\n[AGENT]"
    assert f"You: first\n\nI look.\n\n{told}" in cut
    assert "Asking again as a new branch: first" in cut
    assert "You: first\n\nHere.\n\n[AGENT]" in whole


def test_what_is_no_model_is_neither_used_nor_saved(bench: Bench) -> None:
    with ScriptedModel([]) as server:
        script = "/model local//tmp/nowhere.gguf\n/model a\x07b\nexit\n"
        ran = run_here(bench, "nebula", stdin=script, **server.env())
    assert "/tmp/nowhere.gguf cannot be used as a model" in ran.out
    assert "That is not the name of a model; nothing was changed." in ran.out and "saved" not in ran.out


def test_a_slip_at_a_question_is_no_reason_to_refuse(bench: Bench) -> None:
    write = Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})])
    with ScriptedModel([write, Turn("Made."), write, Turn("Not made.")]) as server:
        made = run_here(bench, "nebula", stdin="make\nm\nｆ\n/help\ny\nexit\n", **server.env()).out
        (bench.project / "a.txt").unlink()
        not_made = run_here(bench, "nebula", stdin="make\n/tmp is a better place\nexit\n", **server.env()).out
        told = str(server.turns[-1].json["messages"][-1]["content"])
    assert made.count("is not an answer to this question.") == 3 and "a.txt +1 −0" in made
    assert "The user refused: /tmp is a better place" in told and "The model is told why." in not_made


def test_checks_that_cannot_be_started_say_what_they_lack(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"checks": ["no-such-tool -q", "true"]}')
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin="n\n/checks\nn\nexit\n", **server.env())
        told = run_here(bench, "nebula", "doctor", **server.env())
    assert "no-such-tool -q: no-such-tool is not installed: no folder of PATH has it." in ran.out
    assert "true: " not in ran.out
    assert "no-such-tool is not installed" in " ".join(told.out.split())
