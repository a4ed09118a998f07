"""What a line of the user is: a command, an unknown word, or a prompt."""

import re
from datetime import datetime

import pytest

from nebula.cli.nebula import COMMANDS
from nebula.cli.terminal.commands.elsewhere import ELSEWHERE
from nebula.cli.terminal.commands.table import TABLE, find, unknown
from nebula.cli.terminal.dialogs.approval import pattern_for
from nebula.cli.terminal.dialogs.session_choice import Choice, listed_session, read_choice, session_line
from nebula.cli.terminal.output.width import display_width
from nebula.cli.turn_lines import Refusals
from nebula.events import Approval, ProposedChange, Step, ToolResult
from nebula.extensions.commands import is_command_word
from nebula.language import use_language
from nebula.memory.sessions import SessionInfo
from nebula.messages import Json, ToolResultStatus, ToolUseResult
from nebula.value import replace
from rows import each_row

SPEC_WORDS = "plan agent mode model exit quit"
SPEC_COMMANDS = (
    "/help /undo /redo /retry /edit /fork /graph /tree /sessions /resume /diff /cost /context /tools /compact"
    " /backstage /clear"
)


@each_row("word", SPEC_WORDS.split())
def test_the_words_of_the_seed_need_no_slash(word):
    assert find(word) is not None
    assert find(f"/{word}") == find(word)
    assert find(f"  {word.upper()} ") == find(word)


@each_row("word", SPEC_COMMANDS.split())
def test_every_command_is_known_and_needs_its_slash(word):
    found = find(word)
    assert found is not None and found[0].name == word[1:]
    assert find(word[1:]) is None


@each_row(
    ("alias", "name"),
    [("/?", "help"), ("/new", "clear"), ("/reset", "clear"), ("/compress", "compact"), ("/continue", "resume"),
     ("/usage", "cost"), ("/branch", "fork"), ("/q", "exit"), ("/quit", "exit")],
)  # fmt: skip
def test_what_people_type_without_looking(alias, name):
    found = find(alias)
    assert found is not None and found[0].name == name


def test_arguments():
    assert [(command.name, rest) for command, rest in [find("model gpt-4.1-mini"), find("/fork  3f2a ")]] == [
        ("model", "gpt-4.1-mini"),
        ("fork", "3f2a"),
    ]


@each_row(
    "text",
    [
        "plan the migration",
        "model the data as dataclasses",
        "exit codes are wrong",
        "agent",
        "undo",
        "help me",
        "モード",
    ],
)
def test_a_sentence_that_begins_with_a_word_is_a_prompt(text):
    if text == "agent":
        assert find(text) is not None
    else:
        assert find(text) is None
        assert not is_command_word(text)


@each_row("text", ["/nosuch", "/nosuch thing", "/", "/星雲", "/etc", "/no-such_1"])
def test_an_unknown_slash_word_is_no_prompt(text):
    assert find(text) is None
    assert is_command_word(text)


@pytest.mark.parametrize("text", ["/usr/bin/env: not found", "/* comment */", " /help is a word", "//x"])
def test_a_path_or_an_escaped_slash_is_a_prompt(text):
    assert find(text) is None
    assert not is_command_word(text)


def test_a_lone_question_mark_is_no_prompt():
    found = find("?")
    assert found is not None and found[0].name == "help"
    assert find("? what is this") is None


def test_words_of_other_agents_name_what_there_is():
    for word, advice in ELSEWHERE.items():
        assert find(word) is None, word
        for named in re.findall(r"(?<![\w.])/[a-z]+", advice):
            assert find(named) is not None, named
        for named in re.findall(r"`nebula ([a-z]+)", advice):
            assert named in COMMANDS, named


@pytest.mark.parametrize("word", ["/map", "/apps", "/themed"])
def test_a_word_that_is_only_a_little_alike_is_not_taken_for_a_command(word):
    assert "did you mean" not in unknown(word)


def test_no_name_is_given_twice():
    names = [name for command in TABLE for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


@each_row(
    ("path", "pattern"),
    [("src/app.py", "*.py"), ("Makefile", "Makefile"), (".gitignore", ".gitignore"), ("a/b[1]", "a/b[[]1]"),
     ("x.tar.gz", "*.gz"), ("d.d/plain", "d.d/plain")],
)  # fmt: skip
def test_the_pattern_an_approval_offers(path, pattern):
    assert pattern_for(path) == pattern


def _info(session_id="session_20260101_100000_00000000", words="hello"):
    return SessionInfo(session_id, datetime(2026, 1, 1, 10, 0).astimezone(), None, "gpt-4.1-nano", "/p", words, 3)


@each_row(
    ("answer", "choice"),
    [
        ("", Choice()),
        ("new", Choice()),
        ("2", Choice("second")),
        ("3", None),
        ("0", None),
        ("x", None),
        ("second", Choice("second")),
        ("exit", Choice(leave=True)),
        ("fix the tests", Choice(first_prompt="fix the tests")),
        ("直して", Choice(first_prompt="直して")),
    ],
)
def test_answers_to_the_list_of_sessions(answer, choice):
    assert read_choice(answer, [_info("first"), _info("second")]) == choice


@each_row(
    ("first", "last", "shown"),
    [
        ("fix the parser of the shop", "They ran.", "fix the parser… · They ran."),
        ("fix", "They ran, all of the twelve of them", "fix · They ran, all of the…"),
        ("直して直して直して直して直して", "終わりました。終わりました。", "直して直し… · 終わりました…"),
        ("fix the parser of the shop", "", "fix the parser of the shop"),
        ("fix", "fix", "fix"),
    ],
)
def test_a_session_shows_what_it_is_about_and_how_it_ended(first, last, shown):
    info = replace(_info(words=last), first_prompt=first)
    head = len(session_line(replace(_info(words="x"), first_prompt=""), 100)) - 1
    line = session_line(info, head + 27)
    assert line[head:] == shown and display_width(line) <= head + 27


def test_a_session_without_an_answer_says_its_prompt_once() -> None:
    info = replace(_info(words="fix"), first_prompt="fix", ending="failed", ended_at=datetime(2026, 1, 1).astimezone())
    assert listed_session(info, 99).endswith("  failed · fix")


@each_row("columns", [50, 57, 70, 77, 110])
def test_a_session_stands_on_one_line_of_any_terminal_and_says_what_it_is_about(columns: int) -> None:
    info = replace(_info(words="The tests of this project pass."), first_prompt="パーサーのテストを実行してください")
    line = session_line(info, columns)
    assert display_width(line) <= columns and "パー" in line and "The" in line


@pytest.mark.parametrize("columns", [60, 79, 120])
def test_a_session_takes_one_line_whatever_was_said(columns):
    use_language("ja")
    line = session_line(_info(words="星雲のテストを書いてください" * 9 + "\x1b[31m"), columns)
    assert display_width(line) <= columns
    assert "\x1b" not in line and "\n" not in line
    assert "2026-01-01 10:00" in line and "gpt-4.1-nano" in line and "進行中" in line


@pytest.mark.parametrize(("count", "named"), [(1, "0"), (3, "0, 1, 2"), (7, "0, 1, 2, 3, 4, …")])
def test_all_that_a_command_would_have_changed_is_named_where_nobody_is_asked(count, named):
    changes = tuple(ProposedChange(str(each), "deleted") for each in range(count))
    refused = Approval("1", "command", "runCommand", changes, "make", decision="no")
    said = f"Not applied: {named}. Nobody is there to ask; to allow it add --yes."
    assert str(Refusals().read(refused)) == said


@pytest.mark.parametrize(("in_session", "said"), [(True, ""), (False, "To allow it add --allow-network.")])
def test_somebody_who_refuses_the_network_is_not_told_how_to_allow_it(in_session, said):
    refusals = Refusals(in_session=in_session)
    refusals.read(Step("1", "runCommand", {"command": "curl", "network": True}))
    result = ToolUseResult("1", [Json({"error": "no"})], ToolResultStatus.Error)
    assert str(refusals.read(ToolResult("runCommand", result, "no", refused=True)) or "").endswith(said)
    assert bool(said) == bool(refusals.read(ToolResult("runCommand", result, "no", refused=True)))
