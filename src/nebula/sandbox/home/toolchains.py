"""The user's own tools in the home, which a command may read: what `PATH`, the variables of installers, an activated
environment and the project's virtual environment lead to.

`PATH` is the user's word: a folder that it names is shown, and the installation that its links lead to. So are the
variables by which installers are told of another place than the usual one (`CARGO_HOME`, `GOPATH` …). A project may
come from anywhere: its links open folders of well-known tools and nothing else. Credentials that lie in a shown folder
are covered, and a folder that keeps them, or the home itself, is never shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from nebula.sandbox.environment import ENVIRONMENTS, TOOLS, certificates, home_folder
from nebula.sandbox.home.tool_settings import GRADLE, cleaned_tool_settings
from nebula.value import value

KNOWN: Final = (
    ".asdf", ".bun", ".cache/node/corepack", ".cache/pypoetry/virtualenvs", ".cargo/bin", ".cargo/git",
    ".cargo/registry", ".conda/envs", ".deno/bin", ".elan", ".fnm", ".ghcup/bin", ".goenv", ".gradle/caches/modules-2",
    ".gradle/wrapper/dists", ".jenv", ".juliaup", ".linuxbrew", ".local/bin", ".local/pipx", ".local/share/fnm",
    ".local/share/mise", ".local/share/pipx", ".local/share/pnpm", ".local/share/pypoetry", ".local/share/rtx",
    ".local/share/uv", ".local/share/virtualenvs", ".m2/repository", ".m2/wrapper/dists", ".mix", ".nodenv", ".nvm",
    ".opam", ".phpenv", ".pyenv", ".rbenv", ".rustup", ".rvm", ".sdkman/candidates", ".volta", ".yarn/berry/cache",
    "anaconda3", "go/bin", "go/pkg/mod", "mambaforge", "micromamba", "miniconda3", "miniforge3", "sdk",
)  # fmt: skip
"""Folders of a home that installers of languages and tools fill."""
BREW: Final = "/home/linuxbrew/.linuxbrew"
_TOGETHER = ((".cargo/bin", (".rustup", ".cargo/registry", ".cargo/git")), ("go/bin", ("go/pkg/mod",)))
"""What the programs of one folder look for in others."""
_DOWNLOADS = (
    ("package.json", (".cache/node/corepack", ".local/share/pnpm", ".yarn/berry/cache")),
    ("pyproject.toml", (".cache/pypoetry/virtualenvs",)),
    ("Pipfile", (".local/share/virtualenvs",)),
    ("go.mod", ("go/pkg/mod",)),
    ("Cargo.toml", (".cargo/registry", ".cargo/git")),
    ("pom.xml", (".m2/repository", ".m2/wrapper/dists")),
    *((name, (".gradle/caches/modules-2", ".gradle/wrapper/dists", ".m2/repository")) for name in GRADLE),
)
"""Where the packages lie that a project of a kind has had downloaded, the package manager itself in the version that
it names among them: without a network there is no other source."""
_BUILDS = (("go.mod", ".cache/go-build"),)
"""Where compilers of a kind keep what they made: one that finds none of it begins with its own library."""
_PARTS = {"CARGO_HOME": ("bin", "git", "registry"), "GOPATH": ("bin", "pkg/mod")}
"""What is shown of an installation that also keeps credentials, or other projects."""
_MOVED = ((".cargo", "CARGO_HOME"), (".rustup", "RUSTUP_HOME"), ("go/pkg/mod", "GOMODCACHE"), ("go", "GOPATH"))
"""The variables that name another place than the usual one in the home."""
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/etc/", "/opt/", "/nix/", "/gnu/")
_CREDENTIALS = frozenset(
    {
        ".condarc", ".env", ".gem", ".git", ".git-credentials", ".netrc", ".npmrc", ".pypirc", ".yarnrc", ".yarnrc.yml",
        "auth.json", "credentials", "credentials.toml", "pip.conf", "settings.xml", "tokens",
    }
)  # fmt: skip
_KEEPS_CREDENTIALS = frozenset(
    {".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".netrc", ".password-store", ".ssh"}
)
_DEPTH = 2
_MOST_ENTRIES = 5_000


@value
class Toolchains:
    folders: tuple[str, ...] = ()
    """Shown read-only, the outermost only."""
    caches: tuple[str, ...] = ()
    """Downloads among them, in which build tools take locks and unpack what they need."""
    builds: tuple[str, ...] = ()
    """What compilers keep of earlier builds: of use only where they may write into it as well."""
    settings: tuple[tuple[str, str], ...] = ()
    """Path and text of what build tools are told in the home, without credentials."""
    covered: tuple[str, ...] = ()
    """Credentials in them, which read as empty."""
    hidden: tuple[str, ...] = ()
    """Folders of `PATH` that exist and are not shown."""
    hidden_interpreters: tuple[str, ...] = ()
    """Folders that are not shown, and in which virtual environments find their interpreter."""


def find_toolchains(root: str, environ: Mapping[str, str]) -> Toolchains:
    """Return what a command in the project at `root` may read of the home."""
    home = home_folder(environ)
    known = {place: os.path.realpath(place) for place in _known_folders(home)}
    shown: set[str] = set()
    hidden: list[str] = []
    bins = [os.path.join(root, name, "bin") for name in ENVIRONMENTS]
    for entry in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)):
        if not os.path.isabs(entry) or not os.path.isdir(entry) or _is_visible(entry, root):
            continue
        opened = _opened_by_path(entry, home, known)
        shown |= opened
        (bins if opened else hidden).append(entry)
    shown |= {each for each in _named_by_variables(environ, home) if not _is_visible(each, root)}
    programs = list(_interpreters(bins))
    for program in programs:
        shown |= _known_around(program, known)
    shown |= {place for each in shown for place in _needed_with(each, home, environ)}
    caches = sorted(set(_downloads_of(root, home, environ)))
    shown |= set(caches)
    builds = [place for name, kept in _BUILDS if _has(root, name) and _may_be_shown(place := f"{home}/{kept}", home)]
    shown |= {path for path in certificates(environ).values() if not _is_visible(path, root)}
    folders = _outermost(each for each in shown if not _is_in(root, each))
    unseen = {_folder_around(each, home) for each in programs if not _is_visible(each, root) and os.path.isfile(each)}
    unseen = {
        each for each in unseen if not _keeps_credentials(each, home) and not any(_is_in(each, f) for f in folders)
    }
    return Toolchains(
        folders=tuple(folders),
        caches=tuple(caches),
        builds=tuple(builds),
        settings=tuple(cleaned_tool_settings(root, home)),
        covered=tuple(_credentials_in(folders)),
        hidden=tuple(hidden),
        hidden_interpreters=tuple(_outermost(unseen)),
    )


def _known_folders(home: str) -> Iterator[str]:
    for place in (*(os.path.join(home, name) for name in KNOWN), BREW):
        if _may_be_shown(place, home):
            yield place


def _opened_by_path(entry: str, home: str, known: Mapping[str, str]) -> set[str]:
    """Return what one folder of `PATH` opens: the tool's own, or the folder alone; with what its links lead to."""
    opened = _known_around(entry, known) or _installation_of(entry, home)
    if not opened:
        if _keeps_credentials(entry, home):
            return set()
        around = os.path.dirname(entry.rstrip("/"))
        is_environment = any(os.path.exists(os.path.join(around, name)) for name in ("pyvenv.cfg", "conda-meta"))
        opened = {around if is_environment and not _keeps_credentials(around, home) else entry}
    try:
        links = [each.path for each in os.scandir(entry) if each.is_symlink()][:_MOST_ENTRIES]
    except OSError:
        return set()
    return opened.union(*(_known_around(os.path.realpath(link), known) for link in links))


def _installation_of(entry: str, home: str) -> set[str]:
    """Return the installation around a folder of `PATH` that lies in another place than this home."""
    folder = entry.rstrip("/")
    while folder and folder != "/":
        if folder.endswith(tuple(f"/{name}" for name in KNOWN)) and not _keeps_credentials(folder, home):
            return {folder, os.path.realpath(folder)}
        folder = os.path.dirname(folder)
    return set()


def _known_around(path: str, known: Mapping[str, str]) -> set[str]:
    """Return the well-known folder that a path lies in, under each name that it has."""
    return {
        name for place, real in known.items() if _is_in(path, place) or _is_in(path, real) for name in {place, real}
    }


def _interpreters(bins: Iterable[str]) -> Iterator[str]:
    """Yield where the interpreters of the project's virtual environments, and of those in `PATH`, really lie."""
    for folder in bins:
        program = os.path.join(folder, "python")
        if os.path.islink(program):
            yield os.path.realpath(program)
            yield os.path.join(os.path.dirname(program), os.readlink(program))


def _folder_around(program: str, home: str) -> str:
    """Return the installation of a program: the folder around its `bin`, or that alone where it is the home's."""
    folder = os.path.dirname(program)
    around = os.path.dirname(folder)
    return folder if os.path.basename(folder) != "bin" or _keeps_credentials(around, home) else around


def _needed_with(folder: str, home: str, environ: Mapping[str, str]) -> list[str]:
    of_it = (others for first, others in _TOGETHER if folder == _place_of(first, home, environ))
    places = [_place_of(name, home, environ) for others in of_it for name in others]
    return [place for place in places if _may_be_shown(place, home)]


def _downloads_of(root: str, home: str, environ: Mapping[str, str]) -> Iterator[str]:
    for manifest, names in _DOWNLOADS:
        if _has(root, manifest):
            places = (_place_of(name, home, environ) for name in names)
            yield from (place for place in places if _may_be_shown(place, home) and not _is_visible(place, root))


def _place_of(name: str, home: str, environ: Mapping[str, str]) -> str:
    """Return where the folder lies that is `name` in a home whose user has not moved it."""
    for usual, variable in _MOVED:
        moved = environ.get(variable, "").split(os.pathsep)[0]
        if os.path.isabs(moved) and _is_in(name, usual):
            return os.path.join(moved, name[len(usual) :].lstrip("/")).rstrip("/")
    return os.path.join(home, name)


def _named_by_variables(environ: Mapping[str, str], home: str) -> Iterator[str]:
    """Yield the installations that variables name, as `PATH` names its folders."""
    for variable in TOOLS:
        named = environ.get(variable, "").split(os.pathsep)[0].rstrip("/")
        if os.path.isabs(named):
            places = [os.path.join(named, part) for part in _PARTS[variable]] if variable in _PARTS else [named]
            yield from (
                name for place in places if _may_be_shown(place, home) for name in {place, os.path.realpath(place)}
            )


def _has(root: str, manifest: str) -> bool:
    return os.path.isfile(os.path.join(root, manifest))


def _may_be_shown(folder: str, home: str) -> bool:
    return os.path.isdir(folder) and not _keeps_credentials(folder, home)


def _keeps_credentials(folder: str, home: str) -> bool:
    """Return whether a folder is the home, lies above it, or keeps what only its user may read."""
    real = os.path.realpath(folder)
    if _is_in(os.path.realpath(home), real) or not _KEEPS_CREDENTIALS.isdisjoint(real.split("/")):
        return True
    return any(os.path.lexists(os.path.join(real, name)) for name in _KEEPS_CREDENTIALS)


def _credentials_in(folders: Iterable[str]) -> Iterator[str]:
    for top in folders:
        waiting = [(top, 1)]
        while waiting:
            folder, depth = waiting.pop()
            try:
                entries = list(os.scandir(folder))[:_MOST_ENTRIES]
            except OSError:
                continue
            for entry in entries:
                if entry.name in _CREDENTIALS or entry.name.startswith("credentials"):
                    yield entry.path
                elif depth < _DEPTH and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))


def _is_visible(path: str, root: str) -> bool:
    return f"{path}/".startswith(_SYSTEM) or _is_in(path, root) or _is_in(path, os.path.realpath(root))


def _is_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _outermost(folders: Iterable[str]) -> list[str]:
    kept = sorted(set(folders))
    return [each for each in kept if not any(_is_in(each, other) for other in kept if other != each)]
