"""vizprompt create-node, node and search, run as commands."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nebula.cli.vizprompt_commands import search as search_command
from nebula.graph.flows.topology import rewired
from nebula.graph.formats.flow_yaml import dump_flow
from nebula.graph.values import Connection, Flow
from rows import each_row
from vizprompt_command import Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def test_the_examples_of_seed_12_1_work_in_the_folder_project(vizprompt: Vizprompt, tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("質問内容\n", encoding="utf-8")
    (tmp_path / "output.txt").write_text("回答内容\n", encoding="utf-8")
    made = vizprompt("create-node", "--prompt-file", "input.txt", "--response-file", "output.txt")
    assert made.code == 0 and made.err == ""
    node_id = made.out.removeprefix("Created node: ").strip()
    assert (tmp_path / "project/nodes/000/000.xml").is_file()
    assert vizprompt("node", "edit", node_id, "--tags", "タグ1,タグ2").code == 0
    found = vizprompt("search", "--tags", "タグ1,タグ2")
    assert found.code == 0 and node_id.startswith(found.out.split()[0]) and "#タグ1 #タグ2" in found.out


def test_files_are_read_exactly_and_standard_input_is_a_file(vizprompt: Vizprompt, tmp_path: Path) -> None:
    text = "\r\n first\r\nlast ]]> \x1b[31m\n\n"
    (tmp_path / "p.txt").write_bytes(text.encode())
    made = vizprompt("create-node", "--prompt-file", "p.txt", "--response-file", "-", stdin=b"\xef\xbb\xbfa\rb\n")
    node = vizprompt("node", "show", made.out.split()[-1], "--json").json
    assert node["prompt"] == text and node["response"] == "\ufeffa\rb\n"


def test_a_node_is_shown_edited_and_deleted(vizprompt: Vizprompt) -> None:
    node_id = vizprompt.create("asked", "answered", "--tags", "a,b", "--model", "gpt-4.1")
    shown = vizprompt("node", "show", node_id)
    assert shown.code == 0
    for piece in (node_id, "gpt-4.1", "[user]\nasked\n", "[assistant]\nanswered\n", "tags: a, b"):
        assert piece in shown.out
    edited = vizprompt("node", "edit", node_id, "--prompt", "asked better", "--response", "so", "--tags", "c")
    assert edited.out == f"Updated node: {node_id}\n" and "build" in edited.err
    node = vizprompt("node", "show", node_id, "--json").json
    assert (node["prompt"], node["response"], node["tags"], node["updated"]) == ("asked better", "so", ["c"], True)
    kept = vizprompt("node", "delete", node_id)
    assert kept.code == 64 and "--yes" in kept.err
    assert vizprompt("node", "delete", node_id, "--yes").out == f"Deleted node: {node_id}\n"
    gone = vizprompt("node", "show", node_id)
    assert (gone.code, gone.out) == (1, "") and node_id in gone.err and gone.err.count("\n") == 1


def test_what_a_terminal_would_obey_is_made_visible(vizprompt: Vizprompt) -> None:
    node_id = vizprompt.create("a\x1b]0;owned\x07b\x9b31m", "x")
    for ran in (vizprompt("node", "show", node_id), vizprompt("node", "show", node_id, "--json"), vizprompt("search")):
        assert not set("\x1b\x07\x9b") & set(ran.out)


def test_nothing_in_a_node_file_reaches_a_terminal_raw(vizprompt: Vizprompt, tmp_path: Path) -> None:
    node_id = vizprompt.create("prompt", "answer", "--tags", "red", "--model", "m")
    file = tmp_path / "project/nodes/000/000.xml"
    whole = file.read_text()
    bad = "\x9b31m\x85evil"
    for word in ("prompt", "answer", "red", ">m<", 'role="assistant', 'timestamp="', node_id):
        file.write_text(whole.replace(word, word.replace("<", bad + "<") if word == ">m<" else word + bad))
        for words in (("search",), ("node", "show", node_id), ("flow", "show", "main", "--log"), ("check",)):
            ran = vizprompt(*words)
            assert not set("\x9b\x85") & set(ran.out + ran.err), (word, words)
    assert vizprompt("search").out == "" and "no usable id" in vizprompt("check").out


def test_a_beginning_of_an_id_is_enough_and_an_ambiguous_one_names_its_candidates(vizprompt: Vizprompt) -> None:
    first, second = vizprompt.create("one"), vizprompt.create("two")
    alone = next(first[:length] for length in range(1, 37) if not second.startswith(first[:length]))
    for words in (
        ("node", "show", alone),
        ("node", "edit", alone, "--tags", "#a、＃b"),
        ("context", alone),
        ("flow", "connect", alone, second),
        ("flow", "disconnect", alone, second),
        ("flow", "branch", alone, "b"),
        ("flow", "rebuild", "main", second, alone),
        ("create-node", "--prompt", "p", "--response", "r", "--parent", alone),
    ):
        assert vizprompt(*words).code == 0, words
        refused = vizprompt(*(first[:1] if word == alone else word for word in words))
        assert refused.code == 1 and first in refused.err and second in refused.err and refused.err.count("\n") == 1
    assert vizprompt("node", "show", first, "--json").json["tags"] == ["a", "b"]
    assert vizprompt("node", "delete", alone, "--yes").code == 0


def test_search_wants_all_that_is_given_and_an_empty_result_is_no_error(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("event loops explained", "with asyncio", "--tags", "python,async")
    second = vizprompt.create("検索の仕組み", "要約とタグ", "--tags", "python")
    assert [n["id"] for n in vizprompt("search", "--tags", "python", "--json").json] == [second, first]
    assert [n["id"] for n in vizprompt("search", "--tags", "python,async", "--json").json] == [first]
    assert [n["id"] for n in vizprompt("search", "--text", "検索", "--json").json] == [second]
    assert [n["id"] for n in vizprompt("search", "--keywords", "async", "--text", "loops", "--json").json] == [first]
    nothing = vizprompt("search", "--tags", "python", "--text", "nowhere", "--json")
    assert (nothing.code, nothing.out) == (0, "[]\n")
    assert vizprompt("search", "--text", "nowhere").out == ""
    assert len(vizprompt("search", "--limit", "1", "--json").json) == 1


def test_the_data_folder_is_chosen_by_option_then_variable_then_default(vizprompt: Vizprompt, tmp_path: Path) -> None:
    create = ("create-node", "--prompt", "p", "--response", "r")
    vizprompt("--data-dir", "one", *create)
    vizprompt(*create, "--data-dir=two")
    vizprompt(*create, env={"VIZPROMPT_DATA_DIR": "three"})
    vizprompt("--data-dir", "four", *create, env={"VIZPROMPT_DATA_DIR": "three"})
    vizprompt(*create)
    made = {path.parts[-4] for path in tmp_path.glob("*/nodes/000/000.xml")}
    assert made == {"one", "two", "three", "four", "project"}


def test_looking_makes_no_folder(vizprompt: Vizprompt, tmp_path: Path) -> None:
    assert vizprompt("search").code == vizprompt("flow", "list").code == 0
    assert not (tmp_path / "project").exists()


@each_row(
    ("words", "code", "hint"),
    [
        (("create-node", "--prompt", "p"), 64, "--response"),
        (("create-node", "--prompt", "p", "--prompt-file", "f", "--response", "r"), 64, "not allowed"),
        (("create-node", "--prompt-file", "-", "--response-file", "-"), 64, "standard input"),
        (("create-node", "--prompt-file", "missing.txt", "--response", "r"), 1, "missing.txt"),
        (("create-node", "--prompt-file", "latin.txt", "--response", "r"), 64, "not UTF-8"),
        (("create-node", "--prompt", "p", "--response", "r", "--parent", "nobody"), 1, "nobody"),
        (("create-node", "--prompt", "p", "--response", "r", "--flow", "no such"), 1, "no such"),
        (("create-node", b"--prompt=\xff".decode("utf-8", "surrogateescape"), "--response", "r"), 1, "surrogate"),
        (("node", "edit", "nobody"), 64, "--prompt"),
        (("node", "edit", "nobody", "--prompt", "x"), 1, "nobody"),
        (("node", "delete", "nobody", "--yes"), 1, "nobody"),
        (("node", "edit", "nobody", "--tags", " ,"), 64, "name at least one"),
        (("search", "--tags", "#"), 64, "name at least one"),
        (("search", "--limit", "0"), 64, "--limit"),
        (("search", "--data-dir"), 64, "--data-dir"),
    ],
)
def test_a_mistake_is_one_clear_line(
    vizprompt: Vizprompt, tmp_path: Path, words: tuple[str, ...], code: int, hint: str
) -> None:
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    ran = vizprompt(*words)
    assert (ran.code, ran.out) == (code, "")
    assert hint in ran.err and ran.err.count("\n") == 1 and ran.err.startswith("vizprompt")


def test_a_search_that_did_not_see_every_node_says_so(
    vizprompt: Vizprompt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from nebula.graph.derived import node_cache, search
    from nebula.graph.graph import Graph

    with Graph(str(tmp_path / "project")) as graph:
        for number in range(20):
            graph.create_node(f"needle {number}")
    shutil.rmtree(tmp_path / "home" / "projects", ignore_errors=True)
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    monkeypatch.setattr(node_cache, "_BATCH", 8)
    monkeypatch.setattr(node_cache.NodeCache.read_some, "__defaults__", (8,))
    with monkeypatch.context() as at_a_terminal:
        at_a_terminal.setattr(search_command, "patience_for", lambda *_, **__: 0.0)
        ran = vizprompt("search", "--text", "needle", "--json")
        assert ran.code == 0 and 0 < len(ran.json) < 20
        assert f"the index is still being built: {20 - len(ran.json)} nodes. --wait waits for them." in ran.err
    ran = vizprompt("search", "--text", "needle", "--json")
    assert (ran.code, len(ran.json), ran.err) == (0, 20, "")


def test_a_search_waits_for_whoever_does_not_look_on() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert search_command.patience_for(io.StringIO(), wait=False) == math.inf
    assert search_command.patience_for(Terminal(), wait=True) == math.inf
    assert 1 < search_command.patience_for(Terminal(), wait=False) < 60


def test_nodes_are_listed_and_those_in_no_flow_apart(vizprompt: Vizprompt, tmp_path: Path) -> None:
    first, second, third = (vizprompt.create(each) for each in ("first", "second", "third"))
    assert [node["id"] for node in vizprompt("node", "list", "--json").json] == [third, second, first]
    assert [line.split()[-1] for line in vizprompt("node", "list", "--limit", "2").out.splitlines()] == [
        "third",
        "second",
    ]
    assert vizprompt("node", "list", "--outside").out == ""
    assert vizprompt("flow", "rebuild", "main", first, third).code == 0
    assert [node["id"] for node in vizprompt("node", "list", "--outside", "--json").json] == [second]
    assert vizprompt("node", "list", "--limit", "0").code == 64
    broken = tmp_path / "project/nodes/000/000.xml"
    broken.write_text(broken.read_text("utf-8")[:-20], encoding="utf-8")
    assert "cannot be read: 1 files. vizprompt check names them." in vizprompt("search", "--text", "second").err


def test_a_branch_is_shared_as_a_file(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("how it began", "so")
    last = vizprompt.create("how it ended", "thus", "--parent", first)
    vizprompt.create("beside it", "no", "--parent", first)
    page = vizprompt("export", last, "--branch", "--format", "html")
    assert page.code == 0 and page.out.startswith("<!doctype html>") and page.err.startswith("2 turns")
    assert "how it began" in page.out and "how it ended" in page.out and "beside it" not in page.out
    assert [node["prompt"] for node in vizprompt("export", last, "--format", "json").json["nodes"]] == ["how it ended"]


@pytest.mark.slow
def test_the_first_turn_of_a_long_flow_does_not_read_the_others(vizprompt: Vizprompt, tmp_path: Path) -> None:
    """Another program wrote 5,000 nodes: what is known of them is worked out when somebody searches."""
    data = tmp_path / "project"
    moment = "2026-01-01T00:00:00+00:00"
    ids = [f"01a1f09b-dfab-724e-ad87-{number:012x}" for number in range(5_000)]
    paths = [f"{number // 100:03d}/{number % 100:03d}.xml" for number in range(len(ids))]
    _write(data / "flows/000/000.yaml", dump_flow(rewired(Flow("f", "main"), ids, list(map(Connection, ids, ids[1:])))))
    _write(data / "flows/index.tsv", f"relpath\tuuid\ttimestamp\n000/000.yaml\tf\t{moment}\n")
    for path, node in zip(paths, ids, strict=True):
        texts = "".join(f'<text role="{role}"><![CDATA[\n{node}\n]]></text>' for role in ("user", "assistant"))
        _write(data / "nodes" / path, f'<node id="{node}" timestamp="{moment}"><contents>{texts}</contents></node>\n')
    lines = [f"{path}\t{node}\t{moment}\n" for path, node in zip(paths, ids, strict=True)]
    _write(data / "nodes/index.tsv", "relpath\tuuid\ttimestamp\n" + "".join(lines))
    began = time.process_time()
    made = vizprompt("create-node", "--prompt", "one", "--response", "more")
    assert time.process_time() - began < 0.4
    assert (
        made.code == 0 and vizprompt("flow", "show", "main", "--json").json["nodes"][-1]["id"] == made.out.split()[-1]
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_commands_on_files_load_no_event_loop() -> None:
    names = ("create_node", "node", "search", "flow", "tag", "undo", "check", "context", "export")
    imports = "; ".join(f"import nebula.cli.vizprompt_commands.{name}" for name in names)
    code = f"import sys; {imports}; print('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "False\n"
