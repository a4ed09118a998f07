"""What a path is judged to be by its text alone, and what is said of it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.files import protected_names as protected
from nebula.files.protected_names import ORDINARY, Standing, fold_name, names_secret, standing_of
from nebula.workspace.errors import (
    ExtensionRefused,
    MalformedRequest,
    PathEscape,
    PathRefused,
    ProtectedPath,
    SecretPath,
    WorkspaceError,
)
from nebula.workspace.guard.judge import Judge, Policy
from nebula.workspace.guard.paths import MAX_NAME_BYTES, MAX_PATH_BYTES, normal_path
from rows import each_row

Said = tuple[type[WorkspaceError], str]

CONTROL = (PathRefused, "The path holds control characters; give it without them.")
BACKSLASH = (PathRefused, 'The path holds a backslash; separate names with "/".')
ABSOLUTE = (PathEscape, "The path is absolute; give it relative to the root.")
ABOVE = (PathEscape, "The path escapes the root; stay below it.")
ELSEWHERE = (PathEscape, '"~" and drive letters mean nothing here; give the path relative to the root.')
LONG = (PathRefused, "The path is too long for a file system; choose a shorter one.")
LOOK_ALIKE = (PathEscape, 'The path holds look-alikes of "/" or ".."; write it in plain characters.')
NO_UNICODE = (MalformedRequest, "The path is not valid Unicode (it holds a lone surrogate).")
NO_STRING = (MalformedRequest, "The path must be a string.")


def unseen(code: str) -> Said:
    return PathRefused, f"The path holds an invisible character (U+{code}); give it without."


REFUSED: dict[object, Said] = {
    7: NO_STRING,
    b"a": NO_STRING,
    None: NO_STRING,
    "a\x1fb": CONTROL,
    "é\x85": CONTROL,
    "é\n": CONTROL,
    "a\\b": BACKSLASH,
    "/a": ABSOLUTE,
    "..": ABOVE,
    "a/../..": ABOVE,
    "a/../../a": ABOVE,
    "~": ELSEWHERE,
    "~/a": ELSEWHERE,
    "./~/a": ELSEWHERE,
    "c:": ELSEWHERE,
    "C:/a": ELSEWHERE,
    "é:/a": ELSEWHERE,
    "a" * (MAX_NAME_BYTES + 1): LONG,
    "b/" + "é" * (MAX_NAME_BYTES // 2 + 1): LONG,
    "a/" * (MAX_PATH_BYTES // 2) + "a": LONG,
    "é/" * (MAX_PATH_BYTES // 3) + "aa": LONG,
    "／a": LOOK_ALIKE,
    "a/．．/b": LOOK_ALIKE,
    "a／．．/b": LOOK_ALIKE,
    "a＼．．＼b": LOOK_ALIKE,
    "a/.\u200c./b": LOOK_ALIKE,
    "a/\u200d..\u200c/b": LOOK_ALIKE,
    "a\ud800": NO_UNICODE,
    "a\u00ad": unseen("00AD"),
    "a\u2028": unseen("2028"),
    "a\u2029": unseen("2029"),
    "a\u202e": unseen("202E"),
    "a\U000e0041": unseen("E0041"),
    **{f"a{char}": unseen(f"{ord(char):04X}") for char in "\u115f\u1160\u3164\uffa0\u2800"},
}


def said(path: object) -> Said:
    with pytest.raises(WorkspaceError) as refused:
        normal_path(path)
    return type(refused.value), str(refused.value)


@each_row("path", REFUSED, ids=lambda path: ascii(path)[:40])
def test_a_path_that_is_refused(path: object) -> None:
    assert said(path) == REFUSED[path]


# (as written, normal form, whether a directory is meant)
TAKEN = [
    ("a", "a", False),
    ("a/b.txt", "a/b.txt", False),
    ("./a//b/../c", "a/c", False),
    ("a/", "a", True),
    ("a/.", "a", True),
    ("a.", "a.", False),
    ("", ".", True),
    (".", ".", True),
    ("a/..", ".", True),
    ("a~", "a~", False),
    ("b/~", "b/~", False),
    ("~a", "~a", False),
    ("a/c:", "a/c:", False),
    ("ab:", "ab:", False),
    ("...", "...", False),
    ("a..b/c", "a..b/c", False),
    ("入力／出力", "入力／出力", False),
    ("a／..b", "a／..b", False),
    ("می\u200cخواهم", "می\u200cخواهم", False),
    ("a\u0600\u06dd\u070f\u08e2b", "a\u0600\u06dd\u070f\u08e2b", False),
    ("a" * MAX_NAME_BYTES, "a" * MAX_NAME_BYTES, False),
    ("é" * (MAX_NAME_BYTES // 2), "é" * (MAX_NAME_BYTES // 2), False),
    ("a/" * (MAX_PATH_BYTES // 2 - 1) + "aa", "a/" * (MAX_PATH_BYTES // 2 - 1) + "aa", False),
]


@each_row(("path", "text", "names_directory"), TAKEN, ids=lambda value: ascii(value)[:40])
def test_a_path_that_is_taken(path: str, text: str, names_directory: bool) -> None:
    place = normal_path(path)
    assert (place.text, place.names_directory) == (text, names_directory)
    assert place.parts == (() if text == "." else tuple(text.split("/")))
    assert place.name == text.rpartition("/")[2]


TABLES = {
    "untouchable": protected.UNTOUCHABLE,
    "control": protected.CONTROL_FOLDERS
    | protected.CONTROL_FILES
    | {f"x{ending}" for ending in protected.CONTROL_ENDINGS}
    | {f"{name}{more}.MD" for name in protected.INSTRUCTIONS for more in ("", ".local")},
    "secret": protected.SECRET_FOLDERS
    | protected.SECRET_FILES
    | {f"x{ending}" for ending in protected.SECRET_ENDINGS}
    | {f"{stem}x" for stem in protected.KEY_STEMS}
    | {f".{name}" for name in ("id_rsa", "kubeconfig", "credentials", "credentials.json")}
    | {".env", ".envrc"},
}
NAMES = [(name, kind) for kind, names in TABLES.items() for name in sorted(names)]


def disguised(name: str) -> list[str]:
    """Spellings that some file system, or a reader, takes for this name."""
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in name)
    return [name, name.upper(), name.title(), f"{name}. .", f"{name} ", f"{name}::$DATA", f"{name[0]}\u200d{name[1:]}",
            f"{name}\ufe0f", f"{name}\U000e0100", f"{name}\u034f", wide]  # fmt: skip


@each_row(("name", "kind"), NAMES)
def test_a_protected_name_is_one_anywhere_and_under_any_spelling(name: str, kind: str) -> None:
    for spelling in disguised(name):
        for path in (spelling, f"a/b/{spelling}", f"a／{spelling}"):
            assert getattr(normal_path(path).standing, kind), path


@each_row("name", sorted(protected.UNTOUCHABLE | protected.CONTROL_FOLDERS | protected.SECRET_FOLDERS))
def test_what_lies_in_a_protected_folder_is_protected_like_it(name: str) -> None:
    for spelling in disguised(name):
        assert normal_path(f"a/{spelling}/b/c.txt").standing == normal_path(name).standing
    assert normal_path(f"a/{name}-b/c.txt").standing == ORDINARY


COPIES = [
    "{}~", "{}.backup", "{}.bak", "{}.copy", "{}.disabled", "{}.old", "{}.orig", "{}.save", "{}.saved", "{}.swo",
    "{}.swp", "{}.tmp", "{}.txt", "{}.1", "{}.20", "#{}#", ".{}.swp", "{}.bak.1", "{}.old~", ".{}.1.swp", "#{}.1#",
]  # fmt: skip


@each_row("copy", COPIES)
@each_row("name", ["server.key", ".netrc", "id_rsa", "credentials", "x.pem", "kubeconfig"])
def test_the_copy_of_a_secret_is_one(copy: str, name: str) -> None:
    assert normal_path("a/" + copy.format(name)).standing.secret


SECRETS_INSIDE = [
    ".docker/config.json", ".config/gcloud/x", ".nebula/journal/x", ".git/config", ".git/config.lock", ".git/credentials",
    ".git/.config.swp", ".git/annex/creds/0", ".git/FETCH_HEAD", ".git/modules/a/config", ".git/logs/HEAD", ".git/modules/a/logs/refs/x", "bare.git/config",
    "a/bare.git/logs/HEAD", "x.git/a.git/logs/b", "x.git/logs", ".git/config.bak", "a/.git/modules/x/modules/y/z/config",
    ".git/logs/refs/heads/x", "prod.env", "secrets.env", "app.env.local", "app.env.production.local",
    "service-account.json", "my/service_account_key.json", "x-firebase-adminsdk-1.json", ".env.local",
]  # fmt: skip
ORDINARY_NAMES = [
    "docker/config.json", ".docker/x/config.json", ".docker/config.json.md", "config.json", "gcloud/x", "journal/x",
    "config", "a/config", "logs/HEAD", "a/logs/x", "id_rsa.pub", "id_ed25519_work.pub", "my-id_rsa", "x.pem.md",
    "key", "pem", "x.keys", "environment", "x.envs", "env", "readme.md", "agents.py", "my-agents.md", "agents.md.txt",
    "x.code-workspaces", "git", "nebula", "git~", "git~x", "git~1x", "x~1", "github~1", ".gitignore", ".github.md",
    "1", "~1", "a.1", ".1", "#a#", "#id_rsa", "server.key#", ".bak", "a.bak", "netrc", ".git", "x.git", "x.git/HEAD",
    "bashrc", "a.git/b", "a/credential", ".git/refs/heads/config-x", ".git/refs/tags/logs/credential",
    ".git/modules/logs/HEAD", "docs/agents.md", "src/agent.md", "docs/claude.md", ".env.example", "app.env.sample",
    ".env.production.template", "prod.env.dist", "app.env.ts", "vite-env.d.ts", "accounts.json",
]  # fmt: skip


@each_row("path", SECRETS_INSIDE)
def test_a_secret_is_known_by_the_folder_that_it_lies_in(path: str) -> None:
    assert normal_path(path).standing.secret
    assert normal_path(f"b/{path.upper()}").standing.secret


@each_row("path", ORDINARY_NAMES)
def test_no_secret_is_seen_where_there_is_none(path: str) -> None:
    assert not normal_path(path).standing.secret
    assert normal_path(path).standing == ORDINARY or path.startswith((".config", ".git", ".docker", ".nebula"))


@each_row("path", [*SECRETS_INSIDE, *ORDINARY_NAMES, *(name for name, _ in NAMES)])
def test_a_secret_name_is_told_without_a_judgement_as_with_it(path: str) -> None:
    """`names_secret` looks for a word first; without one it judges nothing."""
    copies = [copy.format(name) for copy in COPIES for name in (path.rpartition("/")[2],)]
    short = [path.replace(".git", "git~1").replace(".nebula", "NEBULA~2")]
    for spelling in (*disguised(path), *copies, *short, f"a\nb/{path}", f"a\\b/{path}", f"a\udcff/{path}"):
        parts = tuple(part for part in spelling.split("/") if part not in ("", "."))
        assert names_secret(spelling) == standing_of(parts).secret, spelling


def test_the_root_is_ordinary() -> None:
    assert normal_path(".").standing == Standing(untouchable=False, control=False, secret=False)


FOLDED = {
    "A": "a", "a. .": "a", "a .b ": "a .b", "a:b:c": "a", "ß": "ss", "ﬀ": "ff", "Ｇ": "g", "a\u034fb": "ab",
    "a\ufe00\ufe0fb": "ab", "a\U000e0100\U000e01efb": "ab", "a\ufdffb": "a\ufdffb", "a\ufe10b": "a,b",
    "a\U000e01f0b": "a\U000e01f0b", "git~1": ".git", "GIT~12": ".git", "nebula~1": ".nebula", "git~": "git~",
    "git~1~2": "git~1~2", "digit~1": "digit~1", "a\u200cb": "ab", "i\u0307": "i\u0307", "é": "é", "e\u0301": "é",
}  # fmt: skip


@each_row("name", FOLDED, ids=ascii)
def test_a_name_as_the_most_careless_file_system_compares_it(name: str) -> None:
    assert fold_name(name) == FOLDED[name]


@given(st.text())
def test_folding_is_the_same_for_every_normal_form(name: str) -> None:
    once = fold_name(name)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold_name(unicodedata.normalize(form, name)) == once


def test_all_spellings_of_a_path_are_locked_as_one() -> None:
    assert normal_path("A/ﬀ.TXT").lock_key == normal_path("./a//ff.txt. ").lock_key == "a/ff.txt"
    assert normal_path(".").lock_key == ""


# the judge


def told(judge: Judge, path: str, doing: str) -> Said | None:
    try:
        getattr(judge, doing)(normal_path(path))
    except WorkspaceError as error:
        return type(error), str(error)
    return None


SECRET = (SecretPath, ".env: may hold secrets; the user must allow this file by name.")
DIRECTORY = (PathRefused, "a: names a directory; give the name of a file.")
JUDGED = {
    "a.txt": (None, None),
    "a/": (DIRECTORY, DIRECTORY),
    ".env": (SECRET, SECRET),
    ".vimrc": (None, (ProtectedPath, ".vimrc: controls other programs; the user must allow it by name.")),
    ".git/x": (None, (ProtectedPath, ".git/x: .git and .nebula are never written; choose another place.")),
}


@each_row("path", JUDGED)
def test_what_may_be_read_and_written_unless_somebody_allows_it(path: str) -> None:
    judge = Judge(Policy())
    read, written = JUDGED[path]
    assert (told(judge, path, "reading"), told(judge, path, "writing")) == (read, written)
    assert judge.may_read(normal_path(path)) is (read is None)


def test_a_kind_of_file_that_is_not_allowed_is_named_with_those_that_are() -> None:
    judge = Judge(Policy(extensions=(".TXT", ".md"), allowed=frozenset({"b.txt"})))
    assert told(judge, "a.Txt", "writing") is None
    no = (ExtensionRefused, "a.py: files of this kind are not allowed here; EC_ALLOW_EXT says which are: .txt, .md.")
    assert (told(judge, "a.py", "reading"), told(judge, "a.py", "writing")) == (no, no)


def test_a_file_that_was_allowed_by_name_may_be_of_any_kind() -> None:
    judge = Judge(Policy(extensions=(".txt",), allowed=frozenset({".env", "a", "c/run.sh"})))
    for path in (".env", "c/run.sh"):
        assert (told(judge, path, "reading"), told(judge, path, "writing")) == (None, None)
    for path in ("a/b.sh", "c/other.sh", "d/.env"):
        assert told(judge, path, "writing") is not None


def test_the_root_itself_cannot_be_allowed() -> None:
    for path in (".", "", "a/.."):
        with pytest.raises(MalformedRequest) as refused:
            Judge(Policy(allowed=frozenset({"a", path})))
        assert str(refused.value) == "The root itself cannot be allowed; name the files."


def test_a_secret_is_opened_by_its_own_name_alone() -> None:
    judge = Judge(Policy(allowed=frozenset({"a", "b/.env"})))
    for doing in ("reading", "writing"):
        assert told(judge, "b/.env", doing) is None
        assert told(judge, "a/.env", doing) is not None


def test_a_folder_that_is_allowed_opens_its_control_files_and_no_others() -> None:
    judge = Judge(Policy(allowed=frozenset({"a/.vscode"})))
    assert told(judge, "a/.vscode/tasks.json", "writing") is None
    for path in ("a/.vscode-x/.vimrc", ".vscode/tasks.json", "a/.vimrc", "a/.vscode/.env", "a/.vscode/.git/x"):
        assert told(judge, path, "writing") is not None


def test_a_yes_to_a_path_is_none_to_what_is_below_it() -> None:
    judge = Judge(Policy(allowed=frozenset({"a/.vscode"}))).allowing([".vscode", "Jenkinsfile"])
    for path in (".vscode", "Jenkinsfile", "a/.vscode/tasks.json"):
        assert told(judge, path, "writing") is None
    for path in (".vscode/tasks.json", "Jenkinsfile/.bashrc"):
        assert told(judge, path, "writing") is not None
    assert not judge.allows_in_repository(normal_path("Jenkinsfile/.git/index"))
    assert judge.allowing([".git"]).allows_in_repository(normal_path(".git/index"))
    with pytest.raises(MalformedRequest):
        judge.allowing(["."])


REPOSITORY = [".git/index", ".git/refs/heads/main", ".git/logs/HEAD", ".git/objects/ab/cd", ".git/rebase-merge/done"]
RUN_BY_GIT = [
    ".git/hooks/pre-commit", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/modules/a/index",
    ".git/commondir", ".git/worktrees/a/commondir", ".git/rebase-merge/git-rebase-todo",
    ".git/HOOKS/pre-commit", ".git/Config", ".git/hooks./pre-commit", ".git/ＣＯＮＦＩＧ",
]  # fmt: skip


@each_row("path", REPOSITORY)
def test_the_repository_allowed_by_name_is_open_but_for_what_runs_programs(path: str) -> None:
    allowed = Judge(Policy(allowed=frozenset({".git"})))
    assert allowed.allows_in_repository(normal_path(path))
    assert not Judge(Policy()).allows_in_repository(normal_path(path))
    assert not allowed.allows_in_repository(normal_path(f"a/{path}"))


@each_row("path", RUN_BY_GIT)
def test_what_makes_git_run_programs_has_to_be_named_itself(path: str) -> None:
    above = path.rpartition("/")[0]
    assert not Judge(Policy(allowed=frozenset({".git", above}))).allows_in_repository(normal_path(path))
    assert Judge(Policy(allowed=frozenset({path}))).allows_in_repository(normal_path(path))


@each_row("path", ["a.txt", "git/x", ".GIT/x", ".nebula/.git/x", ".git/.nebula/x", ".git/.NEBULA/x"])
def test_what_is_no_repository_of_the_project_is_not_allowed_as_one(path: str) -> None:
    for allowed in (path, path.partition("/")[0]):
        assert not Judge(Policy(allowed=frozenset({allowed}))).allows_in_repository(normal_path(path))
