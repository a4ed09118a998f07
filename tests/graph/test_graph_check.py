"""`check`: finds what is wrong, mends it, says what it did; a second look is clean (SPEC §11, seed 004 §4.4, §5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nebula.graph.errors import BadFile
from nebula.graph.formats.flow_yaml import dump_flow
from nebula.graph.formats.git_conflicts import sides, versions
from nebula.graph.graph import Graph
from nebula.graph.merging import merge_versions, settle_merge
from nebula.graph.values import Problem
from nebula.value import replace


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path) as graph:
        for name in "abc":
            graph.create_node(name)
        graph.rebuild_flow("main", [node.id for node in reversed(graph.list_nodes())])
        graph.close()
        yield graph


def file(graph: Graph, path: str) -> Path:
    return Path(graph.data_dir) / path


def edit(graph: Graph, path: str, old: str, new: str) -> None:
    text = file(graph, path).read_text("utf-8")
    assert old in text
    file(graph, path).write_text(text.replace(old, new), encoding="utf-8")


def mended(graph: Graph, *kinds: str) -> list[Problem]:
    """The problems, which must be of these kinds; all are mended, and looking again finds nothing."""
    assert sorted(problem.kind for problem in graph.check()) == sorted(kinds)
    assert all(not problem.repaired for problem in graph.check())
    problems = graph.check(repair=True)
    assert sorted(problem.kind for problem in problems) == sorted(kinds)
    assert all(problem.repaired for problem in problems), problems
    assert graph.check() == []
    assert Graph(graph.data_dir).check() == []
    return problems


def test_a_sound_folder_is_clean_and_stays_untouched(graph: Graph) -> None:
    before = {path: path.read_bytes() for path in Path(graph.data_dir).rglob("*.*") if path.is_file()}
    assert graph.check() == []
    assert graph.check(repair=True) == []
    graph.close()
    for path, data in before.items():
        if ".state" not in path.parts:
            assert path.read_bytes() == data


def test_index_lines_missing_extra_wrong_and_broken(graph: Graph) -> None:
    index = file(graph, "nodes/index.tsv")
    lines = index.read_text("utf-8").splitlines(keepends=True)
    wrong = lines[1].replace(lines[1].split("\t")[1], "another-id")
    index.write_text(
        "".join([lines[0], wrong, lines[3], "000/099.xml\tghost\tt\n", "<<<<<<< HEAD\n"]), encoding="utf-8"
    )
    mended(graph, "index", "index", "index", "index")
    assert sorted(index.read_text("utf-8").splitlines()) == sorted(line.strip() for line in lines)


def test_a_missing_index_comes_back(graph: Graph) -> None:
    before = file(graph, "nodes/index.tsv").read_text("utf-8")
    file(graph, "nodes/index.tsv").unlink()
    file(graph, "flows/index.tsv").unlink()
    assert len(graph.list_nodes()) == 3
    assert graph.get_flow().name == "main"
    mended(graph, *["index"] * 4)
    assert file(graph, "nodes/index.tsv").read_text("utf-8") == before


def test_4_4_a_copy_gets_an_id_of_its_own(graph: Graph) -> None:
    text = file(graph, "nodes/000/001.xml").read_text("utf-8")
    file(graph, "nodes/000/050.xml").write_text(text.replace("b\n]]>", "b2\n]]>"), encoding="utf-8")
    clash = next(problem for problem in mended(graph, "clash", "index") if problem.kind == "clash")
    assert clash.path == "nodes/000/001.xml" and clash.message.startswith("has the same id (")
    assert clash.message.endswith(") as nodes/000/050.xml, which is the one that counts")
    assert sorted(node.prompt for node in graph.list_nodes()) == ["a", "b", "b2", "c"]
    assert [graph.get_node(node).prompt for node in graph.get_flow().nodes] == ["a", "b2", "c"]


def test_5_cycles_dangling_ids_repeated_ids_and_bad_edges(graph: Graph) -> None:
    node = graph.get_flow().nodes[0]
    edit(
        graph,
        "flows/000/000.yaml",
        "connections:\n",
        f"  - index: 4\n    id: nobody\n  - index: 5\n    id: {node}\n# my comment\nconnections:\n"
        "  - from: 3\n    to: 4\n  - from: 9\n    to: 1\n  - from: 3\n    to: 5 # round\n",
    )
    assert graph.draw_map()  # not crashed on
    problems = mended(graph, "edge", "repeated", "dangling", "cycle")
    assert "# my comment" in file(graph, "flows/000/000.yaml").read_text("utf-8")
    assert len(graph.get_flow().edges) == 2
    cycle = next(problem for problem in problems if problem.kind == "cycle")
    assert "a circle: " in cycle.message
    assert "taken out" in cycle.repaired


def test_a_copied_flow_gets_an_id_and_a_name_of_its_own(graph: Graph) -> None:
    file(graph, "flows/000/007.yaml").write_text(file(graph, "flows/000/000.yaml").read_text("utf-8"), encoding="utf-8")
    mended(graph, "clash", "clash", "index")
    assert [flow.name for flow in graph.list_flows()] == ["main", "main (2)"]
    assert len({flow.id for flow in graph.list_flows()}) == 2


def test_old_metadata_is_written_anew(graph: Graph) -> None:
    edit(graph, "nodes/000/000.xml", "<tags/>", "<tags>\n<tag>by hand</tag>\n</tags>")
    mended(graph, "metadata", "metadata")
    assert "by hand" in file(graph, "metadata/tags.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", ["", "name:\n", "name: {a: b}\n"])
def test_a_flow_that_lost_its_name_is_told_and_gets_no_second_main_beside_it(graph: Graph, name: str) -> None:
    edit(graph, "flows/000/000.yaml", "name: main\n", name)
    assert [(problem.kind, problem.message) for problem in graph.check()] == [("nameless", "the flow has no name")]
    assert [problem.kind for problem in graph.problems()] == ["nameless"]
    with pytest.raises(BadFile, match="no name"):
        graph.create_node("d")
    [flow] = graph.list_flows()
    graph.update_flow(flow.id, name="main")
    graph.create_node("d")
    graph.close()
    assert graph.check() == [] and len(graph.get_flow().nodes) == 4


def test_unreadable_files_are_told_every_time_and_kept(graph: Graph) -> None:
    file(graph, "nodes/000/001.xml").write_text("<node id='x'", encoding="utf-8")
    file(graph, "flows/000/003.yaml").write_text("id: [", encoding="utf-8")
    file(graph, "config.yaml").write_text("settings:\n  max_files_per_folder: many\n", encoding="utf-8")
    for repair in (False, True, False):
        kinds = [problem for problem in graph.check(repair=repair) if problem.kind == "unreadable"]
        assert {problem.path for problem in kinds} == {"nodes/000/001.xml", "flows/000/003.yaml", "config.yaml"}
        assert all(not problem.repaired for problem in kinds)
    assert file(graph, "nodes/000/001.xml").read_text("utf-8") == "<node id='x'"


# Conflicts


OURS = "a\n<<<<<<< HEAD\nb\n||||||| base\nx\n=======\nc\n>>>>>>> other\nd\n"


def test_a_conflict_is_taken_apart() -> None:
    assert sides(OURS) == ("a\nb\nd\n", "a\nc\nd\n")
    assert sides(OURS.replace("||||||| base\nx\n", "")) == ("a\nb\nd\n", "a\nc\nd\n")
    assert sides("a\n<<<<<<< HEAD\nb\n") is None
    assert sides("a\n=======\nb\n>>>>>>> x\n") is None
    inside = "<" * 32 + " HEAD\n=======\nb\n" + "=" * 32 + "\nc\n" + ">" * 32 + " o\n"
    assert sides(inside) == ("=======\nb\n", "c\n")
    assert versions("a\n" + inside.replace("b\n", OURS)) == [f"a\n=======\n{OURS}", "a\nc\n"]
    assert versions(OURS) == ["a\nb\nd\n", "a\nc\nd\n"]
    assert versions(OURS + inside) == [f"{OURS}=======\nb\n", f"{OURS}c\n"], "what somebody wrote about conflicts"


def conflict(ours: str, theirs: str, size: int = 32) -> str:
    return "<" * size + " HEAD\n" + ours + "=" * size + "\n" + theirs + ">" * size + " branch\n"


def test_two_nodes_in_one_file_are_parted(graph: Graph) -> None:
    text = file(graph, "nodes/000/002.xml").read_text("utf-8")
    node = graph.get_flow().nodes[2]
    theirs = text.replace(node, "01890a5d-ac96-774b-bcce-b302099a8057").replace("c\n]]>", "d\n]]>")
    head, _, rest = text.partition("\n")
    _, _, their_rest = theirs.partition("\n")
    file(graph, "nodes/000/002.xml").write_text(head + "\n" + conflict(rest, their_rest), encoding="utf-8")
    with file(graph, "nodes/index.tsv").open("a", encoding="utf-8") as index:
        index.write("000/002.xml\t01890a5d-ac96-774b-bcce-b302099a8057\t2025-01-01T00:00:00+00:00\n")
    problems = graph.check(repair=True)
    assert problems[0].kind == "conflict"
    assert problems[0].repaired == "the second moved to nodes/000/003.xml"
    assert graph.check() == []
    assert sorted(each.prompt for each in graph.list_nodes()) == ["a", "b", "c", "d"]
    assert graph.get_node("01890a5d-ac96-774b-bcce-b302099a8057").prompt == "d"


def test_a_conflict_inside_a_conflict_is_parted_into_all_its_versions(graph: Graph) -> None:
    """As git leaves it where it takes a new file for the removed one that the other side edited."""
    text = file(graph, "nodes/000/002.xml").read_text("utf-8")
    node = graph.get_flow().nodes[2]
    head, _, rest = text.partition("\n")
    theirs = rest.replace(node, "01890a5d-ac96-774b-bcce-b302099a8057").replace("c\n]]>", "theirs\n]]>")
    ours = rest.replace("c\n]]>", conflict("c\n", "renamed\n", 33) + "]]>")
    file(graph, "nodes/000/002.xml").write_text(head + "\n" + conflict(ours, theirs), encoding="utf-8")
    path = file(graph, "flows/000/000.yaml")
    whole = path.read_text("utf-8")
    first = whole.replace("  - from: 1\n    to: 2\n", "").replace("name: main", "name: main\n# mine")
    second = whole.replace("  - from: 2\n    to: 3\n", "")
    path.write_text(conflict(conflict(first, whole, 33), second), encoding="utf-8")
    told = [problem for problem in graph.check(repair=True) if problem.kind == "conflict"]
    assert [each.path for each in told] == ["nodes/000/002.xml"] * 2 + ["flows/000/000.yaml"] * 2
    assert [each.message for each in told[2:]] == ["holds two versions of a flow, from a merge"] * 2
    assert [each.repaired for each in told[2:]] == ["joined into one"] * 2
    assert graph.check() == []
    assert sorted(each.prompt for each in graph.list_nodes()) == ["a", "b", "c", "renamed", "theirs"]
    assert len(graph.get_flow().connections) == 2


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_merge_keeps_a_version_beside_two_that_it_kept_just_before(graph: Graph, is_ours: bool) -> None:
    path, node = file(graph, "nodes/000/002.xml"), graph.get_flow().nodes[2].encode()
    ours = path.read_bytes()
    d, e = (ours.replace(b"c\n]]>", each + b"\n]]>").replace(node, each * 36) for each in (b"d", b"e"))
    kept, _ = merge_versions("nodes/000/002.xml", b"", d, e)
    merged, holds_both = merge_versions("nodes/000/002.xml", b"", *((kept, ours) if is_ours else (ours, kept)))
    path.write_bytes(merged)
    assert holds_both and len(settle_merge(graph)) == 2
    assert sorted(each.prompt for each in graph.list_nodes()) == ["a", "b", "c", "d", "e"]
    assert graph.check() == []


def test_two_edits_of_one_node_are_both_kept(graph: Graph) -> None:
    text = file(graph, "nodes/000/001.xml").read_text("utf-8")
    file(graph, "nodes/000/001.xml").write_text(
        text.replace("b\n]]>", conflict("ours\n", "theirs\n") + "]]>"), encoding="utf-8"
    )
    assert graph.check(repair=True)[0].kind == "conflict"
    assert sorted(each.prompt for each in graph.list_nodes()) == ["a", "c", "ours", "theirs"]
    assert graph.check() == []


def test_a_node_that_cannot_be_read_keeps_its_place_in_the_flow(graph: Graph) -> None:
    broken = file(graph, "nodes/000/001.xml")
    good = broken.read_bytes()
    before = file(graph, "flows/000/000.yaml").read_bytes()
    broken.write_bytes(good[:40])
    assert [problem.kind for problem in graph.check(repair=True) if problem.kind != "metadata"] == ["unreadable"]
    assert file(graph, "flows/000/000.yaml").read_bytes() == before
    broken.write_bytes(good)
    assert [node.prompt for node in graph.get_history(graph.list_nodes()[0].id)] == ["a", "b", "c"]


def test_connections_on_one_line_are_mended_without_touching_the_rest(graph: Graph) -> None:
    path = file(graph, "flows/000/000.yaml")
    head, _, _ = path.read_text("utf-8").partition("connections:")
    path.write_text(
        f"# mine\n{head}connections: [{{from: 1, to: 2}}, {{from: 1, to: 9}}]\nextra: 1\n", encoding="utf-8"
    )
    mended(graph, "edge")
    text = path.read_text("utf-8")
    assert text.startswith("# mine\n") and text.endswith("extra: 1\n")
    assert len(graph.get_flow("main").connections) == 1


def test_a_byte_order_mark_in_an_index_is_no_problem(graph: Graph) -> None:
    index = file(graph, "nodes/index.tsv")
    index.write_bytes(b"\xef\xbb\xbf" + index.read_bytes().replace(b"\n", b"\r\n"))
    assert graph.check() == []


# Files under names that nobody reads


@pytest.mark.parametrize("name", ["nodes/000/my note.xml", "nodes/001 - Copy.XML", "nodes/deep/er/x.xml", "000.xml"])
def test_a_renamed_node_is_named_and_taken_back_under_the_next_number(graph: Graph, name: str) -> None:
    flow, node = graph.get_flow(), graph.get_flow().nodes[2]
    file(graph, name).parent.mkdir(parents=True, exist_ok=True)
    file(graph, "nodes/000/002.xml").rename(file(graph, name))
    assert ("stray", name) in [(problem.kind, problem.path) for problem in graph.check()]
    done = {problem.path: problem.repaired for problem in graph.check(repair=True)}
    assert done[name] == "moved to nodes/000/003.xml"
    assert graph.check() == []
    assert graph.get_flow().nodes == flow.nodes and graph.get_flow().connections == flow.connections
    assert graph.get_node(node).prompt == "c"
    new = graph.create_node("next").id
    assert file(graph, "nodes/000/004.xml").read_text("utf-8").count(new)


def test_a_copy_is_named_and_kept_only_where_it_says_something_else(graph: Graph) -> None:
    text = file(graph, "nodes/000/000.xml").read_text("utf-8")
    file(graph, "nodes/000/000 (conflicted copy).xml").write_text(text, encoding="utf-8")
    [problem] = mended(graph, "stray")
    assert problem.repaired == "removed: it says the same as the one that is read"
    file(graph, "nodes/000/000 (conflicted copy).xml").write_text(text.replace("a\n]]", "edited\n]]"), encoding="utf-8")
    mended(graph, "stray")
    assert sorted(node.prompt for node in graph.list_nodes()) == ["a", "b", "c", "edited"]


def test_a_copied_flow_gets_a_name_of_its_own(graph: Graph) -> None:
    text = file(graph, "flows/000/000.yaml").read_text("utf-8")
    file(graph, "flows/000/000 - Copy.yaml").write_text(text, encoding="utf-8")
    mended(graph, "stray")
    file(graph, "flows/000/000 - Copy.yaml").write_text(text.replace('""', "other"), encoding="utf-8")
    assert [problem.kind for problem in graph.check()] == ["stray"]
    assert {problem.kind for problem in graph.check(repair=True)} == {"stray", "clash"}
    assert graph.check() == []
    assert [flow.name for flow in graph.list_flows()] == ["main", "main (2)"]


def test_what_is_no_node_stays_and_is_named_each_time(graph: Graph) -> None:
    for name in ("nodes/000/notes.xml", "flows/other.yaml", "metadata/mine.yml"):
        file(graph, name).write_text("<a><b>: [", encoding="utf-8")
    found = [(problem.kind, problem.path) for problem in graph.check(repair=True)]
    assert sorted(found) == [
        ("stray", "flows/other.yaml"),
        ("stray", "metadata/mine.yml"),
        ("stray", "nodes/000/notes.xml"),
    ]
    assert len(graph.check()) == 3
    assert all(file(graph, path).exists() for _, path in found)


def test_every_file_in_the_folders_of_the_graph_that_is_not_read_is_named_and_stays(graph: Graph) -> None:
    named = ["flows/notes.txt", "metadata/old", "nodes/000/000.xml~", "nodes/000/a/b.txt", "nodes/README.md"]
    for name in [*named, "README.md", "nodes/.DS_Store", "src/main.py"]:
        file(graph, name).parent.mkdir(parents=True, exist_ok=True)
        file(graph, name).write_text("x", encoding="utf-8")
    file(graph, "nodes/000/link.txt").symlink_to("000.xml")
    for repair in (True, False):
        found = [(problem.kind, problem.path, problem.repaired) for problem in graph.check(repair=repair)]
        assert sorted(found) == sorted(("stray", name, "") for name in [*named, "nodes/000/link.txt"])
    assert all(file(graph, name).read_text("utf-8") == "x" for name in named)


def test_the_id_that_a_check_announces_is_the_one_that_a_repair_gives(graph: Graph) -> None:
    text = file(graph, "nodes/000/000.xml").read_text("utf-8")
    ours, theirs = text.replace("a\n]]", "ours\n]]"), text.replace("a\n]]", "theirs\n]]")
    mark = "<" * 32 + " ours\n", "=" * 32 + "\n", ">" * 32 + " theirs\n"
    file(graph, "nodes/000/000.xml").write_text(mark[0] + ours + mark[1] + theirs + mark[2], encoding="utf-8")
    [announced] = [problem for problem in graph.check() if problem.kind == "conflict"]
    [done] = [problem for problem in graph.check(repair=True) if problem.kind == "conflict"]
    assert announced.message == done.message
    [outside] = graph.list_nodes_outside()
    assert outside.id in done.message and outside.prompt == "theirs"


def test_a_node_that_a_merge_holds_twice_is_kept_once(graph: Graph) -> None:
    path = file(graph, "nodes/000/000.xml")
    text = path.read_text("utf-8")
    mark = "<" * 32 + " ours\n", "=" * 32 + "\n", ">" * 32 + " theirs\n"
    path.write_text(mark[0] + text + mark[1] + text + mark[2], encoding="utf-8")
    [done] = [problem for problem in graph.check(repair=True) if problem.kind == "conflict"]
    assert (done.message, done.repaired) == ("holds one node twice, from a merge", "kept once")
    assert path.read_text("utf-8") == text
    assert graph.list_nodes_outside() == []


def test_two_flows_that_a_merge_put_into_one_file_are_parted(graph: Graph) -> None:
    path = file(graph, "flows/000/000.yaml")
    ours = path.read_text("utf-8")
    theirs = dump_flow(replace(graph.get_flow(), id="another", name="theirs"))
    path.write_text(f"<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n", encoding="utf-8")
    [done] = [problem for problem in graph.check(repair=True) if problem.kind == "conflict"]
    assert done.message == "holds two flows, from a merge"
    assert path.read_text("utf-8") == ours
    assert [flow.name for flow in graph.list_flows()] == ["main", "theirs"]
    assert graph.get_flow("theirs").nodes == graph.get_flow().nodes


def test_a_file_with_a_conflict_says_so(graph: Graph) -> None:
    for path in ("nodes/000/000.xml", "flows/000/000.yaml"):
        text = file(graph, path).read_text("utf-8")
        conflict = f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n"
        file(graph, path).write_text(conflict, encoding="utf-8")
    reasons = {problem.message for problem in graph.problems() if problem.kind == "unreadable"}
    assert reasons == {"holds a merge conflict: run vizprompt check --repair"}
    assert graph.search_nodes(text="b").unreadable == 1


def test_each_problem_says_what_is_wrong_and_what_was_done(graph: Graph) -> None:
    a, b, c = graph.get_flow().nodes
    lost, fourth = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
    text = file(graph, "nodes/000/002.xml").read_text("utf-8")
    file(graph, "nodes/000/003.xml").write_text(text.replace(c, fourth), encoding="utf-8")
    theirs = text.replace("c\n]]>", "theirs\n]]>")
    file(graph, "nodes/000/002.xml").write_text(conflict(text, theirs.replace(c, lost)), encoding="utf-8")
    file(graph, "nodes/000/mine.txt").write_text("?", encoding="utf-8")
    copy = file(graph, "flows/000/000.yaml").read_text("utf-8")
    file(graph, "flows/000/001.yaml").write_text(copy.replace('""', "copied"), encoding="utf-8")
    edit(graph, "nodes/index.tsv", f"000/001.xml\t{b}", f"000/001.xml\t{lost}")
    edit(graph, "nodes/index.tsv", f"000/000.xml\t{a}\t", f"000/009.xml\t{a}\t")
    edit(graph, "config.yaml", "settings:\n", conflict("settings:\n", "settings: [\n"))
    with file(graph, "nodes/index.tsv").open("a", encoding="utf-8") as index:
        index.write(f"half of a li\n000/001.xml\t{b}\t\n")
    told = {(each.path, each.message): each.repaired for each in graph.check(repair=True)}
    flow = graph.list_flows()[1].id
    assert told == {
        ("config.yaml", "holds two versions of the settings, from a merge"): "ours kept",
        ("nodes/000/mine.txt", "is ignored: it is not a file of the graph"): "",
        (
            "nodes/000/002.xml",
            f"holds two nodes, {c} and {lost}, from a merge",
        ): "the second moved to nodes/000/004.xml",
        ("nodes/index.tsv", "000/009.xml is not there"): "line removed",
        ("nodes/index.tsv", f"000/001.xml is {b}, not {lost}"): "line corrected",
        ("nodes/index.tsv", "000/000.xml is missing"): "line added",
        ("nodes/index.tsv", "000/001.xml is named twice"): "line removed",
        ("nodes/index.tsv", "000/003.xml is missing"): "line added",
        ("nodes/index.tsv", "1 lines cannot be understood"): "removed",
        ("flows/index.tsv", "000/001.yaml is missing"): "line added",
        ("metadata/index.yaml", "does not match the nodes"): "written anew",
        ("flows/000/001.yaml", "has the id of flows/000/000.yaml"): "got an id of its own",
        ("flows/000/001.yaml", "a second flow named 'main'"): "named 'main (2)'",
    }
    assert flow not in copy and [each.kind for each in graph.check()] == ["stray"]
    assert [graph.get_node(each).prompt for each in (a, b, c, lost, fourth)] == ["a", "b", "c", "theirs", "c"]
