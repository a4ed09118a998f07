"""The subcommands in this process: help in both languages, and what they print."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

import nebula.cli
from conftest import Bench
from in_process import MAINS, run_here, sit_down_here
from nebula.cli import evercontext, vizprompt
from nebula.cli import nebula as umbrella
from nebula.cli.nebula_commands.setup.doctor import about_commands
from nebula.cli.terminal.output.width import display_width
from nebula.config import load_settings
from nebula.language import use_language
from nebula.sandbox.capability import missing_walls
from nebula.sandbox.contract import Capability
from rows import each_row
from scripted_model import ScriptedModel, Turn
from terminal_driver import Person, Terminal

JAPANESE = re.compile("[぀-ヿ一-鿿]")
HELP = [
    *(("nebula", *words) for words in ((), *((name,) for name in umbrella.COMMANDS))),
    *(("evercontext", *words) for words in ((), *((name,) for name in evercontext.COMMANDS))),
    *(("vizprompt", *words) for words in ((), *((name,) for name in vizprompt.COMMANDS))),
    ("vizprompt", "flow", "show"),
    ("vizprompt", "flow", "connect"),
    ("vizprompt", "node", "edit"),
]


@each_row("words", HELP, ids=" ".join)
def test_every_help_is_japanese_for_those_who_speak_it(bench: Bench, words: tuple[str, ...]) -> None:
    ran = run_here(bench, *words, "--help", NEBULA_LANG="ja")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("使い方: ")
    assert [each for each in _sentences(ran.out) if not JAPANESE.search(each)] == []


def _sentences(shown: str) -> list[str]:
    """What is said of each option and command: the text behind two blanks or below; examples and usage are none."""
    body = shown.split("\n\n", 1)[1]
    lines = [
        line
        for line in body.splitlines()
        if line.strip() and not re.match(r"  (vizprompt|nebula|evercontext|echo) ", line)
    ]
    said = [re.split(r"\s{2,}", line.strip(), maxsplit=1)[-1] for line in lines]
    return [each for each in said if not re.fullmatch(r"-.*|[a-z]+|[A-Z]+|\{.*\}", each)]


@each_row("words", HELP, ids=" ".join)
def test_every_help_is_english_otherwise(bench: Bench, words: tuple[str, ...]) -> None:
    ran = run_here(bench, *words, "--help")
    assert ran.out.startswith(f"usage: {' '.join(words)}") and not JAPANESE.search(ran.out.replace("[抜粋]", ""))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("nebula", "--mode", "x"), "'x' は選べません"),
        (("nebula", "--port", "1"), "不明な引数: --port 1"),
        (("nebula", "--root", "nowhere"), "nowhere: そのようなディレクトリはありません"),
        (("nebula", "do", "it"), '-p を使ってください: nebula -p "do it"（nebula --help'),
        (("vizprompt", "node", "show", "0badcafe"), "0badcafe"),
        (("vizprompt", "search", "--limit", "0"), "--limit は 1 以上"),
    ],
)
def test_mistakes_before_any_settings_are_said_in_the_users_language(
    bench: Bench, argv: tuple[str, ...], said: str
) -> None:
    ran = run_here(bench, *argv, NEBULA_LANG="ja")
    assert ran.code in (1, 64) and said in ran.err and JAPANESE.search(ran.err)


def test_a_provider_error_is_said_in_the_users_language(bench: Bench) -> None:
    with ScriptedModel([Turn("never")], api_key="right") as server:
        env = {**server.env(), "OPENAI_API_KEY": "wrong-key", "NEBULA_LANG": "ja"}
        ran = run_here(bench, "nebula", "-p", "go", **env)
    assert ran.code == 1 and JAPANESE.search(ran.err)


def test_nothing_is_printed_past_the_place_that_neutralises() -> None:
    folder = Path(nebula.cli.__file__).parent
    allowed = {"printing.py"}
    found = [
        f"{path.relative_to(folder)}:{call.lineno}"
        for path in folder.rglob("*.py")
        if path.name not in allowed
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print"
    ]
    assert found == []


@pytest.mark.parametrize("command", MAINS)
def test_every_command_tells_its_version(bench: Bench, command: str) -> None:
    ran = run_here(bench, command, "--version")
    assert ran.code == 0 and re.fullmatch(rf"{command} \d+\.\d+\.\d+\n", ran.out)


# graph


def test_graph_prints_ids_that_are_accepted_everywhere(bench: Bench) -> None:
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        run_here(bench, "nebula", "-p", "first", **server.env())
        run_here(bench, "nebula", "-c", "-p", "second", **server.env())
        shown = run_here(bench, "nebula", "graph").out
        found = re.search(r"^2  ([\w-]+)  .*second", shown, re.M)
        assert found, shown
        second = run_here(bench, "nebula", "graph", "node", "show", found[1]).out
        shorter = run_here(bench, "nebula", "graph", "node", "show", found[1][:-1])
        assert shorter.code == 1 and "stands for 2 nodes" in shorter.err, "it is the shortest that will do"
        ran = run_here(bench, "nebula", "-p", "third", "--from", found[1], **server.env())
    assert "Two." in second and ran.code == 0


def test_every_list_shows_the_shortest_ids_that_will_do_and_they_are_accepted(bench: Bench) -> None:
    for number in range(3):
        run_here(bench, "vizprompt", "create-node", "--prompt", f"p{number}", "--response", "r")
        run_here(bench, "vizprompt", "flow", "create", f"f{number}")
    whole = [node["id"] for node in run_here(bench, "vizprompt", "search", "--json").json]
    lists = (("search",), ("flow", "show", "main", "--nodes"), ("flow", "list"))
    listed = {
        argv: re.findall(r"(?m)(?:^|\s)([0-9a-f]{8}[0-9a-f-]*)  ", run_here(bench, "vizprompt", *argv).out)
        for argv in lists
    }
    for argv in lists[:2]:
        assert sorted(map(len, listed[argv]))[-1] < 36 and all(
            any(each.startswith(one) for each in whole) for one in listed[argv]
        )
        assert len(listed[argv]) == 3
    assert len(listed[lists[2]]) == 4 and all(len(one) < 36 for one in listed[lists[2]])
    for one in listed[lists[0]]:
        assert run_here(bench, "vizprompt", "node", "show", one).code == 0
    for one in listed[lists[2]]:
        assert run_here(bench, "vizprompt", "flow", "show", one).code == 0


def test_an_ambiguous_beginning_is_refused_with_its_candidates(bench: Bench) -> None:
    for number in (1, 2):
        run_here(bench, "vizprompt", "create-node", "--prompt", f"p{number}", "--response", "r")
    ids = [node["id"] for node in run_here(bench, "vizprompt", "search", "--json").json]
    ran = run_here(bench, "vizprompt", "node", "show", ids[0][:6])
    assert ran.code == 1 and all(each[:13] in ran.err for each in ids) and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [("search",), ("search", "--json"), ("flow", "show", "main", "--nodes"), ("flow", "list")]
)
def test_control_characters_in_a_node_reach_no_terminal(bench: Bench, argv: tuple[str, ...]) -> None:
    run_here(bench, "vizprompt", "create-node", "--prompt", "p\x1b[31m\x9b0m", "--response", "r", "--tags", "t\x9b0m")
    for file in (bench.project / "project").rglob("*"):
        if file.is_file():
            text = file.read_bytes()
            file.write_bytes(
                re.sub(
                    rb"([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{11})[0-9a-f]", b"\\1\xc2\x9b", text
                )
            )
    ran = run_here(bench, "vizprompt", *argv)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


def test_node_show_neutralises_the_id_too(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    from nebula.cli.vizprompt_commands.showing import show_node
    from nebula.graph.values import Node, Utterance

    show_node(Node("a\x9b31m\x1b[1m", "2026-01-01T00:00:00", (Utterance("user", "p\x1b[0m"),), model="m\x07"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", capsys.readouterr().out)


# doctor, sessions, demo


def test_doctor_shows_no_credentials(bench: Bench) -> None:
    ran = run_here(
        bench,
        "nebula",
        "doctor",
        OPENAI_BASE_URL="http://user:hunter2@127.0.0.1:9/v1?key=sesame",
        OPENAI_API_KEY="sk-very-secret",
        OLLAMA_HOST="http://me:swordfish@127.0.0.1:9",
    )
    assert ran.code == 1 and "127.0.0.1:9" in ran.out
    assert not re.search("hunter2|sesame|sk-very-secret|swordfish", ran.out + ran.err)
    assert "export GEMINI_API_KEY=" in ran.out


@pytest.mark.parametrize(("lang", "said"), [("en", "The layer lies on disk in "), ("ja", "ディスク上の ")])
def test_doctor_says_where_a_layer_lies_and_which_walls_are_missing(tmp_path: Path, lang: str, said: str) -> None:
    settings = load_settings(str(tmp_path))
    use_language(lang)
    missing = missing_walls(0)
    _, disk, *rest = about_commands(settings, Capability(True, on_disk=True), missing)
    assert said in disk and settings.home in disk
    assert [line.strip() for line in rest] == missing and len(missing) >= 2
    assert len(list(about_commands(settings, Capability(True), []))) == 1
    (refused,) = about_commands(settings, Capability(False, "because", "do this"), [])
    assert refused.endswith("because do this")


def test_doctor_keeps_its_columns_in_japanese(bench: Bench) -> None:
    lines = run_here(bench, "nebula", "doctor", NEBULA_LANG="ja").out.splitlines()
    places = {display_width(re.split("(?<=  )(?! )", line)[0]) for line in lines[1:6]}
    assert len(places) == 1
    assert re.search("^  lang +ja +環境変数$", "\n".join(lines), re.MULTILINE)


def test_doctor_asks_no_key_of_a_server_of_ones_own(bench: Bench) -> None:
    with ScriptedModel() as server:
        ran = run_here(bench, "nebula", "doctor", OPENAI_BASE_URL=server.openai_url, GEMINI_API_KEY="")
    assert "✓ openai" in ran.out and "export OPENAI_API_KEY" not in ran.out
    assert "export GEMINI_API_KEY" in ran.out


def test_doctor_lists_what_can_be_reached(bench: Bench) -> None:
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", "doctor", **server.env())
    assert ran.code == 0 and re.search(r"✓ openai +models \(\d+\): .*gpt-4.1-nano", ran.out)


def test_sessions_are_listed_with_their_ids(bench: Bench) -> None:
    with ScriptedModel([Turn("One.")]) as server:
        run_here(bench, "nebula", "-p", "first", **server.env())
    ran = run_here(bench, "nebula", "sessions")
    assert re.match(r"session_\d{8}_\d{6}_\w+  \d{4}-\d\d-\d\d \d\d:\d\d  completed  gpt-4.1-nano +One\.", ran.out)
    assert run_here(bench, "nebula", "sessions", "--root", str(bench.home)).out == ""


@pytest.mark.parametrize(("lang", "said"), [("en", "This is a recording"), ("ja", "これは録画です")])
def test_the_demo_plays_by_itself(bench: Bench, lang: str, said: str) -> None:
    ran = run_here(bench, "nebula", "demo", "--auto", NEBULA_LANG=lang)
    assert ran.code == 0 and ran.out.startswith(said) and "→" in ran.out


def test_a_file_that_is_not_there_is_told_in_the_persons_language(bench: Bench) -> None:
    ran = run_here(bench, "vizprompt", "create-node", "--prompt-file", "missing", "--response", "x", NEBULA_LANG="ja")
    assert (ran.code, ran.err) == (1, "vizprompt: missing: そのようなファイルやディレクトリはありません\n")


def test_the_doctor_breaks_long_lines_under_their_beginning(bench: Bench) -> None:
    names = [f"model-of-some-length-{number}" for number in range(8)]

    def person(screen: Person) -> None:
        screen.wait("export GEMINI_API_KEY=")

    with ScriptedModel([], models={"openai": names}) as server:
        _, screen = sit_down_here(bench, person, "doctor", columns=80, NEBULA_LANG="ja", **server.env())
    lines = screen.raw.replace("\r", "").split("\n")
    lines = lines[lines.index("設定") :]  # paths above it stay whole
    assert not [line for line in lines if display_width(line) > 80]
    (place,) = [place for place, line in enumerate(lines) if line.startswith("  ✓ openai")]
    assert lines[place + 1].startswith(" " * 14 + "model-of-some-length")


def test_the_hook_without_git_is_one_line(bench: Bench, tmp_path: Path) -> None:
    (bench.project / ".git").mkdir()
    (bench.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    ran = run_here(bench, "evercontext", "hook", "install", PATH=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (1, "", "evercontext: git was not found; install it to use this.\n")


@pytest.mark.slow
def test_what_doctor_says_of_commands_stands_in_its_column(bench: Bench) -> None:
    path = f"{bench.home}:{bench.env()['PATH']}"  # a home is never shown
    with Terminal(bench.argv("nebula", "doctor"), bench.project, bench.env(PATH=path), columns=60) as screen:
        screen.ended()
    begin = next(number for number, line in enumerate(screen.lines) if "Commands cannot see" in line)
    rest = itertools.takewhile(bool, screen.lines[begin:])
    assert {re.match(" *", line)[0] for line in rest} == {" " * 14}  # type: ignore[index]
