"""Every setting, declared once: its default, the check that reads it, who may set it, and its variables.

A new setting is one field of `Settings`; where a provider is and its key follow from `nebula.providers`. What a
config.json may hold, what a project may say, what the environment sets and what must never be shown all follow from it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from nebula.config.addresses import password_in, without_credentials
from nebula.config.checks import (
    address,
    count,
    extensions,
    flag,
    mcp_servers,
    one_of,
    positive,
    seconds,
    string,
    strings,
    trusted,
)
from nebula.config.hooks import hooks
from nebula.language import LANGUAGES, Sentence
from nebula.providers import DEFAULT_MODEL, PROVIDERS
from nebula.value import replace, value

DECLINED = "declined "
"""Before the fingerprint of commands that the user does not trust."""
NOBODY, USER, PROJECT = range(3)
"""Whose config.json may hold a setting: nobody's (environment and command line only), the user's alone, a project's
too. A project may say nothing about where requests go, who approves, or which root and hooks."""

T = TypeVar("T")


@value
class Setting:
    name: str
    default: Any
    check: Callable[[Any], Any]
    file: int
    variables: tuple[str, ...]
    """Where several are set, the last one counts."""
    secret: bool
    """Never shown, stored or logged."""
    runs: bool
    """Holds commands: a project's count only once its folder is trusted."""


TABLE: dict[str, Setting] = {}
"""All settings by name."""


def setting(
    default: T, check: Callable[[Any], T], *variables: str, file: int = USER, secret: bool = False, runs: bool = False
) -> T:
    """Declare one setting, as the default of its field."""
    return cast("T", Setting("", default, check, file, variables, secret, runs))


def declared(cls: type[T]) -> type[T]:
    """Move the declarations of the fields into the table, add those of the providers, and leave the defaults in the
    class."""
    own = {name: found for name, found in vars(cls).items() if isinstance(found, Setting)}
    for name, found in (_of_providers() | own).items():
        TABLE[name] = replace(found, name=name)
        setattr(cls, name, found.default)
        cls.__annotations__.setdefault(name, "str")
    return cls


def _of_providers() -> dict[str, Any]:
    """Return the settings of all providers: the address of each, and its key."""
    keys = {row.key: setting("", string, row.key_variable, file=NOBODY, secret=True) for row in PROVIDERS.values()}
    addresses = {
        row.address: setting(row.default_address, address, *row.address_variables) for row in PROVIDERS.values()
    }
    return {name: each for name, each in (keys | addresses).items() if name}


@value
@declared
class Settings:
    """Everything that can be set, resolved. `origins` tells which layer each key came from."""

    home: str = ""
    root: str = ""

    model: str = setting(DEFAULT_MODEL, string, "NEBULA_MODEL", file=PROJECT)
    """The model to use; `provider/model` names both."""
    provider: str = setting("", one_of(*PROVIDERS), "NEBULA_PROVIDER")
    """Whose model it is; empty: the first provider that is set up."""
    planner: str = setting("", string, "EC_PLANNER", file=PROJECT)
    """The model that plans in `evercontext run`; empty: Gemini where it has a key, else your model."""
    executor: str = setting("", string, "EC_MODEL_NAME", file=PROJECT)
    """The model that carries steps out in `evercontext run`; empty: Ollama where it answers, else your model."""
    context_tokens: int = setting(0, count, file=PROJECT)
    """How much of a model's context to use; 0 is what the model is known to take."""
    effort: str = setting("", one_of("low", "medium", "high"), "NEBULA_EFFORT", file=PROJECT)
    """How much a model shall think, where it has that choice; empty: as it comes."""
    max_rounds: int = setting(100, positive, file=PROJECT)
    """Model calls in one turn."""

    lang: str = setting("en", one_of(*LANGUAGES), "NEBULA_LANG", file=PROJECT)
    """The language of what you read; without it, that of the locale."""
    curtain: str = setting("quiet", one_of("quiet", "paths"), file=PROJECT)
    """`paths` names the file at work while tools run."""
    backstage: bool = setting(False, flag)
    """Show tools as they run."""
    editor_url: str = setting("vscode://file{path}:{line}", string)
    """What the page links a path of the project to; empty: no link."""
    auto_summary: bool = setting(False, flag, file=PROJECT)
    """Make a summary and tags for each turn, in the background."""
    past: str = setting("full", one_of("full", "summaries"), file=PROJECT)
    """How earlier turns are sent: in full while they fit, or as summaries, all but the one that is continued."""

    allow_ext: tuple[str, ...] = setting((".py", ".md", ".txt", ".json", ".yaml", ".yml"), extensions, "EC_ALLOW_EXT")
    """Kinds of files that the gateway and `evercontext run` may touch."""
    max_bytes: int = setting(524_288, positive, "EC_MAX_BYTES")
    """The largest file that is read or written."""
    checks: tuple[str, ...] = setting((), strings, file=PROJECT, runs=True)
    """Commands that say whether the work is right, such as `pytest -q`."""
    check_timeout_s: float = setting(120.0, seconds, file=PROJECT)
    """Seconds that one check may take."""
    repair: bool = setting(False, flag, file=PROJECT)
    """Checks run after a turn that changed files, and what fails goes back to the model."""
    repair_rounds: int = setting(2, count, file=PROJECT)
    """How often failures of checks go back to the model."""

    command_timeout_s: float = setting(600.0, seconds)
    """Seconds that a command may take."""
    command_memory_mb: int = setting(4096, positive)
    """Memory of all processes of a command together, in MiB."""
    command_processes: int = setting(512, positive)
    """Processes that a command may have at once."""
    command_output_bytes: int = setting(1024 * 1024, positive)
    """How much of a command's output is kept."""
    command_layer_mb: int = setting(2048, positive)
    """How much a command may write, `/tmp` and home included, in MiB."""
    sandbox_read: tuple[str, ...] = setting((), strings)
    """Directories and files outside the project that commands may read."""
    sandbox_hidden: tuple[str, ...] = setting((), strings)
    """Directories that the user was asked about and that commands shall not read."""
    sandbox_network: tuple[str, ...] = setting((), strings)
    """Hosts that commands may reach without a question: "example.org", "*.example.org", "example.org:8443"."""
    allow_network: bool = setting(False, flag, file=NOBODY)
    """Commands that ask for the network get all of it without a question; for one run, by a flag."""

    mcp_servers: Mapping[str, Any] = setting(MappingProxyType({}), mcp_servers, file=PROJECT, runs=True)
    """Servers whose tools join ours: name → `command`, `args`, `env` or `url`, `headers`; `read_only`, `timeout_s`."""

    hooks: Mapping[str, tuple[str, ...]] = setting(MappingProxyType({}), hooks)
    """Commands at moments of a turn; only the user's own file has them."""

    database_path: str = setting("", string)
    """Where sessions are kept; empty: `~/.nebula/memory.db`."""
    audit_log: str = setting("", string, "EC_AUDIT_LOG", file=NOBODY)
    """Where the guard writes its lines; empty: `.nebula/audit.jsonl`."""
    mcp_url: str = setting("", address, "EC_MCP_URL", file=NOBODY)
    """A gateway that all file calls go to."""
    rag_url: str = setting("", address, "EC_RAG_URL", file=NOBODY)
    """An index server that all searches go to."""
    index_url: str = setting("", address, "EC_INDEX_URL")
    """A PostgreSQL database that keeps the code index; empty: one SQLite file."""
    embedder: str = setting("", string)
    """`provider/MODEL` that gives chunks their vectors; empty: words alone. It is sent the code: the user's choice."""
    token: str = setting("", string, "EC_TOKEN", file=NOBODY, secret=True)
    """What clients of a server have to show."""
    trusted_folders: Mapping[str, str] = setting(MappingProxyType({}), trusted)
    """Projects whose commands the user trusts; written by the program."""
    trusted_extensions: Mapping[str, str] = setting(MappingProxyType({}), trusted)
    """Folders whose skills and commands the user trusts, as `brought_along` found them."""

    trust: bool = False
    """All of the project's own commands may run: remembered for what they say, or said for this start."""
    trusted: frozenset[str] = frozenset()
    """The settings, by name, whose commands may run: a yes to its checks is none to its servers."""
    trust_extensions: bool = False
    """The project's own skills and commands count."""
    brought_along: Mapping[str, str] = MappingProxyType({})
    """The files of the project's skills and commands, each with a digest."""
    overruled: Mapping[str, Any] = MappingProxyType({})
    """What the user's own file says of keys that the project sets: it counts where the project's is set aside."""
    origins: Mapping[str, str] = MappingProxyType({})
    remarks: tuple[Sentence, ...] = ()
    """Things in the files that were not used, one sentence each, for stderr."""

    def __repr__(self) -> str:
        """Return it without the keys: a representation may end in a log."""
        return f"Settings(root={self.root!r}, model={self.model!r}, provider={self.provider!r})"

    @property
    def config_path(self) -> str:
        return os.path.join(self.home, "config.json")

    @property
    def project_config_path(self) -> str:
        return os.path.join(self.state_dir, "config.json")

    @property
    def shared_servers_path(self) -> str:
        return os.path.join(self.root, ".mcp.json")

    @property
    def memory_path(self) -> str:
        return self.database_path or os.path.join(self.home, "memory.db")

    @property
    def state_dir(self) -> str:
        return os.path.join(self.root, ".nebula")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must never reach a file or a screen: keys, and passwords inside addresses."""
        keys = [getattr(self, each.name) for each in TABLE.values() if each.secret]
        passwords = [password_in(getattr(self, each.name)) for each in TABLE.values() if each.check is address]
        return tuple(filter(None, keys + passwords))

    def shown(self, name: str) -> str:
        """Return the value of a setting for people."""
        declared = TABLE.get(name)
        if declared is not None and declared.secret:
            return "(set)" if getattr(self, name) else ""
        found = getattr(self, name)
        if isinstance(found, bool):
            return str(found).lower()  # as it is written in the file
        if name in ("trusted_folders", "trusted_extensions"):
            found = [folder for folder, said in found.items() if not all(DECLINED in each for each in said.split("; "))]
        # Of an object the names alone: what stands under them may hold a key.
        said = ", ".join(found) if isinstance(found, tuple | list | Mapping) else str(found)
        return without_credentials(said) if declared is not None and declared.check is address else said

    def is_from_project(self, name: str) -> bool:
        return self.origins.get(name) in (self.project_config_path, self.shared_servers_path)

    @property
    def checks_need_trust(self) -> bool:
        """The checks are the project's own, and nobody has trusted them yet. What the user set is the user's."""
        return bool(self.checks) and self.is_from_project("checks") and "checks" not in self.trusted

    @property
    def needs_trust(self) -> bool:
        """The project wants to run something, and nobody has trusted it yet."""
        return any(name not in self.trusted for name, _ in self.commands)

    @property
    def extensions_need_trust(self) -> bool:
        """The project brings skills or commands along, and nobody has trusted them yet."""
        return bool(self.brought_along) and not self.trust_extensions

    @property
    def allowed_checks(self) -> tuple[str, ...]:
        return () if self.checks_need_trust else self.checks

    @property
    def commands(self) -> list[tuple[str, Any]]:
        """Return what the project would run, for whoever is asked to trust it."""
        said = [(each.name, getattr(self, each.name)) for each in TABLE.values() if each.runs]
        return [(name, found) for name, found in said if found and self.is_from_project(name)]
