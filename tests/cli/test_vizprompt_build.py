"""vizprompt build, check and context, run as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripted_model import RecordedRequest, ScriptedModel, Turn
from vizprompt_command import Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def test_summaries_and_tags_come_from_the_configured_model(vizprompt: Vizprompt) -> None:
    node_id = vizprompt.create("asyncio とは？", "非同期処理です。")
    with ScriptedModel(lambda _: Turn("要約: 説明です。\nタグ: Python, asyncio")) as server:
        built = vizprompt("build", env=server.env())
        assert (built.code, built.out) == (0, "Built: 1  failed: 0  left: 0\n")
        node = vizprompt("node", "show", node_id, "--json").json
        assert (node["summary"], node["tags"], node["updated"]) == ("説明です。", ["Python", "asyncio"], False)
        assert vizprompt("build", env=server.env()).out.startswith("Built: 0")
        assert vizprompt("build", "--all", "--openai", "-m", "gpt-4.1-mini", env=server.env()).out.startswith(
            "Built: 1"
        )
        assert [request.json["model"] for request in server.turns] == ["gpt-4.1-nano", "gpt-4.1-mini"]
    assert [n["id"] for n in vizprompt("search", "--keywords", "説明,asyncio", "--json").json] == [node_id]


def test_a_node_that_fails_is_told_and_the_rest_is_built(vizprompt: Vizprompt) -> None:
    good, bad = vizprompt.create("good"), vizprompt.create("bad")

    def script(request: RecordedRequest) -> Turn:
        return Turn("nonsense" if "bad" in request.json["messages"][0]["content"] else "要約: よし。\nタグ: a")

    with ScriptedModel(script) as server:
        ran = vizprompt("build", env=server.env())
    assert (ran.code, ran.out) == (1, "Built: 1  failed: 1  left: 0\n")
    assert ran.err.startswith(f"{bad}: ") and good not in ran.err


def test_without_a_model_extracts_are_made_and_marked(vizprompt: Vizprompt) -> None:
    node_id = vizprompt.create("How do loops work?", "They repeat.")
    ran = vizprompt("build")
    assert (ran.code, ran.out) == (0, "Built: 1  failed: 0  left: 0\n") and "Extracts are used" in ran.err
    node = vizprompt("node", "show", node_id, "--json").json
    assert node["summary"] == "[extract] How do loops work? → They repeat." and node["tags"]
    assert vizprompt("build", "--offline").out.startswith("Built: 0")


def test_a_provider_asked_for_by_name_must_be_there(vizprompt: Vizprompt) -> None:
    vizprompt.create("p")
    ran = vizprompt("build", "--openai")
    assert ran.code == 1 and "OPENAI_API_KEY" in ran.err and ran.err.count("\n") == 1


def test_check_says_what_is_wrong_and_mends_it(vizprompt: Vizprompt, tmp_path: Path) -> None:
    first = vizprompt.create("a")
    vizprompt.create("b", "r", "--parent", first)
    clean = vizprompt("check")
    assert (clean.code, clean.out) == (0, "") and "Nothing is wrong" in clean.err
    (tmp_path / "project/nodes/index.tsv").unlink()
    broken = tmp_path / "project/nodes/000/007.xml"
    broken.write_text("<node", encoding="utf-8")
    found = vizprompt("check", "--json")
    assert found.code == 1 and "unreadable" in {problem["kind"] for problem in found.json}
    mended = vizprompt("check", "--repair")
    assert mended.code == 1 and "007.xml" in mended.out
    assert broken.read_text(encoding="utf-8") == "<node"
    assert first in (tmp_path / "project/nodes/index.tsv").read_text(encoding="utf-8")
    broken.unlink()
    assert vizprompt("check").code == 0


def test_a_path_is_one_text_for_any_model(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("one", "first answer")
    second = vizprompt.create("two", "second answer", "--parent", first)
    shown = vizprompt("context", second, "--prompt", "three?")
    assert shown.code == 0 and "three?" in shown.out and "second answer" in shown.out and "tokens" in shown.err
    preview = vizprompt("context", second, "--prompt", "three?", "--json").json
    assert [(part["node_id"], part["form"]) for part in preview["parts"]] == [(first, "summary"), (second, "full")]
    aside = vizprompt.create("aside", "beside", "--tags", "t")
    wished = vizprompt("context", second, "--full", first, "--ref", "#t", "--json").json
    forms = [(part["node_id"], part["form"]) for part in wished["parts"]]
    assert forms == [(first, "full"), (second, "full"), (aside, "tags")]
    assert vizprompt("context", "nobody").code == 1
    assert vizprompt("context", first, "--budget", "0").code == 64
