"""Which names need more than the ordinary permission, under any spelling a file system may take for them.

Three standings, judged by name alone, so that a file that does not exist yet is protected like one that does:

- untouchable: `.git` and `.nebula`, anywhere in a path. Never written through the workspace.
- control: settings of editors, CI, agents, shells. What they say is run or obeyed later by somebody else, so they are
  written only when the user allowed the path, or a folder above it, by name.
- secret: `.env*`, private keys, credentials, and copies of them. Neither read nor written unless the user allowed
  that very file by name. Commands see the same files empty.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from itertools import pairwise

from nebula.value import value

UNTOUCHABLE = frozenset({".git", ".nebula"})

CONTROL_FOLDERS = frozenset(
    {
        ".agents", ".aider", ".amazonq", ".augment", ".azuredevops", ".buildkite", ".builds", ".cargo", ".circleci",
        ".claude", ".cline", ".clinerules", ".codex", ".config", ".continue", ".crush", ".cursor", ".devcontainer",
        ".factory", ".fleet", ".forgejo", ".gemini", ".gitea", ".githooks", ".github", ".gitlab", ".goose", ".helix",
        ".hg", ".husky", ".idea", ".jj", ".junie", ".kilocode", ".kiro", ".mvn", ".nova", ".opencode", ".openhands",
        ".pi", ".qwen", ".roo", ".rovodev", ".ruler", ".semaphore", ".serena", ".sl", ".teamcity", ".tekton", ".theia",
        ".trae", ".vim", ".vscode", ".windsurf", ".woodpecker", ".zed",
    }
)  # fmt: skip

CONTROL_FILES = frozenset(
    {
        ".aider.conf.yml", ".appveyor.yml", ".bash_aliases", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc",
        ".bazelrc", ".build.yml", ".cirrus.yml", ".crush.json", ".cshrc", ".cursorrules", ".devcontainer.json",
        ".dir-locals-2.el", ".dir-locals.el", ".drone.jsonnet", ".drone.star", ".drone.yml", ".exrc", ".gdbearlyinit",
        ".gdbinit", ".gitattributes", ".gitconfig", ".gitlab-ci.yml", ".gitmodules", ".gitpod.yml", ".goosehints",
        ".inputrc", ".irbrc", ".kilocodemodes", ".kshrc", ".lefthook-local.yaml", ".lefthook-local.yml",
        ".lefthook.yaml", ".lefthook.yml", ".lldbinit", ".login", ".lvimrc", ".mcp.json", ".mise.local.toml",
        ".mise.toml", ".nvim.lua", ".nvimrc", ".opencode.json", ".overcommit.yml", ".pdbrc", ".pnpmfile.cjs",
        ".pnpmfile.mjs", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", ".profile",
        ".pryrc", ".replit", ".roomodes", ".rprofile", ".rules", ".scrutinizer.yml", ".simple-git-hooks.json",
        ".tcshrc", ".tmux.conf", ".travis.yml", ".vimrc", ".windsurfrules", ".woodpecker.yml", ".xinitrc", ".xprofile",
        ".yarnrc", ".yarnrc.yml", ".ycm_extra_conf.py", ".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc",
        "appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "buildspec.yml", "cloudbuild.yaml",
        "cloudbuild.yml", "codemagic.yaml", "crush.json", "jenkinsfile", "lefthook-local.yaml", "lefthook-local.yml",
        "lefthook.json", "lefthook.toml", "lefthook.yaml", "lefthook.yml", "mise.local.toml", "mise.toml",
        "opencode.json", "opencode.jsonc", "sitecustomize.py", "usercustomize.py", "wercker.yml",
    }
)  # fmt: skip
CONTROL_ENDINGS = (".code-workspace", ".run.xml")
INSTRUCTIONS = frozenset(
    {"agent", "agents", "claude", "codex", "copilot-instructions", "crush", "gemini", "qwen", "warp"}
)
"""Markdown files that agents obey, this program among them; also as `CLAUDE.local.md`, `AGENTS.override.md`. Below the
root, a name in small letters is an ordinary document, such as `docs/agents.md`."""

SECRET_FOLDERS = frozenset({".aws", ".azure", ".gcloud", ".gnupg", ".kube", ".password-store", ".ssh"})
SECRET_FILES = frozenset(
    {
        ".boto", ".databrickscfg", ".dev.vars", ".dockercfg", ".git-credentials", ".htpasswd", ".my.cnf", ".netrc",
        ".npmrc", ".pgpass", ".pypirc", ".s3cfg", ".sentryclirc", ".terraformrc", ".vault-token", ".vault_pass",
        "_netrc", "application_default_credentials.json", "credentials", "credentials.json", "credentials.toml",
        "kaggle.json", "keystore.properties", "kubeconfig", "rclone.conf",
    }
)  # fmt: skip
SECRET_ENDINGS = (
    ".agekey", ".env", ".jks", ".kdb", ".kdbx", ".key", ".keystore", ".keytab", ".ovpn", ".p12", ".p8", ".pem", ".pfx",
    ".pk8", ".pkcs12", ".ppk", ".tfstate",
)  # fmt: skip
ENVIRONMENTS = frozenset(
    {
        "ci", "default", "dev", "development", "live", "local", "private", "prod", "production", "qa", "secret",
        "secrets", "stage", "staging", "test", "testing", "uat",
    }
)  # fmt: skip
"""Words behind `.env.`, as in `app.env.local`; others, as in `app.env.ts`, make it an ordinary file."""
SAMPLES = (".dist", ".example", ".sample", ".template")
"""Endings of `.env` files that are made to be shown: names without values."""
SERVICE_ACCOUNTS = ("client_secret", "service-account", "service_account", "serviceaccount")
KEY_STEMS = ("id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "ssh_host_")
_FIREBASE = "firebase-adminsdk"
_OTHER_SECRET_WORDS = (".env", ".git", "git~", "nebula~", _FIREBASE)
"""In the names that are secret by more than their letters: environments, what git keeps, short forms, a kind of key."""
_PAIRS_INSIDE = frozenset(
    {
        (".nebula", "journal"), (".docker", "config.json"), (".config", "gcloud"), ("annex", "creds"),
        (".streamlit", "secrets.toml"), (".composer", "auth.json"),
    }
)  # fmt: skip
_GIT_SECRETS = ("config", "credential", "fetch_head")
"""How names begin, anywhere below `.git`, that hold addresses with passwords in them: `modules/*/config` as well."""
_REF_KINDS = frozenset({"heads", "tags", "remotes", "notes", "pull", "prefetch", "bisect", "rewritten", "original"})
_NAMED_BY_USER = ("modules", "worktrees")
"""Folders below `.git` whose entries have names of the user's choosing."""
_COPY_ENDINGS = (
    "~", ".backup", ".bak", ".copy", ".disabled", ".old", ".orig", ".save", ".saved", ".swo", ".swp", ".tmp", ".txt",
)  # fmt: skip


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
    return Standing(
        untouchable=not UNTOUCHABLE.isdisjoint(names),
        control=_is_control_name(leaf)
        or _is_instruction(leaf, in_small_letters=len(names) > 1 and parts[-1].islower())
        or not CONTROL_FOLDERS.isdisjoint(names),
        secret=any(map(_is_secret_name, _without_copy_marks(leaf)))
        or not SECRET_FOLDERS.isdisjoint(names)
        or not _PAIRS_INSIDE.isdisjoint(pairwise(names))
        or _is_secret_of_git(names),
    )


def names_secret(path: str) -> bool:
    """Return whether a path, in any spelling, is that of a secret file."""
    return (not path.isascii() or _secret_words().search(path.lower()) is not None) and _judged_secret(path)


@lru_cache(maxsize=1024)
def _judged_secret(path: str) -> bool:
    return standing_of(tuple(part for part in path.split("/") if part not in ("", "."))).secret


@cache
def _secret_words() -> re.Pattern[str]:
    """Return what finds a word that no secret path in plain letters does without: whoever walks through a project has
    thousands of paths to judge, and few of them hold one."""
    rules = (SECRET_FOLDERS, SECRET_FILES, SECRET_ENDINGS, SERVICE_ACCOUNTS, KEY_STEMS, _OTHER_SECRET_WORDS)
    words = sorted({word for rule in rules for word in rule} | {above for above, _ in _PAIRS_INSIDE})
    hidden = "|".join(re.escape(word[1:]) for word in words if word.startswith("."))
    plain = "|".join(re.escape(word) for word in words if not word.startswith("."))
    return re.compile(rf"\.(?:{hidden})|{plain}")  # the dot once: most names hold one, and the rest is looked at there


def is_named(parts: tuple[str, ...], allowed: Collection[tuple[str, ...]], *, with_folders: bool) -> bool:
    """Return whether the user named this file; `with_folders`: or a folder above it."""
    return parts in allowed or (with_folders and any(parts[: len(name)] == name for name in allowed))


@lru_cache(maxsize=1024)
def fold_name(name: str) -> str:
    """Return the name as the most careless file system would compare it.

    Case-insensitive (macOS, Windows), Unicode-normalising and deaf to ignorable characters (HFS+), trimming dots,
    spaces and stream names (NTFS), and knowing NTFS's short form of `.git`.
    """
    if not name.isascii():
        name = _plain(name)
    name = name.lower().partition(":")[0].rstrip(". ")
    stem, _, number = name.partition("~")
    return f".{stem}" if stem in ("git", "nebula") and number.isdigit() else name


def _plain(name: str) -> str:
    import unicodedata  # most names are plain ASCII

    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if unicodedata.category(c) != "Cf" and not _is_variation_mark(c))


def _is_variation_mark(char: str) -> bool:
    return char == "\u034f" or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _readings(part: str) -> list[str]:
    """Return a name folded, and split where a look-alike of a separator became one."""
    folded = fold_name(part)
    if "/" not in folded:
        return [folded]
    return [fold_name(piece) for piece in folded.split("/")]


def _is_control_name(leaf: str) -> bool:
    return leaf in CONTROL_FILES or leaf.endswith(CONTROL_ENDINGS)


def _is_instruction(leaf: str, *, in_small_letters: bool) -> bool:
    return leaf.endswith(".md") and leaf.partition(".")[0] in INSTRUCTIONS and not in_small_letters


def _is_secret_name(leaf: str) -> bool:
    if _is_environment(leaf) or leaf in SECRET_FILES or leaf.endswith(SECRET_ENDINGS):
        return True
    if leaf.endswith(".json") and (leaf.startswith(SERVICE_ACCOUNTS) or _FIREBASE in leaf):
        return True
    return leaf.startswith(KEY_STEMS) and not leaf.endswith(".pub")


def _is_environment(leaf: str) -> bool:
    if leaf.endswith(SAMPLES):
        return False
    _, found, words = leaf.partition(".env.")
    return leaf.startswith(".env") or (bool(found) and ENVIRONMENTS.issuperset(words.split(".")))


def _without_copy_marks(leaf: str) -> list[str]:
    """Return the name, and what it is a copy of: `server.key.bak`, `.netrc~`, `.id_rsa.swp`, `#x.pem#`, `x.pem.1`; both
    without the dot that hides a file, as of `.credentials.json`."""
    names = [leaf]
    if leaf.startswith("#") and leaf.endswith("#"):
        names.append(leaf.strip("#"))
    while True:
        name = names[-1]
        stem, _, number = name.rpartition(".")
        if not number.isdigit():
            stem = next((name.removesuffix(each) for each in _COPY_ENDINGS if name.endswith(each)), "")
        if not stem:
            break
        names.append(stem)
    if name.startswith("."):
        names.append(name[1:])  # a user hides the file, or an editor the copy that it works on
    return names


def _is_secret_of_git(names: list[str]) -> bool:
    """Return whether it is a secret below `.git`, or in a bare repository. A branch may have any name."""
    depth = next((depth for depth, name in enumerate(names[:-1]) if name.endswith(".git")), None)
    if depth is None:
        return False
    for above, name in pairwise(names[depth:]):
        if name == "logs" and above not in _NAMED_BY_USER:
            return True
        if above == "refs" and name in _REF_KINDS:
            return False
    return names[-1].lstrip(".#").startswith(_GIT_SECRETS)  # an editor's copy is hidden
