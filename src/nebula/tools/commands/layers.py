"""The layers for the commands of one session: its limits, its secrets, a launcher kept ready. Loaded when first
needed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from nebula.config import Settings, save_choice
from nebula.files.protected_names import names_secret
from nebula.git import GitFailed, git_user
from nebula.language import Sentence
from nebula.sandbox.remembered import OFFERED, ON_DISK, recall, recall_or_wait
from nebula.tools.permissions import Permission, Permissions
from nebula.value import field, record, replace

if TYPE_CHECKING:
    from nebula.sandbox.contract import Command, CommandResult
    from nebula.sandbox.home.toolchains import Toolchains
    from nebula.sandbox.launcher import Launchers
    from nebula.sandbox.secrets import SecretFinder

OnOutput = Callable[[bytes], None]


@record
class CommandLayers:
    settings: Settings
    skills: tuple[str, ...] = ()
    """Folders of skills, which commands may read."""
    env: tuple[tuple[str, str], ...] = ()
    """Environment variables for commands, beside the few that all have."""
    permissions: Permissions = field(default_factory=Permissions)
    """What was allowed in the session; commands see the secret files among it."""
    learn_secrets: Callable[[], object] = lambda: None
    """Called when commands get to see more secret files, before the next command runs."""
    pointed_out: bool = False
    """The user was told, or asked, what the project's virtual environment lacks."""
    pointed_out_empty: bool = False
    """The user was told that a failed command had read files that are empty for it."""
    _launchers: Launchers | None = None
    _opening: Lock = field(default_factory=Lock)
    """Held while a layer is made: a hook may run at the same time as a command, in another thread."""
    _secrets: SecretFinder | None = None
    _shown: tuple[str, ...] = ()
    """The files that were allowed when it was made."""
    _toolchains: Toolchains | None = None
    _git_user: tuple[str, str] = ("", "")
    _on_disk: bool = False

    @property
    def available(self) -> bool:
        """Return whether this machine can make layers: tried once after the machine starts, and remembered."""
        known = recall_or_wait(self.settings.home)
        if known is not None:
            return known[0] in OFFERED
        from nebula.sandbox.capability import capability

        return capability(self.settings.home).available

    async def run(
        self,
        line: str,
        *,
        timeout_s: float | None = None,
        network: bool = False,
        hosts: tuple[str, ...] = (),
        on_output: OnOutput | None = None,
        read_back: bool = True,
        stdin: str = "",
    ) -> CommandResult:
        """Run a line to its end, with `stdin` on its standard input. If this is cancelled, the command ends with
        everything that it started. Raises SandboxError."""
        from nebula.sandbox.command import Stop, run

        command = await asyncio.to_thread(
            self._command, line, timeout_s or self.settings.command_timeout_s, network, hosts
        )
        command = replace(command, stdin=stdin)
        stop = Stop()
        work = asyncio.get_running_loop().run_in_executor(
            None, lambda: run(command, on_output=on_output, stop=stop, launchers=self._launchers, read_back=read_back)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([work])
            with suppress(Exception):  # the cancellation is what counts now
                work.result().close()
            raise
        finally:
            stop.close()

    def _command(self, line: str, timeout_s: float, network: bool, hosts: tuple[str, ...]) -> Command:
        from nebula.sandbox.contract import MIB, Command, Limits
        from nebula.sandbox.launcher import Launchers

        secrets = self.secret_finder
        with self._opening:
            if self._launchers is None:
                self._launchers = Launchers()
            self._git_user = _git_user(self.settings.root)
            self._on_disk = recall(self.settings.home) == (ON_DISK, 0)
        said = self.settings
        limits = Limits(
            timeout_s=min(timeout_s, said.command_timeout_s),
            memory_bytes=said.command_memory_mb * MIB,
            processes=said.command_processes,
            output_bytes=said.command_output_bytes,
            layer_bytes=said.command_layer_mb * MIB,
        )
        builds = () if self._on_disk else self.toolchains.builds  # on disk nothing outside the project is written
        return Command(
            said.root,
            line,
            limits,
            network,
            hosts,
            read_only=(*self.readable, *self.toolchains.folders, *builds),
            caches=(*self.toolchains.caches, *builds),
            settings=self.toolchains.settings,
            skills=self.skills,
            covered=self.toolchains.covered,
            secrets=secrets,
            disk=said.home if self._on_disk else None,
            git_user=self._git_user,
            env=self.env,
        )

    @property
    def secret_finder(self) -> SecretFinder:
        """The finder of the files that are empty for commands; it remembers them while this is open."""
        if self._secrets is None or self._shown != self.permissions.secrets:
            from nebula.sandbox.secrets import SecretFinder

            self._shown = self.permissions.secrets
            self._secrets = SecretFinder(self._is_secret)
        return self._secrets

    @property
    def readable(self) -> tuple[str, ...]:
        return tuple(os.path.abspath(os.path.expanduser(path)) for path in self.settings.sandbox_read)

    @property
    def toolchains(self) -> Toolchains:
        """Return the user's own toolchains in the home, found once."""
        if self._toolchains is None:
            from nebula.sandbox.home.toolchains import find_toolchains

            self._toolchains = find_toolchains(self.settings.root, os.environ)
        return self._toolchains

    @property
    def unseen_folders(self) -> tuple[str, ...]:
        """Folders with the interpreters of virtual environments that commands do not see."""
        shown = tuple(f"{path}/" for each in self.readable for path in (each, os.path.realpath(each)))
        hidden = self.toolchains.hidden_interpreters
        return tuple(_shorten(each) for each in hidden if not f"{each}/".startswith(shown))

    def may_ask_about(self, folders: tuple[str, ...]) -> bool:
        """Return whether the user may be asked about `folders`, and has not said yet that they stay hidden."""
        return not set(self.settings.sandbox_hidden).issuperset(folders)

    def show(self, folders: tuple[str, ...]) -> None:
        """Let commands read `folders` from now on, and remember that. Raises ConfigError, OSError."""
        for folder in folders:
            self.permissions.give(Permission("folder", folder))
        self._remember("sandbox_read", (*self.settings.sandbox_read, *folders))

    def hide(self, folders: Collection[str]) -> None:
        """Let commands read `folders` no longer, which the user had agreed to. Raises ConfigError, OSError."""
        self._remember("sandbox_read", [each for each in self.settings.sandbox_read if each not in folders])

    def keep_hidden(self, folders: tuple[str, ...]) -> None:
        """Keep in the config that the user is not to be asked about `folders` again. Raises ConfigError, OSError."""
        self._remember("sandbox_hidden", (*self.settings.sandbox_hidden, *folders))

    def _remember(self, setting: str, folders: Iterable[str]) -> None:
        known = tuple(dict.fromkeys(folders))
        self.settings = replace(self.settings, **{setting: known})
        save_choice(self.settings, **{setting: list(known) or None})

    @property
    def unseen(self) -> Sentence | None:
        """Name the folders that virtual environments need and commands do not see, and the command that shows them."""
        folders = self.unseen_folders
        if not folders:
            return None
        import shlex  # loaded only when needed

        wanted = json.dumps([*self.settings.sandbox_read, *folders], ensure_ascii=False)
        return Sentence(
            "Commands do not see {folders}, where a virtual environment has its interpreter. This shows it: {line}",
            folders=", ".join(folders),
            line=shlex.join(["nebula", "config", "set", "sandbox_read", wanted]),
        )

    def _is_secret(self, path: str) -> bool:
        return names_secret(path) and path not in self._shown

    def show_secrets(self, paths: Sequence[str]) -> None:
        """Show these secret files, which the user allowed by name, to the commands of this session."""
        for path in paths:
            self.permissions.give(Permission("secret", path))
        self.learn_secrets()

    @property
    def allowed_secrets(self) -> tuple[str, ...]:
        """Return the secret files that the user allowed by name: their content may be in the output of a command."""
        return tuple(path for path in self.permissions.secrets if names_secret(path))

    def close(self) -> None:
        launchers, self._launchers, self._secrets = self._launchers, None, None
        if launchers is not None:
            launchers.close()


def _shorten(path: str) -> str:
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def _git_user(root: str) -> tuple[str, str]:
    try:
        return git_user(root)
    except GitFailed:
        return "", ""
