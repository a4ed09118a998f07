"""What a yes for longer reaches, and what the command line allowed, in a session."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import ENTER, Person

ASK = "Go ahead? (y/N):"
WRITE = Call("writeFile", {"path": "a.md", "content": "a\n"})


def command(line: str) -> Call:
    return Call("runCommand", {"command": line})


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("sed -i s/a/b/ a.md; echo c > docs/c.md", False),
        ("rm *.md", True),
        ("chmod +x a.md", True),
        ("echo b > a.md; chmod +x a.md", True),
        ("ln -sf b.md a.md", True),
        ("mv a.md c.md", True),
        ("echo c > run.md; chmod +x run.md", True),
        ("rm link.md; echo b > link.md", True),
        (": > a.md", True),
        ("truncate -s 0 docs/b.md", True),
        ("echo > a.md", True),
        ("truncate -s 9M docs/b.md; head -c 9M /dev/zero > docs/b.md", True),
        ("echo b > a.md; touch new.md", False),
    ],
)
def test_a_yes_to_a_kind_of_file_deletes_none(bench: Bench, line: str, asks: bool) -> None:
    bench.write("docs/b.md", "b\n")
    (bench.project / "link.md").symlink_to("docs/b.md")
    with ScriptedModel([Turn("", [WRITE]), Turn("", [command(line)]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\np\nn\nexit\n", **server.env())
    assert ran.out.count(ASK) == 1 + asks
    assert bench.read("a.md") == ("a\n" if asks else "b\n") and bench.read("docs/b.md") == "b\n"


def test_a_yes_to_a_kind_of_file_empties_none(bench: Bench) -> None:
    empty = Call("editFile", {"path": "a.md", "new_content": "\ufeff\u200b \n"})
    with ScriptedModel([Turn("", [WRITE]), Turn("", [empty]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\np\nn\nexit\n", **server.env())
    assert ran.out.count(ASK) == 2 and bench.read("a.md") == "a\n"


def test_a_yes_to_the_network_of_commands_fetches_no_page(bench: Bench) -> None:
    page = Call("fetchUrl", {"url": "https://93.184.216.34/"})
    script = [Turn("", [Call("runCommand", {"command": "true", "network": True})]), Turn("", [page]), Turn("Done.")]
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", stdin="go\na\nn\n/permissions\n\nexit\n", **server.env())
    assert ran.out.count(ASK) == 2 and "network  commands that use the network\n" in ran.out


def test_pages_that_the_command_line_allowed_are_listed_and_taken_back(bench: Bench) -> None:
    page = Call("fetchUrl", {"url": "https://93.184.216.34/"})
    typed = "/permissions\n\n/permissions revoke pages\ngo\nn\nexit\n"
    with ScriptedModel([Turn("", [page]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "--allow-network", stdin=typed, **server.env())
    assert "pages  pages of any public host that are fetched\n" in ran.out and ran.out.count(ASK) == 1


def test_a_yes_to_all_deletes_as_well_and_says_so(bench: Bench) -> None:
    with ScriptedModel([Turn("", [WRITE]), Turn("", [command("rm a.md")]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", stdin="write\na\n/permissions\n\nexit\n", **server.env())
    assert ran.out.count(ASK) == 1 and not (bench.project / "a.md").exists()
    assert "*  every change of ordinary files, what commands delete as well" in ran.out


def test_a_file_named_on_the_command_line_is_asked_about_again_once_that_is_taken_back(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2-hunter2\n")
    read, show = Call("readFile", {"path": ".env"}), command("cat .env")
    script = [Turn("", [read]), Turn("", [show]), Turn("Read."), Turn("", [read]), Turn("", [show]), Turn("No.")]
    typed = "read\n/permissions\n\n/permissions revoke .env\nread\nn\n/clear\n/permissions\nexit\n"
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", "--allow", "./.env", stdin=typed, **server.env())
        told = [str(request.json["messages"][-1]) for request in server.turns]
    before, after = ran.out.split("Taken back: .env  a secret or control file, treated as any other (--allow)")
    assert ".env  a secret or control file, treated as any other (--allow)" in before and ASK not in before
    assert after.count(ASK) == 1 and after.count("everything is asked about") == 1, "nor in the next session"
    assert ["hunter2-hunter2" in said for said in told] == [False, True, True, False, False, False]


def test_a_delegate_has_what_is_allowed_when_it_begins(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2-hunter2\n")
    told: list[str] = []

    def answer(request):  # type: ignore[no-untyped-def]
        said = str(request.json["messages"][-1])
        if "PART" in said:
            return Turn("", [Call("readFile", {"path": ".env"})])
        if "WHOLE" in said:
            return Turn("", [Call("delegate", {"task": "PART"})])
        told.append(said)
        return Turn("Done.")

    with ScriptedModel(answer) as server:
        run_here(bench, "nebula", "--allow", ".env", stdin="/permissions revoke\nWHOLE\nexit\n", **server.env())
    assert told and "hunter2" not in told[0]


@pytest.mark.parametrize(
    ("asked_by", "question"),
    [
        ("/permissions", "Take all of them back now? (y/N):"),
        ("mode", "Number of the mode"),
        ("# remember tabs", "Add this to"),
    ],
)
def test_a_prompt_typed_at_a_question_is_no_answer_and_stands_in_the_next_one(
    bench: Bench, asked_by: str, question: str
) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line(asked_by)
        screen.wait(question)
        screen.line("fix the  test")
        screen.prompt(times=2)
        screen.wait("You: fix the  test")
        screen.send(ENTER)
        screen.wait("Fixed.")
        screen.prompt(times=3)
        screen.line("exit")

    with ScriptedModel([Turn("Fixed.")]) as server:
        _, screen = sit_down_here(bench, person, "--yes", **server.env())
        assert "\nfix the  test--- USER" in str(server.turns[0].json["messages"][-1]["content"])
    assert "Taken back" not in screen.text and not (bench.project / "AGENTS.md").exists()


@pytest.mark.parametrize("answer", ["n", "No.", "nope", "いいえ"])
def test_a_word_for_no_is_no_prompt(bench: Bench, answer: str) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("/permissions")
        screen.wait("Take all of them back now? (y/N):")
        screen.line(answer)
        screen.prompt(times=2)
        screen.line("exit")

    with ScriptedModel([]) as server:
        _, screen = sit_down_here(bench, person, "--yes", **server.env())
    assert screen.text.count("[AGENT] You: exit") == 1
