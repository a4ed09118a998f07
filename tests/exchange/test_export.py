"""A part of the conversation leaves as Markdown, HTML or JSON, without keys and without anything that runs."""

import json
import re
from html.parser import HTMLParser

import pytest

from in_process import run_here
from nebula.exchange.export.page import markdown_to_html
from nebula.graph.graph import Graph
from nebula.graph.values import FileState, Utterance
from rows import each_row

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234567890"


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.words = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def three(bench):
    """Two turns after one first turn, one of them a named branch."""
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        first = graph.create_node("How do I *start*?", "Run `make`.\n\n```sh\nmake all\n```")
        second = graph.create_node(f"my key is {KEY}", "Keep it <script>alert(1)</script> private", parents=[first.id])
        third = graph.add_turn(
            texts=[Utterance("user", "try again"), Utterance("tool", "ran ls"), Utterance("assistant", "done")],
            parents=[first.id],
            branch="second try",
            files=[FileState("src/app.py", "", "a" * 64)],
        )
    return bench, first, second, third


def test_markdown_of_a_flow_has_every_turn_and_no_key(three):
    bench, *_ = three
    ran = run_here(bench, "nebula", "export", "main")
    assert ran.code == 0
    assert ran.out.startswith("# main\n")
    assert "> How do I *start*?" in ran.out and "```sh\nmake all\n```" in ran.out
    assert "branch second try" in ran.out and "`src/app.py` (created)" in ran.out
    assert KEY not in ran.out and "[redacted]" in ran.out
    assert ran.err.strip() == "3 turns; marked as [redacted]: 1"


def test_a_node_alone_and_the_branch_that_leads_to_it(three):
    bench, first, _, third = three
    alone = run_here(bench, "nebula", "export", third.id, "--format", "json").json
    assert [node["id"] for node in alone["nodes"]] == [third.id] and alone["connections"] == []
    branch = run_here(bench, "nebula", "export", third.id, "--branch", "--format", "json").json
    assert [node["id"] for node in branch["nodes"]] == [first.id, third.id]
    assert branch["connections"] == [{"source": first.id, "target": third.id, "branch": "second try"}]


def test_json_holds_what_a_program_needs_and_no_key(three):
    bench, *nodes = three
    ran = run_here(bench, "nebula", "export", "main", "--format", "json")
    assert KEY not in ran.out
    assert {node["id"] for node in ran.json["nodes"]} == {node.id for node in nodes}
    assert len(ran.json["connections"]) == 2


def test_html_is_one_file_that_runs_and_loads_nothing(three):
    bench, *_ = three
    ran = run_here(bench, "nebula", "export", "main", "--format", "html")
    page = Elements()
    page.feed(ran.out)
    tags = {tag for tag, _ in page.seen}
    assert not tags & {"script", "img", "link", "iframe", "object", "form", "svg"}
    assert not [name for _, attrs in page.seen for name in attrs if name.startswith("on") or name == "src"]
    assert "<script>alert(1)</script>" in "".join(page.words)
    assert "prefers-color-scheme: dark" in ran.out and "@media print" in ran.out
    assert KEY not in ran.out
    assert ran.out.count("<article") == ran.out.count("</article>") == 3


def test_what_is_not_there_is_a_mistake_of_the_user(three):
    bench, *_ = three
    ran = run_here(bench, "nebula", "export", "nowhere")
    assert ran.code == 64 and "'main'" in ran.err and ran.out == ""


def test_control_sequences_are_not_obeyed(bench):
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        graph.create_node("\x1b]0;title\x07 hello", "\x1b[31mred")
    for form in ("markdown", "html", "json"):
        assert "\x1b" not in run_here(bench, "nebula", "export", "main", "--format", form).out


@each_row(
    ("text", "expected"),
    [
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ('[x](https://e.org/"onclick=)', None),
        ("# One\ntwo", "<h3>One</h3>\n<p>two</p>"),
        ("- a\n- **b** `c*d*`", "<ul>\n<li>a</li>\n<li><strong>b</strong> <code>c*d*</code></li>\n</ul>"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
        ("> said\n> so", "<blockquote>\n<p>said<br>\nso</p>\n</blockquote>"),
        ("![a](https://e.org/x.png)", '<p>!<a href="https://e.org/x.png" rel="noreferrer">a</a></p>'),
        ("[a]: javascript:x\n\n[a] <javascript:x>", "<p>[a]: javascript:x</p>\n<p>[a] &lt;javascript:x&gt;</p>"),
        ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
        ('```"onclick=x\na', None),
        ("```\n<b>\n", "<pre><code>&lt;b&gt;\n</code></pre>"),
        ("[a](https://e.org/?a=1&b=2)", '<p><a href="https://e.org/?a=1&amp;b=2" rel="noreferrer">a</a></p>'),
    ],
)
def test_markdown_becomes_harmless_elements(text, expected):
    shown = markdown_to_html(text)
    assert expected is None or shown == expected
    assert "<b>" not in shown and not re.search(r"""<[^>]*["'\s]on\w+=""", shown)


def test_a_table_of_an_answer_is_one():
    assert "<td>2</td>" in markdown_to_html("a|b\n-|-\n1|2")


def test_hostile_markdown_takes_no_time():
    import time

    began = time.process_time()
    for text in (
        "*" * 20000,
        "**a" * 8000,
        "`" * 20000,
        "[" * 20000,
        "- " * 10000,
        "> " * 10000,
        "#" * 20000,
        "a `b" * 9000,
        "a|" * 10000 + "\n" + "-|" * 10000,
    ):
        markdown_to_html(text)
    assert time.process_time() - began < 3


def test_what_was_exported_reads_the_same_again(three):
    bench, first, *_ = three
    held = json.loads(run_here(bench, "nebula", "export", first.id, "--format", "json").out)["nodes"][0]
    assert (held["prompt"], held["response"]) == (first.prompt, first.response)
