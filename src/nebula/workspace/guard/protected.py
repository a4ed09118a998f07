"""Which names need more than the ordinary permission, under any spelling a file system may take for them.

Three standings, judged by name alone, so that a file that does not exist yet is protected like one that does:

- untouchable: `.git` and `.nebula`, anywhere in a path. Never written through the workspace.
- control: settings of editors, CI, agents, shells. What they say is run later by somebody else, so they are
  written only when the user allowed the path by name.
- secret: `.env*`, private keys, credentials. Neither read nor written unless allowed by name.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from nebula.value import value

UNTOUCHABLE = frozenset({".git", ".nebula"})

CONTROL_FOLDERS = frozenset(
    {
        ".agents", ".aider", ".amazonq", ".buildkite", ".circleci", ".claude", ".cline", ".clinerules", ".codex",
        ".continue", ".cursor", ".devcontainer", ".fleet", ".forgejo", ".gemini", ".gitea", ".githooks", ".github",
        ".gitlab", ".husky", ".idea", ".kiro", ".roo", ".vscode", ".windsurf", ".woodpecker", ".zed",
    }
)  # fmt: skip

CONTROL_FILES = frozenset(
    {
        ".aider.conf.yml", ".appveyor.yml", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".cirrus.yml",
        ".cursorrules", ".drone.yml", ".gitconfig", ".gitlab-ci.yml", ".gitmodules", ".mcp.json",
        ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", ".profile", ".travis.yml",
        ".windsurfrules", ".woodpecker.yml", ".zlogin", ".zprofile", ".zshenv", ".zshrc", "appveyor.yml",
        "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile", "lefthook.yml", "sitecustomize.py",
        "usercustomize.py",
    }
)  # fmt: skip

SECRET_FOLDERS = frozenset({".aws", ".gnupg", ".kube", ".ssh"})
SECRET_FILES = frozenset(
    {".git-credentials", ".htpasswd", ".netrc", ".npmrc", ".pgpass", ".pypirc", ".vault-token", "_netrc"}
)
SECRET_ENDINGS = (".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk")
KEY_STEMS = ("id_dsa", "id_ecdsa", "id_ed25519", "id_rsa")
_SECRET_INSIDE = frozenset({(".git", "config"), (".git", "credentials"), (".nebula", "journal")})


@value
class Standing:
    untouchable: bool = False
    control: bool = False
    secret: bool = False


ORDINARY = Standing()


def standing_of(parts: tuple[str, ...]) -> Standing:
    names = [name for part in parts for name in _readings(part)]
    if not names:
        return ORDINARY
    leaf = names[-1]
    standing = Standing(
        untouchable=not UNTOUCHABLE.isdisjoint(names),
        control=leaf in CONTROL_FILES or not CONTROL_FOLDERS.isdisjoint(names),
        secret=_is_secret_name(leaf)
        or not SECRET_FOLDERS.isdisjoint(names)
        or not _SECRET_INSIDE.isdisjoint(pairwise(names)),
    )
    return ORDINARY if standing == ORDINARY else standing


def is_allowed(parts: tuple[str, ...], allowed: Collection[tuple[str, ...]]) -> bool:
    """Whether the user named this file, or a folder above it."""
    return any(parts[: len(name)] == name for name in allowed)


@lru_cache(maxsize=1024)
def fold_name(name: str) -> str:
    """The name as the most careless file system would compare it.

    Case-insensitive (macOS, Windows), Unicode-normalising and deaf to ignorable characters (HFS+), trimming dots,
    spaces and stream names (NTFS), and knowing NTFS's short form of `.git`.
    """
    if not name.isascii():
        name = _plain(name)
    name = name.lower().split(":", 1)[0].rstrip(". ")
    if name.startswith(("git~", "nebula~")) and name.partition("~")[2].isdigit():
        return "." + name.partition("~")[0]
    return name


def _plain(name: str) -> str:
    import unicodedata  # most names are plain ASCII

    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if unicodedata.category(c) != "Cf" and not _is_variation_mark(c))


def _is_variation_mark(char: str) -> bool:
    return char == "\u034f" or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _readings(part: str) -> list[str]:
    """A name folded, and split where a look-alike of a separator became one."""
    folded = fold_name(part)
    if "/" not in folded:
        return [folded]
    return [fold_name(piece) for piece in folded.split("/")]


def _is_secret_name(leaf: str) -> bool:
    if leaf.startswith(".env") or leaf in SECRET_FILES or leaf.endswith(SECRET_ENDINGS):
        return True
    return leaf.startswith(KEY_STEMS) and not leaf.endswith(".pub")
