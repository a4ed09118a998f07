"""The kind of a file, by its path: code is what is searched for, unless the question asks for something else."""

from __future__ import annotations

import re

from nebula.index.constants import LEAD_WORDS, MAX_QUERY_LETTERS

CODE, TEST, PROSE, DATA, VENDORED, GENERATED, EXAMPLE, DECLARATION = range(8)

_TEST_FOLDER = re.compile(
    r"(^|/)(tests?|__tests__|specs?|testing|testdata|test_?apps?|[a-z]+[-_]tests?|tests?[-_][a-z]+|fixtures?|mocks?"
    r"|__mocks__|__snapshots__|e2e|bench(es|marks?)?)/"
)
_TEST_NAME = re.compile(
    r"(^|/)(test_[^/]*|[^/]*[_.-](test|tests|spec|bench|snap)\.[^/]+|conftest\.py|tests?\.[^/]+|[^/]+(?<=[a-z])Tests?\.[a-z]+"
    r"|[^/]*integrationtest[^/]*|[^/]+\.snap)$"
)
_VENDORED = re.compile(
    r"(^|/)(vendor(ed|s)?|_vendor|third[-_]?party|3rdparty|node_modules|bower_components|site-packages|extern(al)?s?"
    r"|deps|jquery[^/]*|submodules)/"
)
_GENERATED = re.compile(
    r"(^|/)(dist|generated|__generated__|\.yarn|\.next)/|[._-](min|pb|pb2|generated|gen|bundle)\.[a-z]+$|_pb2(_grpc)?\.pyi?$"
    r"|(^|/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|[Cc]argo\.lock|poetry\.lock|uv\.lock|Gemfile\.lock|go\.sum"
    r"|composer\.lock|requirements[^/]*\.lock)$"
)
_EXAMPLE = re.compile(r"(^|/)(examples?|samples?|demos?|docs?_src|tutorials?|playground|packages-private)/")
_PROSE = re.compile(
    r"(^|/)(docs?|documentation|changelogs?|(issue|pull_request)_template)/|\.(md|mdx|markdown|rst|txt|adoc|org|tex|html?\.md)$"
    r"|(^|/)(README|CHANGES|CHANGELOG|HISTORY|NEWS|RELEASE[-_]NOTES|AUTHORS|LICENSE|CONTRIBUTING|CONTRIBUTORS|NOTICE)[^/]*$",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\.(json5?|jsonl|ya?ml|toml|ini|cfg|conf|lock|csv|tsv|po|pot|xml|svg|xlf|properties|geojson|plist|ipynb|map|snap|out|golden"
    r"|pbxproj|xcscheme|xcsettings|xcworkspacedata|xcconfig|storyboard|xib|sln|(vcx|cs|fs|vb)proj|filters|m4|cmake|am|iml)$"
    r"|(^|/)\.(github|gitlab|circleci|azure-pipelines|idea|vscode)/|(^|/)\.[^/]*(ignore|attributes|config|rc)$"
)
"""Settings of tools that build, check and publish a project among them: they name all its parts and do nothing."""
_DECLARATION = re.compile(r"\.(h|hh|hpp|hxx|pyi|mli|d\.[cm]?ts)$")
"""Says that something is there; the file beside it does it."""
_MADE_BY_A_PROGRAM = re.compile(rb"(?i)(code generated .{0,60}do not edit|@generated\b|auto-?generated (by|file|from))")
_HEAD_BYTES = 1_000


def kind_of(path: str, is_generated: bool = False) -> int:
    """Return the first kind that fits; a test in a vendored tree is vendored. `is_generated`: the content says so."""
    kind = _kind_by_path(path)
    return GENERATED if is_generated and kind in (CODE, DATA, DECLARATION) else kind


def _kind_by_path(path: str) -> int:
    lower = path.lower()
    if _VENDORED.search(lower):
        return VENDORED
    if _GENERATED.search(path):
        return GENERATED
    if _TEST_FOLDER.search(lower) or _TEST_NAME.search(path):
        return TEST
    if _EXAMPLE.search(lower):
        return EXAMPLE
    if _PROSE.search(path):
        return PROSE
    if _DATA.search(lower):
        return DATA
    return DECLARATION if _DECLARATION.search(lower) else CODE


def is_marked_generated(data: bytes) -> bool:
    """Return whether the head of a file says that a program made it."""
    return bool(_MADE_BY_A_PROGRAM.search(data, 0, _HEAD_BYTES))


_ASKED = {
    TEST: r"\btests?\b(?! \d)|\bbenchmarks?\b|テスト",
    PROSE: r"\bdocs?\b|\bdocumentation\b|\breadme\b|\bchangelog\b|\blicen[sc]e\b|文書|ドキュメント|変更履歴",
    DATA: r"\b(json|ya?ml|toml|csv|xml|config(uration)?|data|locale) files?\b|設定ファイル",
    VENDORED: r"\bvendor(ed)?\b|third.party|node_modules|外部ライブラリ",
    GENERATED: r"\bgenerated\b|\bminified\b|\block ?file\b|自動生成",
    DECLARATION: r"\bheader files?\b|\bdeclar(e[sd]?|ations?)\b|\btype stubs?\b|ヘッダ|宣言",
    EXAMPLE: r"\b(?<!for )examples?\b|\bsamples?\b|\bdemos?\b|\btutorials?\b|サンプル|チュートリアル|用例",
}


def asked_for(question: str) -> frozenset[int]:
    """Return the kinds that a question names in its first words, where it says what is wanted; they keep their rank.
    What follows may well mention a test or an example without asking for one."""
    lead = " ".join(question[:MAX_QUERY_LETTERS].split()[:LEAD_WORDS])
    return frozenset(kind for kind, pattern in _ASKED.items() if re.search(pattern, lead, re.IGNORECASE))
