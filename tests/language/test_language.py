"""Every sentence a person sees has both languages."""

from __future__ import annotations

import argparse
import ast
import errno
import importlib
import json
import os
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_type_hints

import pytest

import nebula
from nebula import events
from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.orchestrator.executor import StepEnd
from nebula.agent.turn_result import Ending
from nebula.cli.terminal.commands.elsewhere import ELSEWHERE
from nebula.cli.terminal.commands.table import KEYS
from nebula.cli.terminal.commands.table import TABLE as SESSION_COMMANDS
from nebula.cli.vizprompt_commands.chat.session import COMMANDS as CHAT_COMMANDS
from nebula.errors import NebulaError
from nebula.events import (
    Approval,
    CheckRun,
    CommandRun,
    Delta,
    Diff,
    Error,
    EventStream,
    Evidence,
    Final,
    Message,
    Notice,
    Output,
    Plan,
    PlanReply,
    ProposedChange,
    Repair,
    Retry,
    Stamped,
    Steering,
    Step,
    StepOutcome,
    StepProgress,
    Task,
    TodoItem,
    ToolResult,
)
from nebula.language import Sentence, explain, translate, translate_count, translate_to, use_language

SOURCE = Path(nebula.__file__).parent
ROOMS = [
    "agent",
    "blame",
    "cli",
    "config",
    "events",
    "exchange",
    "extensions",
    "files",
    "git",
    "graph",
    "index",
    "llm",
    "memory",
    "messages",
    "sandbox",
    "server",
    "stage",
    "tools",
    "workspace",
]
"""Rooms whose sentences are held to it."""
SPOKEN = {"translate", "translate_count", "translate_to", "Notice", "Sentence", "ModelNotice", "Error"}
PRINTED = {"tell", "hint", "warn", "tell_line", "tell_remark"}
"""What of the commands translates a sentence and prints it."""


@cache
def table() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((SOURCE / "language" / "ja").glob("*.json")):
        found |= json.loads(file.read_text("utf-8"))
    return found


@cache
def error_names() -> frozenset[str]:
    """Names of all error classes that carry a sentence, found by importing every module."""
    names: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if "demo" not in path.parts and "class " in path.read_text("utf-8"):
            module = importlib.import_module(
                ".".join(("nebula", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
            )
            names |= {
                name
                for name, found in vars(module).items()
                if isinstance(found, type) and issubclass(found, NebulaError)
            }
    return frozenset(names)


HELP = {
    "Parser": (1, "about"),
    "add_argument": (9, "help"),
    "add_flag": (1, ""),
    "add_output_format": (0, ""),
    "add_repeatable": (2, ""),
    "add_references": (0, ""),
    "add_command": (1, ""),
    "Subcommand": (1, ""),
}
"""What a parser says in the user's language by itself: which argument of the call, by place or by name."""


def spoken_arguments(room: str, names: frozenset[str]) -> Iterator[tuple[str, ast.expr]]:
    base = SOURCE / room
    files = base.rglob("*.py") if base.is_dir() else [base.with_suffix(".py")]
    for path in files:
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            where = f"{path.relative_to(SOURCE)}:{call.lineno}"
            if called in HELP:
                place, keyword = HELP[called]
                told = call.args[place : place + 1] + [each.value for each in call.keywords if each.arg == keyword]
                yield from ((where, each) for each in told if isinstance(each, ast.Constant))
            if called not in names:
                continue
            start = {"translate_count": 1, "translate_to": 1, "Error": 1}.get(called, 0)
            count = 2 if called == "translate_count" else 1
            for argument in call.args[start : start + count]:
                yield where, argument


def sentences(argument: ast.expr) -> Iterator[str | None]:
    """The literal sentences an argument may be; None for one that is put together on the spot."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value
    elif isinstance(argument, ast.IfExp):
        yield from sentences(argument.body)
        yield from sentences(argument.orelse)
    elif isinstance(argument, ast.JoinedStr | ast.BinOp):
        yield None


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


@pytest.mark.parametrize("room", ROOMS)
def test_every_sentence_of_a_room_is_translated(room: str) -> None:
    japanese, names = table(), error_names() | SPOKEN | (PRINTED if room == "cli" else set())
    missing = []
    for where, argument in spoken_arguments(room, names):
        for sentence in sentences(argument):
            if sentence is None:
                missing.append(f"{where}: put together on the spot; pass its values by name")
            elif sentence and sentence not in japanese:
                missing.append(f"{where}: no Japanese for {sentence!r}; add it to a table of language/ja/")
    assert not missing, "\n".join(missing)


def test_what_is_said_of_commands_and_keys_is_translated() -> None:
    """They are plain strings in tables, which no call of `translate` names."""
    said = [command.help for command in SESSION_COMMANDS] + [meaning for _, meaning in KEYS]
    said += [*ELSEWHERE.values(), *CHAT_COMMANDS.values()]
    missing = [sentence for sentence in said if sentence not in table()]
    assert not missing, f"language/ja/cli.json has no Japanese for {missing}"


def declared_tools() -> Iterator[tuple[str, str]]:
    """Yield the name of each tool and what its declaration tells the model first."""
    for path in (SOURCE / "tools").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DeclaredSpec":
                name, about = node.args[:2]
                if isinstance(about, ast.Constant):
                    yield ast.unparse(name), str(about.value).split(". ")[0]


def test_what_a_tool_is_for_is_translated() -> None:
    """/tools shows it to people."""
    missing = [f"{name}: {said!r}" for name, said in declared_tools() if said not in table()]
    assert not missing, f"language/ja/tools.json has no Japanese for {missing}"


DATA = {
    Evidence: "path span blob commit",
    CheckRun: "name summary",
    CommandRun: "command stopped",
    StepOutcome: "id title",
    Task: "prompt mode model provider parents references",
    PlanReply: "text model stop provider",
    Plan: "plan model",
    StepProgress: "task_id title",
    Repair: "failing report",
    Message: "rung task_id stop",
    Step: "tool_use_id name orig_name task_id",
    Output: "tool_use_id text program",
    Steering: "text",
    TodoItem: "content",
    ProposedChange: "path kind diff renamed_from old new before",
    Approval: "approval_id tool text tool_use_id decision",
    ToolResult: "tool decision task_id",
    Diff: "path diff before after task_id",
    Retry: "task_id kind",
    Notice: "task_id",
    Delta: "text",
    Error: "kind task_id detail",
    Final: "text node_id forecast",
    Stamped: "trace_id session_id ts",
    StepEnd: "answer removed",
    TaskOutcome: "id digest root trace_id status files group model",
}
"""What may be bare text in the events and in what they are made from: names, and what models, people, programs and
files say. All that we say ourselves is a `Sentence`: bare text would pass by the tests above."""


def bare_texts(kind: type) -> str:
    hints = get_type_hints(kind)
    return " ".join(name for name in kind.__fields__ if "str" in re.findall(r"\w+", str(hints[name])))


def test_what_the_events_say_by_themselves_is_a_sentence() -> None:
    kinds = {
        each
        for each in vars(events).values()
        if hasattr(each, "__fields__") and each.__module__.startswith("nebula.events.")
    }
    kinds = kinds - {EventStream} | {StepEnd, Ending, TaskOutcome}
    found = {kind: names for kind in kinds if (names := bare_texts(kind))}
    new = {kind.__name__: names for kind, names in found.items() if DATA.get(kind) != names}
    assert found == DATA, f"fields of bare text, to be named in DATA, or to be a Sentence: {new}"


def test_translations_have_the_places_of_their_sentence() -> None:
    wrong = {english: japanese for english, japanese in table().items() if places(english) != places(japanese)}
    assert not wrong


def said_in(texts: list[str]) -> set[str]:
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_a_question_in_japanese_ends_with_its_wide_mark() -> None:
    narrow = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]\?")
    assert [said for said in table().values() if narrow.search(said)] == []


def test_every_translation_is_of_a_sentence_that_the_code_says() -> None:
    texts = [path.read_text("utf-8") for path in (*SOURCE.rglob("*.py"), Path(argparse.__file__))]
    plain = {said for text in texts for said in re.findall(r'"([^"\\\n]+)"', re.sub(r'"\n\s*"', "", text))}
    ours = [english for english in table() if not english.startswith("system: ")]  # those are the system's words
    rest = "\n".join(plain)
    rare = [english for english in ours if english not in plain and english not in rest]  # parsing all takes seconds
    parts = [max(re.split(r"[\\\n'\"]", english), key=len)[:30] for english in rare]
    whole = "\n".join(said_in([text for text in texts if any(part in text for part in parts)]))
    assert [english for english in rare if english not in whole] == []


def test_an_error_is_explained_in_the_current_language_and_stays_english_as_text() -> None:
    from nebula.files.reading import UnreadableFile

    problem = UnreadableFile("a{b}.txt", "it is a link")
    use_language("ja")
    assert explain(problem) == "a{b}.txt を読めません: it is a link"
    assert str(problem) == "a{b}.txt cannot be read: it is a link"


def test_why_a_file_cannot_be_read_is_said_in_the_same_language(tmp_path: Path) -> None:
    from nebula.files.reading import UnreadableFile, read_below

    (tmp_path / "folder").mkdir()
    (tmp_path / "long").write_bytes(b"12345")
    (tmp_path / "out").symlink_to("/etc/passwd")
    use_language("ja")
    for name, reason in (("folder", "通常のファイル"), ("long", "4 バイト"), ("out", "リンク")):
        with pytest.raises(UnreadableFile) as caught:
            read_below(str(tmp_path), name, 4)
        assert reason in explain(caught.value)
        assert str(caught.value).isascii()


def test_what_the_system_says_of_a_failure_is_said_in_the_same_language() -> None:
    use_language("ja")
    said = translate("{path} cannot be read: {reason}", path="plan", reason=os.strerror(errno.EACCES))
    assert said == "plan を読めません: アクセスが拒否されました"


def test_a_sentence_without_a_translation_is_said_in_english() -> None:
    use_language("ja")
    assert translate("Never said {this}.", this="before") == "Never said before."
    assert translate_to("en", "{path} cannot be read: {reason}", path="x", reason="y") == "x cannot be read: y"


def test_a_count_chooses_the_sentence() -> None:
    assert translate_count(1, "{count} turn", "{count} turns") == "1 turn"
    assert translate_count(0, "{count} turn", "{count} turns") == "0 turns"


def test_a_foreign_error_is_explained_by_its_own_text() -> None:
    assert explain(ValueError("as it is")) == "as it is"


def test_a_sentence_inside_another_is_said_in_the_same_language() -> None:
    from nebula.files.reading import UnreadableFile

    inner = UnreadableFile("a", "b")
    said = Sentence("{path} cannot be read: {reason}", path="x", reason=inner)
    assert str(said) == "x cannot be read: a cannot be read: b"
    use_language("ja")
    assert explain(said) == "x を読めません: a を読めません: b"
