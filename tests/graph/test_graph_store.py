"""The data folder as a whole: seed 004 §3, §4.3, §4.4, §5.2, §6.3, §7.1, §8, and SPEC §11."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from graph.graph_seed import FLOW_YAML, NODE_TSV, NODE_XML
from nebula.files.home import derived_folder
from nebula.graph.disk import files
from nebula.graph.errors import BadFile, BadRequest, BadText, CycleError, NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import Connection, FileState, NodeUsage, Utterance


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path / "data") as graph:
        yield graph


def files_of(graph: Graph) -> set[str]:
    root = Path(graph.data_dir)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and ".state" not in path.parts}


def read(graph: Graph, path: str) -> str:
    return (Path(graph.data_dir) / path).read_text("utf-8")


def test_opening_makes_nothing(graph: Graph) -> None:
    assert graph.list_nodes() == []
    assert graph.list_flows() == []
    assert graph.search_nodes(text="x") == []
    assert graph.check() == []
    with pytest.raises(NotFound):
        graph.get_node("x")
    assert not os.path.exists(graph.data_dir)


def test_3_1_the_files_of_the_seed(graph: Graph) -> None:
    graph.create_node("q", "a")
    graph.close()
    assert files_of(graph) == {
        "nodes/index.tsv",
        "nodes/000/000.xml",
        "flows/index.tsv",
        "flows/000/000.yaml",
        "metadata/tags.yaml",
        "metadata/index.yaml",
        "config.yaml",
        ".gitignore",
        ".gitattributes",
    }


def test_3_3_no_binary_files_but_what_git_ignores(graph: Graph) -> None:
    graph.create_node("q", "a")
    graph.search_nodes(text="q")
    graph.close()
    for path in files_of(graph):
        read(graph, path)
    assert read(graph, ".gitignore") == "/.state/\n"


def test_4_timestamps_are_iso_8601_with_zone(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d", node.timestamp)


def test_4_2_ids_are_uuids_that_sort_by_time(graph: Graph) -> None:
    ids = [graph.create_node(str(number)).id for number in range(20)]
    assert ids == sorted(ids)
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", each) for each in ids
    )


def test_4_2_a_new_node_has_no_summary_and_is_due(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    assert (node.updated, node.summary, node.last_built) == (False, "", node.timestamp)
    assert [due.id for due in graph.due_nodes()] == [node.id]
    graph.save_summary(node.id, "s", ["t"])
    assert graph.due_nodes() == []


def test_4_3_the_index_names_every_node_in_order_of_creation(graph: Graph) -> None:
    first, second = graph.create_node("1"), graph.create_node("2")
    assert read(graph, "nodes/index.tsv") == (
        "relpath\tuuid\ttimestamp\n"
        f"000/000.xml\t{first.id}\t{first.timestamp}\n"
        f"000/001.xml\t{second.id}\t{second.timestamp}\n"
    )


def test_5_2_the_index_of_flows(graph: Graph) -> None:
    flow = graph.create_flow("調査", "詳細な調査")
    assert read(graph, "flows/index.tsv") == f"relpath\tuuid\ttimestamp\n000/000.yaml\t{flow.id}\t{flow.created}\n"


def test_6_3_config_is_made_on_first_use(graph: Graph) -> None:
    graph.create_node("q")
    config = yaml.safe_load(read(graph, "config.yaml"))
    assert config["version"] == "1.0"
    assert config["settings"] == {
        "max_files_per_folder": 100,
        "default_llm_provider": "openai",
        "default_model": "gpt-4",
        "summary_token_limit": 50,
    }
    assert config["providers"] == {
        "openai": {"api_key_env": "OPENAI_API_KEY"},
        "gemini": {"api_key_env": "GEMINI_API_KEY"},
        "ollama": {"host": "http://localhost:11434"},
    }


def test_6_3_settings_are_read_again_when_edited(graph: Graph) -> None:
    graph.create_node("q")
    path = Path(graph.data_dir) / "config.yaml"
    path.write_text("settings:\n  max_files_per_folder: 2  # few\n  auto_summary: yes\n", encoding="utf-8")
    for number in range(4):
        graph.create_node(str(number))
    assert graph.settings.auto_summary
    assert {path for path in files_of(graph) if path.endswith(".xml")} == {
        "nodes/000/000.xml",
        "nodes/000/001.xml",
        "nodes/001/000.xml",
        "nodes/001/001.xml",
        "nodes/002/000.xml",
    }
    assert read(graph, "config.yaml").endswith("auto_summary: yes\n")


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("settings:\n  max_files_per_folder: 0\n  default_model: m\n", "max_files_per_folder must be a whole number"),
        ("settings: {default_llm_provider: [ollama]}\n", "default_llm_provider must be a word"),
        ("settings: [1]\n", "settings is not a mapping"),
        ("settings: 5\n", "settings is not a mapping"),
        ("- 1\n", "not a mapping"),
        ("settings: {summary_token_limit: [2]}\n", "summary_token_limit must be"),
        ("a: *b\n", "aliases"),
        ("\tx: y", "not YAML"),
    ],
)
def test_6_3_a_senseless_setting_is_a_remark_and_the_default_stands(graph: Graph, text: str, remark: str) -> None:
    graph.create_node("q")
    (Path(graph.data_dir) / "config.yaml").write_text(text, encoding="utf-8")
    graph.create_node("q")
    assert graph.settings.max_files_per_folder == 100
    assert graph.settings.default_model == ("m" if "default_model" in text else "gpt-4")
    for problems in (graph.problems(), graph.check()):
        [problem] = [each for each in problems if each.path == "config.yaml"]
        assert remark in problem.message


def test_6_3_settings_are_those_of_the_file_before_anything_else_is_read(graph: Graph) -> None:
    graph.create_node("q")
    graph.close()
    path = Path(graph.data_dir) / "config.yaml"
    path.write_text(path.read_text("utf-8").replace("gpt-4\n", "gpt-4.1-mini\n"), encoding="utf-8")
    assert Graph(graph.data_dir).settings.suggested_model == "openai/gpt-4.1-mini"


def test_7_1_1_a_new_node_is_in_the_flow_main(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    assert graph.get_flow("main").nodes == [node.id]
    assert graph.get_flow(graph.get_flow("main").id).name == "main"


def test_7_1_1_and_the_subscribers_hear_of_it_when_it_is_there(graph: Graph) -> None:
    heard: list[tuple[str, str]] = []

    def hear(event: str, data: dict[str, str]) -> None:
        if event == "node_created":
            assert Graph(graph.data_dir).get_node(data["node_id"]).prompt == "q"
        heard.append((event, data.get("node_id") or data["flow_id"]))

    end = graph.subscribe(hear)
    node = graph.create_node("q", "a")
    flow = graph.get_flow()
    graph.update_node(node.id, prompt="p")
    graph.save_summary(node.id, "s")
    graph.delete_node(node.id)
    end()
    graph.create_node("unheard")
    assert heard == [
        ("node_created", node.id),
        ("flow_updated", flow.id),
        ("node_updated", node.id),
        ("summary_built", node.id),
        ("node_deleted", node.id),
        ("flow_updated", flow.id),
    ]


def test_a_subscriber_that_fails_does_not_fail_the_write(graph: Graph) -> None:
    def fail(event: str, data: dict[str, str]) -> None:
        raise ValueError(event)

    graph.subscribe(fail)
    with pytest.warns(RuntimeWarning, match="a subscriber failed on"):
        node = graph.create_node("q")
    assert graph.get_node(node.id) == node


def test_7_1_2_an_edit_marks_the_node_for_building(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    graph.save_summary(node.id, "s", ["t"])
    edited = graph.update_node(node.id, response="b")
    assert (edited.prompt, edited.response, edited.updated, edited.summary) == ("q", "b", True, "s")
    assert 'updated="true"' in read(graph, "nodes/000/000.xml")
    assert [due.id for due in graph.due_nodes()] == [node.id]


def test_7_1_2_new_tags_alone_do_not(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    graph.save_summary(node.id, "s")
    assert not graph.update_node(node.id, tags=["x", " x ", "y\nz"]).updated
    assert graph.get_node(node.id).tags == ["x", "y z"]


def test_7_1_3_a_summary_of_an_older_text_leaves_the_node_due(graph: Graph) -> None:
    node = graph.create_node("q", "a")
    graph.update_node(node.id, prompt="changed meanwhile")
    assert graph.save_summary(node.id, "s", built_from=node).updated


def test_7_1_4_connections_change_the_flow_only(graph: Graph) -> None:
    first, second = graph.create_node("1"), graph.create_node("2")
    before = read(graph, "nodes/000/001.xml")
    graph.connect_nodes(first.id, second.id, "枝")
    assert read(graph, "nodes/000/001.xml") == before
    assert graph.get_flow().connections == [Connection(first.id, second.id, "枝")]


def test_1_2_retry_branches_and_several_parents_merge(graph: Graph) -> None:
    root = graph.create_node("root")
    one = graph.create_node("one", parents=[root.id])
    two = graph.create_branch(root.id, "retry", "two")
    both = graph.create_node("both", parents=[one.id, two.id])
    assert graph.draw_map() == "1<\n  1<2>4\n  1<3>4"
    assert [node.prompt for node in graph.get_history(both.id)] == ["root", "one", "two", "both"]
    assert [node.prompt for node in graph.get_history(two.id)] == ["root", "two"]


def test_5_a_cycle_is_refused_and_changes_nothing(graph: Graph) -> None:
    first = graph.create_node("1")
    second = graph.create_node("2", parents=[first.id])
    before = read(graph, "flows/000/000.yaml")
    with pytest.raises(CycleError):
        graph.connect_nodes(second.id, first.id)
    with pytest.raises(CycleError):
        graph.connect_nodes(first.id, first.id)
    assert read(graph, "flows/000/000.yaml") == before
    assert graph.get_flow().connections == [Connection(first.id, second.id)]
    graph.connect_nodes(first.id, second.id)
    assert read(graph, "flows/000/000.yaml") == before


def test_5_several_flows(graph: Graph) -> None:
    node = graph.create_node("q")
    graph.create_flow("side", "a sub-flow")
    side = graph.create_node("s", flow="side")
    graph.add_node_to_flow("side", node.id)
    assert graph.get_flow("side").nodes == [side.id, node.id]
    assert [flow.name for flow in graph.list_flows()] == ["main", "side"]
    assert [flow.name for flow in graph.list_flows()] == ["main", "side"]
    assert graph.get_history(side.id) == [side]
    with pytest.raises(NotFound, match="no flow 'nowhere'"):
        graph.create_node("x", flow="nowhere")
    assert graph.create_flow("side").id == graph.get_flow("side").id
    graph.update_flow("side", name="aside", description="d")
    assert graph.get_flow("aside").description == "d"
    with pytest.raises(BadRequest):
        graph.update_flow("aside", name="main")


def test_disconnect_remove_delete(graph: Graph) -> None:
    a, b, c, d = (graph.create_node(each).id for each in "abcd")
    graph.rebuild_flow("main", [a, b, c, d])
    graph.disconnect_nodes(a, b)
    assert graph.draw_map() == "1\n2→3→4"
    graph.remove_node_from_flow("main", d)
    assert graph.get_node(d).prompt == "d"
    graph.rebuild_flow("main", [a, b, c, d])
    graph.delete_node(b)
    assert graph.draw_map() == "1\n3→4"
    with pytest.raises(NotFound):
        graph.get_node(b)
    with pytest.raises(NotFound):
        graph.delete_node(b)
    assert b not in read(graph, "nodes/index.tsv")
    assert graph.create_node("e").id in read(graph, "nodes/index.tsv")
    assert "nodes/000/004.xml" in files_of(graph)
    assert graph.check() == []


def test_a_node_that_is_not_there_cannot_be_connected(graph: Graph) -> None:
    node = graph.create_node("q")
    for call in (
        lambda: graph.connect_nodes(node.id, "nobody"),
        lambda: graph.create_node("x", parents=["nobody"]),
        lambda: graph.rebuild_flow("main", ["nobody"]),
        lambda: graph.add_node_to_flow("main", "nobody"),
        lambda: graph.disconnect_nodes(node.id, "nobody"),
        lambda: graph.remove_node_from_flow("main", "nobody"),
        lambda: graph.update_node("nobody", prompt="x"),
    ):
        with pytest.raises(NotFound):
            call()
    assert graph.get_flow().nodes == [node.id]
    assert graph.count_nodes() == 1


def test_a_whole_turn_in_one_call(graph: Graph) -> None:
    parent = graph.create_node("q")
    node = graph.add_turn(
        node_id="01890a5d-ac96-774b-bcce-b302099a8057",
        texts=[Utterance("user", "q", 3), Utterance("tool", "{}"), Utterance("assistant", "a", 10, 2.0)],
        parents=[parent.id],
        model="gpt-4.1-nano",
        session="session_1",
        usage=NodeUsage(100, 20, 0.001),
        files=[FileState("a.py", "", "abc")],
    )
    with Graph(graph.data_dir) as again:
        assert again.get_node("01890a5d-ac96-774b-bcce-b302099a8057") == node
    assert node.texts[2].rate == 5.0
    with pytest.raises(BadRequest):
        graph.add_turn(node_id=node.id, texts=[Utterance("user", "again")])


def test_text_that_cannot_be_stored_leaves_nothing_behind(graph: Graph) -> None:
    graph.create_node("fine")
    before = {path: read(graph, path) for path in files_of(graph)}
    for call in (
        lambda: graph.create_node("bad \udc00"),
        lambda: graph.create_flow("bad \udc00"),
        lambda: graph.create_node("x", tags=["\udc00"]),
        lambda: graph.create_node("x", parents=graph.get_flow().nodes, branch="\udc00"),
        lambda: graph.update_flow("main", name="\udc00"),
        lambda: graph.update_flow("main", name=" "),
    ):
        with pytest.raises(BadText):
            call()
    assert {path: read(graph, path) for path in files_of(graph)} == before
    graph.create_node("still works")


# Files edited by hand


def test_hand_edits_are_picked_up_without_restart(graph: Graph) -> None:
    node = graph.create_node("before", "a")
    path = Path(graph.data_dir) / "nodes/000/000.xml"
    assert graph.get_node(node.id).prompt == "before"
    assert graph.search_nodes(text="before")
    path.write_text(path.read_text("utf-8").replace("before", "behind"), encoding="utf-8")
    assert graph.get_node(node.id).prompt == "behind"
    assert graph.search_nodes(text="before") == []
    assert [found.id for found in graph.search_nodes(text="behind")] == [node.id]


def test_flows_edited_by_hand_too_and_their_comments_stay(graph: Graph) -> None:
    first, second = graph.create_node("1"), graph.create_node("2")
    path = Path(graph.data_dir) / "flows/000/000.yaml"
    text = path.read_text("utf-8").replace("name: main", "name: renamed  # by me")
    path.write_text(text, encoding="utf-8")
    assert graph.get_flow("renamed").nodes == [first.id, second.id]
    graph.connect_nodes(first.id, second.id, flow="renamed")
    assert "name: renamed  # by me" in path.read_text("utf-8")
    third = graph.create_node("3")
    assert graph.get_flow("main").nodes == [third.id]


def test_a_file_put_there_by_hand_is_a_node(graph: Graph) -> None:
    graph.create_node("1")
    folder = Path(graph.data_dir) / "nodes/07"
    folder.mkdir()
    (folder / "3.xml").write_text(NODE_XML, encoding="utf-8")
    assert graph.get_node("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx").tags == ["タグ1", "タグ2", "タグ3"]
    assert len(graph.list_nodes()) == 2
    shutil.rmtree(folder)
    assert len(graph.list_nodes()) == 1


def test_the_seeds_examples_are_a_data_folder(tmp_path: Path) -> None:
    for path, text in (
        ("nodes/index.tsv", NODE_TSV),
        ("nodes/00/00.xml", NODE_XML),
        ("flows/00/00.yaml", FLOW_YAML),
        ("flows/index.tsv", NODE_TSV.replace(".xml", ".yaml")),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    with Graph(tmp_path) as graph:
        node = graph.get_node("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
        assert node.model == "gemini-2.0-flash-001"
        assert graph.draw_map("メインフロー") == "1<\n  1<2>4\n  1<3>4"
        assert [found.id for found in graph.search_nodes(tags=["タグ1", "タグ2"])] == [node.id]
        graph.create_node("next")
        assert (tmp_path / "nodes/001/001.xml").exists()


def test_4_4_of_two_files_with_one_id_the_newer_counts(graph: Graph) -> None:
    node = graph.create_node("old")
    folder = Path(graph.data_dir) / "nodes/000"
    text = (folder / "000.xml").read_text("utf-8")
    (folder / "005.xml").write_text(
        text.replace("old", "new").replace(node.timestamp, "2999-01-01T00:00:00+00:00"), encoding="utf-8"
    )
    (folder / "006.xml").write_text(
        text.replace("old", "older").replace(node.timestamp, "1999-01-01T00:00:00+00:00"), encoding="utf-8"
    )
    assert graph.get_node(node.id).prompt == "new"
    assert [found.prompt for found in graph.list_nodes()] == ["new"]
    assert graph.search_nodes(text="older") == []
    assert [problem.path for problem in graph.problems()] == ["nodes/000/000.xml", "nodes/000/006.xml"]


def test_4_4_all_files_with_an_id_can_be_listed(graph: Graph) -> None:
    node = graph.create_node("old")
    path = Path(graph.data_dir) / "nodes/000/000.xml"
    newer = path.read_text("utf-8").replace("old", "new").replace(node.timestamp, "2099-01-01T00:00:00+00:00")
    (Path(graph.data_dir) / "nodes/000/001.xml").write_text(newer, encoding="utf-8")
    assert [each.prompt for each in graph.list_candidates(node.id)] == ["new", "old"]
    assert graph.get_node(node.id).prompt == "new"
    with pytest.raises(NotFound):
        graph.list_candidates("nobody")


def test_4_4_of_the_same_time_the_one_found_later_counts(graph: Graph) -> None:
    node = graph.create_node("first")
    folder = Path(graph.data_dir) / "nodes/000"
    (folder / "005.xml").write_text((folder / "000.xml").read_text("utf-8").replace("first", "later"), encoding="utf-8")
    assert graph.get_node(node.id).prompt == "later"
    (folder / "005.xml").unlink()
    assert graph.get_node(node.id).prompt == "first"
    assert [found.prompt for found in graph.search_nodes(text="first")] == ["first"]


def test_unreadable_files_are_reported_and_skipped_never_deleted(graph: Graph) -> None:
    node, other = graph.create_node("gone bad"), graph.create_node("fine")
    path = Path(graph.data_dir) / "nodes/000/000.xml"
    path.write_text("<node", encoding="utf-8")
    (Path(graph.data_dir) / "flows/000/009.yaml").write_text("a: *b\n", encoding="utf-8")
    assert [found.id for found in graph.list_nodes()] == [other.id]
    with pytest.raises(BadFile, match=r"nodes/000/000\.xml"):
        graph.get_node(node.id)
    assert {problem.path for problem in graph.problems()} == {"nodes/000/000.xml", "flows/000/009.yaml"}
    assert graph.get_history(other.id) == [other]
    graph.check(repair=True)
    assert path.read_text("utf-8") == "<node"
    graph.create_node("goes on")


def test_an_index_from_a_stranger_cannot_point_elsewhere(graph: Graph, tmp_path: Path) -> None:
    graph.create_node("1")
    (tmp_path / "secret.xml").write_text(NODE_XML, encoding="utf-8")
    root = Path(graph.data_dir)
    with (root / "nodes/index.tsv").open("a", encoding="utf-8") as file:
        file.write("../../secret.xml\tstolen\tt\n")
    (root / "nodes/000/005.xml").symlink_to(tmp_path / "secret.xml")
    (root / "nodes/001").symlink_to(tmp_path)
    os.mkfifo(root / "nodes/000/006.xml")
    with pytest.raises(NotFound):
        graph.get_node("stolen")
    assert len(graph.list_nodes()) == 1
    assert len(graph.problems()) == 2


def test_a_folder_that_is_a_link_is_not_written_through(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    graph.create_flow("main")
    (Path(graph.data_dir) / "nodes/000").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadFile, match="not a folder"):
        graph.create_node("1")
    assert list((tmp_path / "elsewhere").iterdir()) == []


# The cache and the rest


def test_8_2_the_cache_can_be_thrown_away(graph: Graph) -> None:
    node = graph.create_node("needle", tags=["t"])
    assert graph.search_nodes(text="needle")
    graph.close()
    shutil.rmtree(Path(graph.data_dir) / ".state")
    shutil.rmtree(derived_folder(graph.data_dir))
    assert graph.get_node(node.id) == node
    assert [found.id for found in graph.search_nodes(text="needle", tags=["t"])] == [node.id]


def test_8_2_a_damaged_cache_is_made_anew(graph: Graph) -> None:
    node = graph.create_node("needle")
    graph.close()
    (Path(derived_folder(graph.data_dir)) / "graph.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert [found.id for found in graph.search_nodes(text="needle")] == [node.id]


def test_8_2_a_cache_damaged_inside_is_made_anew_too(graph: Graph) -> None:
    ids = [graph.create_node(f"needle {number}", "x" * 2000).id for number in range(30)]
    assert len(graph.search_nodes(text="needle")) == 30
    graph.close()
    cache = Path(derived_folder(graph.data_dir)) / "graph.db"
    data = bytearray(cache.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    cache.write_bytes(data)
    assert {node.id for node in graph.search_nodes(text="needle")} == set(ids)
    assert graph.get_node(ids[0]).prompt == "needle 0"


@pytest.mark.slow
def test_a_large_folder_gives_out_nodes_before_its_cache_is_built(graph: Graph) -> None:
    node = graph.create_node("q")
    graph.close()
    root = Path(graph.data_dir)
    shutil.rmtree(derived_folder(root))
    with (root / "nodes/index.tsv").open("a", encoding="utf-8") as index:
        index.writelines(f"000/{number}.xml\tid-{number}\t2025-01-01T00:00:00+00:00\n" for number in range(1000, 30000))
    with Graph(root) as fresh:
        assert fresh.get_node(node.id) == node
        assert fresh.count_nodes() == 1
        with pytest.raises(NotFound):
            fresh.get_node("id-1000")


def test_8_2_the_line_of_a_deleted_node_leaves_an_index_however_long_it_is(tmp_path: Path) -> None:
    with Graph(tmp_path / "g") as graph:
        node, kept = graph.create_node("gone"), graph.create_node("kept")
        with (Path(graph.data_dir) / "nodes/index.tsv").open("a", encoding="utf-8") as index:
            index.write("# " + "x" * (1 << 20) + "\n")
        graph.delete_node(node.id)
        assert node.id not in read(graph, "nodes/index.tsv") and kept.id in read(graph, "nodes/index.tsv")


def change_in_place(path: Path, old: bytes, new: bytes) -> None:
    """Leave the size and the time of writing as they were; the clock may have to tick before it shows."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        with path.open("r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace(old, new))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_file_changed_under_the_same_size_and_time_is_read_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_TICK_NS", 0)  # as if it had been read long ago
    node = graph.create_node("question")
    folder = Path(graph.data_dir)
    assert graph.get_node(node.id) == node and graph.search_nodes(text="question") == [node]
    change_in_place(folder / "nodes/000/000.xml", b"question", b"correct?")
    assert graph.get_node(node.id).prompt == "correct?"
    assert [found.prompt for found in graph.search_nodes(text="correct")] == ["correct?"]
    assert graph.list_flows()[0].name == "main"
    change_in_place(folder / "flows/000/000.yaml", b"name: main", b"name: niam")
    assert graph.list_flows()[0].name == "niam"


def test_a_node_mended_in_place_is_found_before_the_next_look_at_all_files(graph: Graph) -> None:
    node = graph.create_node("q")
    assert graph.list_nodes() == [node]
    path = Path(graph.data_dir) / "nodes/000/000.xml"
    good = path.read_bytes()
    path.write_bytes(good[:40])
    time.sleep(0.1)  # the times of the files are settled then
    assert graph.list_nodes() == []
    graph._store.node_cache._scan_at = float("inf")  # as after a look that took long
    path.write_bytes(good)
    assert graph.get_node(node.id) == node
    path.unlink()
    with pytest.raises(NotFound):
        graph.get_node(node.id)


def test_a_folder_that_cannot_be_written_can_be_read(graph: Graph) -> None:
    node = graph.create_node("needle")
    graph.close()
    shutil.rmtree(Path(graph.data_dir) / ".state")
    (Path(graph.data_dir) / ".state").write_text("in the way", encoding="utf-8")
    with Graph(graph.data_dir) as reader:
        assert reader.get_node(node.id) == node
        assert [found.id for found in reader.search_nodes(text="needle")] == [node.id]


@pytest.mark.slow
def test_8_2_a_long_flow_takes_additions_at_once_for_every_reader(graph: Graph) -> None:
    first = graph.create_node("0")
    text = read(graph, "flows/000/000.yaml").replace('description: ""', f"description: {'x' * 40_000}")
    (Path(graph.data_dir) / "flows/000/000.yaml").write_text(text, encoding="utf-8")
    ids = [first.id]
    for number in range(1, 30):
        ids.append(graph.create_node(str(number), parents=[ids[-1]]).id)
        with_others = Graph(graph.data_dir)
        assert with_others.get_flow().nodes == ids
    assert [node.id for node in Graph(graph.data_dir).get_history(ids[-1])] == ids
    graph.disconnect_nodes(ids[3], ids[4])
    assert len(Graph(graph.data_dir).get_flow().edges) == 28
    graph.close()
    assert len(yaml.safe_load(read(graph, "flows/000/000.yaml"))["nodes"]) == 30
    assert graph.check() == []


@pytest.mark.parametrize(
    "text",
    [
        "id: x\nname: main\nnodes: [\n",
        "id: x\n\tname: main\n",
        "<<<<<<< ours\nname: main\n=======\nname: other\n>>>>>>> theirs\n",
        "\x00\x00\x00",
        "name: 'main'\n",
        "id: x\nname: main: :\n",
        "id: x\nname: main # the first\nnodes: [\n",
        'id: x\nname: "mai\n',
    ],
)
def test_a_flow_that_cannot_be_read_is_shown_as_such_and_not_made_again(graph: Graph, text: str) -> None:
    node = graph.create_node("q")
    other = graph.create_flow("other")
    graph.add_node_to_flow("other", node.id)
    graph.close()
    path = Path(graph.data_dir) / "flows/000/000.yaml"
    path.write_text(text, encoding="utf-8")
    with Graph(graph.data_dir) as again:
        for call in (again.get_flow, lambda: again.create_node("lost"), lambda: again.create_flow("main")):
            with pytest.raises(BadFile, match=r"flows/000/000\.yaml"):
                call()
        assert [problem.path for problem in again.unreadable_flows()] == ["flows/000/000.yaml"]
        assert [flow.name for flow in again.list_flows()] == ["other"]
        assert again.create_node("kept", flow="other", parents=[node.id]).id in again.get_flow(other.id).nodes
        assert again.history_ids(node.id) == [node.id]
        assert again.create_flow("third").name == "third"
        assert path.read_text("utf-8") == text


@pytest.mark.parametrize(("old", "new"), [("  - index: 2", "\t- index: 2"), ("connections: []", "connections: [")])
def test_a_flow_that_is_broken_below_its_head_is_not_made_again(graph: Graph, old: str, new: str) -> None:
    graph.create_node("one")
    graph.create_node("two")
    graph.close()
    path = Path(graph.data_dir) / "flows/000/000.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    for _ in range(2):
        with Graph(graph.data_dir) as again:
            with pytest.raises(BadFile):
                again.create_node("three")
            with pytest.raises(BadFile):
                again.get_flow("main")
            with pytest.raises(BadFile):
                again.create_flow("main")
    assert [each.name for each in path.parent.iterdir()] == ["000.yaml"]


def test_arguments_that_are_no_text_are_one_clear_error(graph: Graph) -> None:
    node = graph.create_node("q", tags="one tag")
    assert node.tags == ["one tag"]
    assert graph.update_node(node.id, tags="abc").tags == ["abc"]
    assert graph.create_node("r", parents=node.id).id in graph.get_flow().nodes
    assert graph.save_summary(node.id, "s", tags="x").tags == ["x"]
    calls: list[Any] = [
        lambda: graph.create_node(None),  # type: ignore[arg-type]
        lambda: graph.create_node("q", 5),  # type: ignore[arg-type]
        lambda: graph.create_node("q", tags=[None]),  # type: ignore[list-item]
        lambda: graph.create_node("q", model=None),  # type: ignore[arg-type]
        lambda: graph.update_node(node.id, prompt=b"x"),  # type: ignore[arg-type]
        lambda: graph.update_node(node.id, tags=[1]),  # type: ignore[list-item]
    ]
    for call in calls:
        with pytest.raises(BadRequest, match="must be text, not "):
            call()
    assert graph.count_nodes() == 2


def test_a_clone_that_is_only_read_stays_as_it_is(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        graph.create_node("question", tags=["one"])
    shutil.rmtree(tmp_path / ".state")  # git leaves it out
    before = sorted(tmp_path.rglob("*"))
    with Graph(tmp_path) as clone:
        assert len(clone.search_nodes(text="question")) == 1
        clone._store.metadata.mark_old()
        clone._store._tidy()
        clone._store._tidy()
    assert sorted(tmp_path.rglob("*")) == before


def test_tries_of_a_first_prompt_are_found_from_each_of_them(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        first = graph.add_turn(texts=[Utterance("user", "why?")])
        second = graph.add_turn(texts=[Utterance("user", "why?")], beginning=first.first_try)
        third = graph.add_turn(texts=[Utterance("user", "how?")], beginning=second.first_try)
        other = graph.add_turn(texts=[Utterance("user", "something else")])
        below = graph.add_turn(texts=[Utterance("user", "and?")], parents=[third.id], beginning=first.id)
        tries = [first.id, second.id, third.id]
        assert [graph.list_tries(node) for node in (first, second, third)] == [tries] * 3
        assert graph.list_tries(other) == [other.id]
        assert below.beginning == "" and graph.get_node(third.id).beginning == first.id
        graph.delete_node(first.id)
        assert graph.list_tries(third) == [second.id, third.id]
    assert "<beginning>" in (tmp_path / "nodes/000/001.xml").read_text("utf-8")


def test_4_2_of_rate_and_duration_the_one_comes_from_the_other(graph: Graph) -> None:
    told = [
        Utterance("user", "q", 6, rate=5.0),
        Utterance("assistant", "a", 14, 0.08),
        Utterance("tool", "t", 3, 1.5, 2.0),
    ]
    node = graph.get_node(graph.add_turn(texts=told).id)
    figures = [(each.count, each.duration, each.rate) for each in node.texts]
    assert figures == [(6, 1.2, 5.0), (14, 0.08, 175.0), (3, 1.5, 2.0)]
