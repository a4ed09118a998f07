"""Every attack we know of, with the code it must be answered with; for both ways of opening."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway_rig import EXTENSIONS
from nebula.files.beneath import OpenBeneath
from nebula.workspace import LocalWorkspace, Policy, WorkspaceError, open_workspace
from nebula.workspace.errors import ReadOnly
from rows import each_row

Open = Callable[..., LocalWorkspace]
See = Callable[[], dict[str, bytes | None]]

SECRET = "outside: must never be seen or changed"

# (path, code when read, code when written with mode "overwrite")
BAD_PATHS: list[tuple[object, str, str]] = [
    # out of the root by name
    ("../outside.txt", "path_escape", "path_escape"),
    ("..", "path_escape", "path_escape"),
    ("../app/inside.txt", "path_escape", "path_escape"),
    ("../app-evil/file.txt", "path_escape", "path_escape"),
    ("sub/../../outside.txt", "path_escape", "path_escape"),
    ("sub/../../../../../../etc/passwd", "path_escape", "path_escape"),
    ("./../outside.txt", "path_escape", "path_escape"),
    ("/etc/passwd", "path_escape", "path_escape"),
    ("//etc/passwd", "path_escape", "path_escape"),
    ("C:/windows/win.ini", "path_escape", "path_escape"),
    ("./C:/windows/win.ini", "path_escape", "path_escape"),
    ("x/..／../outside.txt", "path_escape", "path_escape"),
    ("~/.ssh/id_rsa", "path_escape", "path_escape"),
    ("..\\outside.txt", "path_refused", "path_refused"),
    ("sub\\..\\..\\outside.txt", "path_refused", "path_refused"),
    ("/proc/self/environ", "path_escape", "path_escape"),
    # look-alikes of separators and dots
    ("．．/outside.txt", "path_escape", "path_escape"),
    ("．．／outside.txt", "path_escape", "path_escape"),
    ("‥/outside.txt", "path_escape", "path_escape"),
    (".\u200d./outside.txt", "path_escape", "path_escape"),
    ("／etc／passwd", "path_escape", "path_escape"),
    # characters that do not belong in a name
    ("a\0b.txt", "path_refused", "path_refused"),
    ("inside.txt\0.png", "path_refused", "path_refused"),
    ("a\nb.txt", "path_refused", "path_refused"),
    ("a\x1b[2Jb.txt", "path_refused", "path_refused"),
    ("a\x7fb.txt", "path_refused", "path_refused"),
    ("a\x85b.txt", "path_refused", "path_refused"),
    ("a\u202etxt.py", "path_refused", "path_refused"),
    ("a\u200bb.txt", "path_refused", "path_refused"),
    ("\ufeffinside.txt", "path_refused", "path_refused"),
    ("a\U000e0041.txt", "path_refused", "path_refused"),
    ("a\u3164.txt", "path_refused", "path_refused"),
    ("a\u2028b.txt", "path_refused", "path_refused"),
    # not a text at all
    ("a\ud800b.txt", "malformed_request", "malformed_request"),
    (None, "malformed_request", "malformed_request"),
    (7, "malformed_request", "malformed_request"),
    (b"inside.txt", "malformed_request", "malformed_request"),
    (["inside.txt"], "malformed_request", "malformed_request"),
    # too long
    ("a" * 300, "path_refused", "path_refused"),
    ("あ" * 100, "path_refused", "path_refused"),
    ("d/" * 3000 + "x", "path_refused", "path_refused"),
    # not a file
    ("", "path_refused", "path_refused"),
    (".", "path_refused", "path_refused"),
    ("inside.txt/", "path_refused", "path_refused"),
    ("sub", "not_found", "already_exists"),
    ("inside.txt/below.txt", "not_found", "already_exists"),
    ("missing/file.txt", "not_found", ""),
    ("pipe.txt", "path_refused", "path_refused"),
    ("socket.txt", "path_refused", "path_refused"),
    # links
    ("out.txt", "path_escape", "path_escape"),
    ("out-absolute.txt", "path_escape", "path_escape"),
    ("out-folder/outside.txt", "path_escape", "path_escape"),
    ("out-folder/new.txt", "path_escape", "path_escape"),
    ("out-folder/deep/new.txt", "path_escape", "path_escape"),
    ("dangling-out.txt", "path_escape", "path_escape"),
    ("dangling-in.txt", "not_found", "path_escape"),
    ("dangling-folder/new.txt", "not_found", "path_escape"),
    ("circle.txt", "path_escape", "path_escape"),
    ("circle.txt/x.txt", "path_escape", "path_escape"),
    ("sneaky.txt", "path_escape", "path_escape"),
    ("proc.txt", "path_escape", "path_escape"),
    ("in.txt", "", "path_escape"),
    ("in-absolute.txt", "", "path_escape"),
    ("in-folder/file.txt", "", "path_escape"),
    ("chain.txt", "", "path_escape"),
    ("env-link.txt", "secret_path", "path_escape"),
    # protected names, in all spellings
    (".git/config", "secret_path", "protected_path"),
    (".git/hooks/pre-commit", "not_found", "protected_path"),
    (".GIT/hooks/pre-commit", "not_found", "protected_path"),
    (".git./hooks/pre-commit", "not_found", "protected_path"),
    (".git /hooks/pre-commit", "not_found", "protected_path"),
    (".git::$INDEX_ALLOCATION/hooks/x", "not_found", "protected_path"),
    ("GIT~1/hooks/pre-commit", "not_found", "protected_path"),
    (".g\u200cit/hooks/pre-commit", "not_found", "protected_path"),
    (".ｇｉｔ/hooks/pre-commit", "not_found", "protected_path"),
    (".\u24d6it/hooks/pre-commit", "not_found", "protected_path"),
    ("sub/.git/config", "secret_path", "protected_path"),
    (".git", "not_found", "protected_path"),
    (".nebula/config.json", "not_found", "protected_path"),
    (".Nebula/config.json", "not_found", "protected_path"),
    (".nebula/journal/changes.jsonl", "secret_path", "protected_path"),
    (".vscode/settings.json", "not_found", "protected_path"),
    (".VSCode/settings.json", "not_found", "protected_path"),
    (".vscode./settings.json", "not_found", "protected_path"),
    (".idea/workspace.xml", "not_found", "protected_path"),
    (".github/workflows/ci.yml", "not_found", "protected_path"),
    (".claude/settings.json", "not_found", "protected_path"),
    (".codex/config.toml", "not_found", "protected_path"),
    (".agents/rules.md", "not_found", "protected_path"),
    (".cursor/mcp.json", "not_found", "protected_path"),
    (".mcp.json", "not_found", "protected_path"),
    (".MCP.JSON", "not_found", "protected_path"),
    (".mcp.json.", "not_found", "protected_path"),
    (".pre-commit-config.yaml", "not_found", "protected_path"),
    ("sitecustomize.py", "not_found", "protected_path"),
    (".env", "secret_path", "secret_path"),
    (".ENV", "secret_path", "secret_path"),
    (".env.local", "secret_path", "secret_path"),
    (".env ", "secret_path", "secret_path"),
    ("sub/.env", "secret_path", "secret_path"),
    (".e\u200cnv", "secret_path", "secret_path"),
    ("id_rsa", "secret_path", "secret_path"),
    ("keys/server.pem", "secret_path", "secret_path"),
    ("keys/server.KEY", "secret_path", "secret_path"),
    (".ssh/config", "secret_path", "secret_path"),
    (".netrc", "secret_path", "secret_path"),
]


@pytest.fixture
def booby_trapped(root: Path) -> Path:
    outside = root.parent / "outside.txt"
    outside.write_text(SECRET)
    (root.parent / "app-evil").mkdir()
    (root.parent / "app-evil/file.txt").write_text(SECRET)
    (root / "inside.txt").write_text("inside")
    (root / ".env").write_text("KEY=1")
    (root / "sub").mkdir()
    (root / "sub/file.txt").write_text("in sub")
    os.mkfifo(root / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(root)  # the address of a socket is short
        try:
            server.bind("socket.txt")
        finally:
            os.chdir(here)
    links = {
        "out.txt": "../outside.txt",
        "out-absolute.txt": str(outside),
        "out-folder": "..",
        "dangling-out.txt": "../not-there.txt",
        "dangling-in.txt": "not-there.txt",
        "dangling-folder": "not-there",
        "circle.txt": "circle.txt",
        "sneaky.txt": "sub/../../outside.txt",
        "proc.txt": "/proc/self/environ",
        "in.txt": "inside.txt",
        "in-absolute.txt": str(root / "inside.txt"),
        "in-folder": "sub",
        "chain.txt": "in-folder/../in.txt",
        "env-link.txt": ".env",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except WorkspaceError as error:
        return error.code
    return ""


@each_row(("path", "when_read", "when_written"), BAD_PATHS, ids=lambda value: ascii(value)[:40])
def test_attack_is_answered(
    path: object, when_read: str, when_written: str, booby_trapped: Path, open_at: Open, opener: OpenBeneath
) -> None:
    workspace = open_at(opener=opener)
    around = {
        place: place.read_text() for place in booby_trapped.parent.rglob("*.txt") if place.parent != booby_trapped
    }

    assert outcome(lambda: workspace.read_file(path)) == when_read  # type: ignore[arg-type]
    assert outcome(lambda: workspace.write_file(path, "evil", "overwrite")) == when_written  # type: ignore[arg-type]
    assert outcome(lambda: workspace.check_write(path, "overwrite")) == when_written  # type: ignore[arg-type]

    after = {place: place.read_text() for place in around}
    assert after == around
    assert not list(booby_trapped.parent.glob("new*"))
    assert not (booby_trapped.parent / "deep").exists()


@each_row("mode", ["create", "overwrite", "append"])
@each_row("path", ["out.txt", "dangling-out.txt", "dangling-in.txt", "out-folder/x.txt", "in.txt", ".git/x"])
def test_no_mode_writes_through(path: str, mode: str, booby_trapped: Path, open_at: Open, opener: OpenBeneath) -> None:
    workspace = open_at(opener=opener)
    with pytest.raises(WorkspaceError):
        workspace.write_file(path, "evil", mode)  # type: ignore[arg-type]
    assert (booby_trapped.parent / "outside.txt").read_text() == SECRET
    assert (booby_trapped / "inside.txt").read_text() == "inside"
    assert not (booby_trapped / "not-there.txt").exists()


def test_link_inside_reads_what_it_names(booby_trapped: Path, open_at: Open, opener: OpenBeneath) -> None:
    workspace = open_at(opener=opener)
    for path in ("in.txt", "in-absolute.txt", "chain.txt"):
        assert workspace.read_file(path).content == "inside"
    assert workspace.read_file("in-folder/file.txt").content == "in sub"


@each_row("path", ["..", "/", "../app-evil", "out-folder", "out-folder/app-evil", "a\0b", "circle.txt"])
def test_no_listing_or_search_outside(path: str, booby_trapped: Path, open_at: Open, opener: OpenBeneath) -> None:
    workspace = open_at(opener=opener)
    for call in (
        lambda: workspace.list_files(path),
        lambda: workspace.list_files(path, recursive=True),
        lambda: workspace.search(path, "outside"),
    ):
        with pytest.raises(WorkspaceError) as refused:
            call()
        assert refused.value.status == 400


def test_search_and_list_do_not_follow_links(booby_trapped: Path, workspace: LocalWorkspace) -> None:
    assert workspace.search(".", "must never be seen").files == ()
    assert not [entry for entry in workspace.list_files(recursive=True).files if "outside" in entry.path]


def test_dots_that_stay_inside_are_folded(booby_trapped: Path, workspace: LocalWorkspace) -> None:
    assert workspace.read_file("./sub/../inside.txt").path == "inside.txt"
    assert workspace.read_file("sub//./file.txt").path == "sub/file.txt"


@pytest.mark.parametrize(
    "name", ["入力／出力.md", "👩‍💻.md", "می‌خواهم.txt", "naïve.txt", "a b.txt", "…etc.txt", ".gitignore", "x.envs"]
)
def test_honest_names_are_left_alone(name: str, workspace: LocalWorkspace) -> None:
    workspace.write_file(name, "text")
    assert workspace.read_file(name).content == "text"
    assert [entry.name for entry in workspace.list_files().files] == [name]


def test_errors_tell_no_absolute_path(booby_trapped: Path, workspace: LocalWorkspace) -> None:
    for path, _, _ in BAD_PATHS:
        for call in (workspace.read_file, workspace.check_write):
            try:
                call(path) if call == workspace.read_file else call(path, "create")  # type: ignore[arg-type, call-arg]
            except WorkspaceError as error:
                assert str(booby_trapped) not in str(error)
                assert str(booby_trapped.parent) not in str(error)
                assert "\n" not in str(error)
                assert "\x1b" not in str(error)


ORDER: list[tuple[str, str, str, int]] = [
    # path, content, mode, status: the first reason in the order of judgement wins
    ("\ud800.exe", "x", "create", 422),
    ("../x.exe", "x", "create", 400),
    ("../x.exe", "x" * 200, "create", 400),
    ("old.exe", "x" * 200, "create", 400),
    ("old.txt", "x" * 200, "create", 409),
    ("new.txt", "x" * 200, "create", 413),
    ("binary.txt", "x" * 200, "append", 413),
    ("binary.txt", "x", "append", 415),
]


@pytest.mark.parametrize(("path", "content", "mode", "status"), ORDER, ids=lambda value: ascii(value)[:20])
def test_order_of_judgement_for_writes(
    path: str, content: str, mode: str, status: int, root: Path, open_at: Open
) -> None:
    (root / "old.txt").write_text("old")
    (root / "old.exe").write_text("old")
    (root / "binary.txt").write_bytes(b"\xff\xfe")
    workspace = open_at(Policy(extensions=(".txt",), max_bytes=100))
    with pytest.raises(WorkspaceError) as refused:
        workspace.write_file(path, content, mode)  # type: ignore[arg-type]
    assert refused.value.status == status


def test_order_of_judgement_for_reads(root: Path, open_at: Open) -> None:
    (root / "large-binary.txt").write_bytes(b"\xff" * 200)
    (root / "binary.txt").write_bytes(b"\xff")
    workspace = open_at(Policy(extensions=(".txt",), max_bytes=100))
    expected = {
        "../missing.exe": 400,
        "missing.exe": 400,
        "missing.txt": 404,
        "large-binary.txt": 413,
        "binary.txt": 415,
    }
    for path, status in expected.items():
        with pytest.raises(WorkspaceError) as refused:
            workspace.read_file(path)
        assert refused.value.status == status, path


def test_malformed_requests(workspace: LocalWorkspace) -> None:
    calls: list[Callable[[], object]] = [
        lambda: workspace.write_file("a.txt", "x", "replace"),  # type: ignore[arg-type]
        lambda: workspace.write_file("a.txt", b"x"),  # type: ignore[arg-type]
        lambda: workspace.write_file("a.txt", "\udc80"),
        lambda: workspace.write_file("a.txt", "x", "overwrite", expected=5),  # type: ignore[arg-type]
        lambda: workspace.search(".", ""),
        lambda: workspace.search(".", "a\0b"),
        lambda: workspace.search(".", "a" * 20_000),
        lambda: workspace.search(".", "\ud800"),
        lambda: workspace.search(".", "x", max_files=0),
        lambda: workspace.list_files(max_items=0),
        lambda: workspace.list_files(max_items=True),
        lambda: workspace.list_files(extensions=".py"),
        lambda: workspace.list_files(extensions=[1]),  # type: ignore[list-item]
    ]
    assert [outcome(call) for call in calls] == ["malformed_request"] * len(calls)


def test_gateway_kinds_only(root: Path, open_at: Open) -> None:
    workspace = open_at(Policy(extensions=EXTENSIONS))
    for name in ("a.py", "a.md", "a.txt", "a.json", "a.yaml", "a.yml", "A.PY"):
        workspace.write_file(name, "x")
    for name in ("a.sh", "a.py.exe", "Makefile", "a.py ", "a.py."):
        assert outcome(lambda name=name: workspace.write_file(name, "x")) == "extension_not_allowed"


def test_limit_is_bytes_of_utf8(open_at: Open) -> None:
    workspace = open_at(Policy(max_bytes=9))
    workspace.write_file("a.txt", "あああ")
    assert workspace.read_file("a.txt").size == 9
    assert outcome(lambda: workspace.write_file("b.txt", "ああああ")) == "too_large"
    assert outcome(lambda: workspace.write_file("a.txt", "x", "append")) == "too_large"


def test_read_only_workspace_has_no_writer(root: Path, see: See) -> None:
    (root / "a.txt").write_text("old")
    with open_workspace(str(root), read_only=True) as workspace:
        assert workspace.read_only
        assert workspace.read_file("a.txt").content == "old"
        for view in (workspace, workspace.for_turn("t")):
            with pytest.raises(ReadOnly):
                view.write_file("a.txt", "new", "overwrite")
            with pytest.raises(ReadOnly):
                view.check_write("b.txt", "create")
            assert not hasattr(view, "_writing")
    assert see() == {"a.txt": b"old"}
    assert not (root / ".nebula").exists()


def test_allowed_by_name_and_no_further(root: Path, open_at: Open) -> None:
    (root / ".env").write_text("KEY=1")
    (root / ".env.local").write_text("KEY=2")
    workspace = open_at(Policy(allowed=frozenset({".env", ".github", ".vscode/settings.json"})))
    assert workspace.read_file(".env").content == "KEY=1"
    assert outcome(lambda: workspace.read_file(".env.local")) == "secret_path"
    workspace.write_file(".env", "KEY=3", "overwrite")
    workspace.write_file(".github/workflows/ci.yml", "on: push")
    workspace.write_file(".vscode/settings.json", "{}")
    assert outcome(lambda: workspace.write_file(".vscode/tasks.json", "{}")) == "protected_path"


SECRETS = [
    ".env", ".env.local", "deep/.env", ".git/config", ".git/config.worktree", ".git/modules/lib/config",
    ".git/modules/a/modules/b/config", ".git/worktrees/w/config.worktree", ".git/credentials", ".git/FETCH_HEAD",
    ".git/logs/HEAD", "mirror.git/config", "sub/.GIT/Config", "server.key", "server.key.bak", "server.key.old.bak",
    "server.pem~", "server.pem.1", "#server.pem#", ".server.key.swp", ".id_rsa.swp", "id_rsa.bak", "id_ed25519_work",
    "ssh_host_rsa_key", "ssh_host_ed25519_key", "ssh_host_ecdsa_key.bak", ".netrc.orig", ".npmrc~", "AuthKey.p8",
    ".aws/credentials", ".docker/config.json", "kubeconfig", "terraform.tfstate", "terraform.tfstate.backup",
    ".nebula/journal/changes.jsonl", "prod.env", "deep/secrets.env", "app.env.local", "service-account.json",
    ".dev.vars", "client_secret_1.apps.json", "client_secret.json", "android/keystore.properties", ".vault_pass",
    ".streamlit/secrets.toml", ".composer/auth.json", "kaggle.json", "rclone.conf", ".sentryclirc", ".databrickscfg",
]  # fmt: skip
INSTRUCTIONS = [
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "agents.md",
    "sub/AGENTS.md",
    "CLAUDE.local.md",
    "AGENTS.override.md",
]
SETTINGS = [
    ".config/fish/config.fish", ".yarnrc.yml", ".cargo/config.toml", ".vimrc", "team.code-workspace", ".lefthook.yml",
    "lefthook-local.yml", "mise.local.toml", ".dir-locals-2.el", ".pnpmfile.mjs", ".hg/hgrc", ".jj/repo/config.toml",
    ".Rprofile", ".simple-git-hooks.json", ".overcommit.yml", ".gitpod.yml", ".replit", "cloudbuild.yaml", ".build.yml",
    ".run/tests.run.xml", ".helix/languages.toml", ".theia/settings.json", ".nova/Tasks/x.json", ".roomodes",
    "sub/.gitattributes", ".devcontainer.json", "crush.json", ".opencode.json", "opencode.jsonc", ".pi/settings.json",
    ".serena/project.yml", ".pdbrc", ".irbrc", ".ycm_extra_conf.py", ".teamcity/settings.kts", ".builds/a.yml",
]  # fmt: skip
"""Written out, where the tables of the product would agree with themselves."""
BESIDE = [
    "id_rsa.pub",
    "ssh_host_rsa_key.pub",
    "config",
    "keys.md",
    "monkey",
    "a.1",
    "x~",
    "agents.py",
    "my-agents.md",
    ".dev.vars.example",
    "client_secrets.md",
    "secrets.toml",
    "gradle.properties",
]


@pytest.mark.parametrize("path", SECRETS)
def test_secrets_and_their_copies_are_not_read(path: str, root: Path, workspace: LocalWorkspace) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("precious")
    assert outcome(lambda: workspace.read_file(path)) == "secret_path"
    assert workspace.search(".", "precious").files == ()


@pytest.mark.parametrize("name", BESIDE)
def test_names_beside_them_are_ordinary(name: str, workspace: LocalWorkspace) -> None:
    workspace.write_file(name, "plain")
    assert workspace.read_file(name).content == "plain"


@pytest.mark.parametrize("last", ["y/HEAD", "y/refs/x", "y/objects/x"])
def test_no_file_completes_what_git_takes_for_a_repository(last: str, root: Path, open_at: Open) -> None:
    workspace = open_at()
    for path in {"y/HEAD", "y/refs/x", "y/objects/x"} - {last}:
        assert outcome(lambda: workspace.write_file(path, "ref: refs/heads/x\n")) == ""  # noqa: B023
    assert outcome(lambda: workspace.write_file("y/config", "[core]\n")) == ""
    assert outcome(lambda: workspace.write_file(last, "ref: refs/heads/x\n")) == "protected_path"
    (root / last).parent.mkdir(exist_ok=True)
    (root / last).touch()
    assert outcome(lambda: workspace.write_file("y/config", "[core]\n", "overwrite")) == "protected_path"
    assert outcome(lambda: workspace.write_file("y2/HEAD", "x")) == ""
    assert outcome(lambda: workspace.write_file("y2/commondir", "x")) == "protected_path"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.hooksPath", "checks"),
        ("include.path", "../checks/git"),
        ("includeIf.onbranch:*.path", "{root}/checks/git"),
    ],
)
def test_what_the_settings_of_git_name_is_a_control_file(name: str, value: str, root: Path, open_at: Open) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert outcome(lambda: open_at().write_file("checks/git", "#!/bin/sh\n")) == ""
    subprocess.run(["git", "-C", str(root), "config", name, value.format(root=root)], check=True)
    assert outcome(lambda: open_at().write_file("checks/git", "#!/bin/sh\n", "overwrite")) == "protected_path"
    assert outcome(lambda: open_at().write_file("other/git", "#!/bin/sh\n")) == ""
    open_at(Policy(allowed=frozenset({"checks"}))).write_file("checks/git", "allowed", "overwrite")


@pytest.mark.parametrize("path", [*INSTRUCTIONS, *SETTINGS])
def test_what_other_programs_obey_is_a_control_file(path: str, root: Path, open_at: Open) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    assert outcome(lambda: open_at().write_file(path, "Obey me.")) == "protected_path"
    (root / path).write_text("read me")
    assert open_at().read_file(path).content == "read me"
    open_at(Policy(allowed=frozenset({path}))).write_file(path, "allowed", "overwrite")


def test_a_folder_that_is_allowed_opens_no_secret_in_it(root: Path, open_at: Open) -> None:
    (root / "src/.ssh").mkdir(parents=True)
    names = (".env", "server.key", ".ssh/id_rsa")
    for name in names:
        (root / "src" / name).write_text("precious")
    for allowed in ("src", "src/", "src/.ssh", "./src"):
        workspace = open_at(Policy(allowed=frozenset({allowed})))
        for name in names:
            assert outcome(lambda at=workspace, name=name: at.read_file(f"src/{name}")) == "secret_path"
            assert outcome(lambda at=workspace, name=name: at.write_file(f"src/{name}", "x")) == "secret_path"
        assert workspace.search(".", "precious").files == ()
    assert open_at(Policy(allowed=frozenset({"src/.env"}))).read_file("src/.env").secret


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".git", ".nebula/x", ".GIT/config"])
def test_git_and_nebula_cannot_be_allowed(path: str, open_at: Open) -> None:
    workspace = open_at(Policy(allowed=frozenset({path})))
    assert outcome(lambda: workspace.write_file(path, "x")) == "protected_path"


def test_planted_state_directory_is_refused(root: Path, open_at: Open) -> None:
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (root / ".nebula").symlink_to(outside)
    assert outcome(lambda: open_at().write_file("a.txt", "x")) == "path_escape"
    assert list(outside.iterdir()) == []
