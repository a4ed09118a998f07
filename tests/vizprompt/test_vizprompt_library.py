"""The library under the seed's names: seed 004 §9.1, §9.2, §2.2, §7."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vizprompt
from vizprompt import CycleError, NotFound, VizPrompt
from vizprompt.core import VizPromptManager


def test_9_1_the_managers_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "NEBULA_MODEL", "NEBULA_PROVIDER", "EC_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OLLAMA_HOST", "EC_OLLAMA_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    manager = VizPromptManager(str(tmp_path / "data"))
    node = manager.create_node(prompt="質問内容", response="回答内容")
    manager.add_node_to_flow("main", node.id)
    manager.build_summary(node.id)
    built = manager.get_node(node.id)
    assert (built.prompt, built.response) == ("質問内容", "回答内容")
    assert built.summary
    assert not built.updated
    assert manager.get_flow("main").nodes == [node.id]
    manager.close()


def test_9_2_the_headless_example(tmp_path: Path) -> None:
    vp = VizPrompt(data_dir=str(tmp_path))
    node_id = vp.create_node(prompt="質問", response="回答")
    assert isinstance(node_id, str)
    assert vp.search_nodes(tags=["タグ1", "タグ2"], keywords=["キーワード"]) == []
    vp.update_node(node_id, tags=["タグ1", "タグ2", "キーワード"])
    [found] = vp.search_nodes(tags=["タグ1", "タグ2"], keywords=["キーワード"])
    node = vp.get_node(node_id)
    assert found == node
    assert (node.id, node.prompt, node.response, node.summary, node.model) == (node_id, "質問", "回答", "", "")
    assert node.tags == ["タグ1", "タグ2", "キーワード"]
    assert node.timestamp
    second, third = vp.create_node("q2", "a2"), vp.create_node("q3", "a3")
    vp.connect_nodes(node_id, second, branch_name="分岐名")
    assert vp.get_flow("main").connections[0].branch == "分岐名"
    vp.rebuild_flow("main", [third, node_id, second])
    assert [node.prompt for node in vp.get_history(second)] == ["q3", "質問", "q2"]
    vp.close()


def test_9_2_the_obvious_rest(tmp_path: Path) -> None:
    with VizPrompt(tmp_path) as vp:
        a, b, c = vp.create_node("a"), vp.create_node("b"), vp.create_node("c")
        vp.rebuild_flow("main", [a, b, c])
        with pytest.raises(CycleError):
            vp.connect_nodes(c, a)
        vp.disconnect_nodes(a, b)
        vp.remove_node_from_flow("main", c)
        assert vp.get_flow().connections == []
        vp.delete_node(c)
        with pytest.raises(NotFound):
            vp.get_node(c)
        branch = vp.create_branch(a, "別案", "b2", "answer")
        assert [node.id for node in vp.get_history(branch.id)] == [a, branch.id]
        heard: list[str] = []
        vp.subscribe(lambda event, data: heard.append(event))
        vp.create_node("d")
        assert heard == ["node_created", "flow_updated"]
        assert vp.list_tags() == {}
        assert [flow.name for flow in vp.list_flows()] == ["main"]


def test_every_public_name_is_there_and_documented() -> None:
    for name in vizprompt.__all__:
        assert getattr(vizprompt, name).__doc__
    for name, call in vars(vizprompt.VizPrompt.__mro__[1]).items():
        if not name.startswith("_") and callable(call):
            assert call.__doc__, name


def test_importing_the_library_loads_neither_yaml_nor_sqlite() -> None:
    code = "import sys, vizprompt, vizprompt.core; print(sorted({'yaml', 'sqlite3', 'asyncio', 'logging'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_8_3_a_graph_can_be_used_with_no_server_and_no_model(tmp_path: Path) -> None:
    code = (
        "import sys; from vizprompt import VizPrompt; vp = VizPrompt(sys.argv[1]);"
        "print(vp.create_node('質問', '回答')); assert 'nebula.llm' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    # Leaving without close() is fine too.
    with VizPrompt(tmp_path) as vp:
        assert vp.get_node(ran.stdout.strip()).prompt == "質問"
        assert vp.check() == []
