"""Run a configured check where there are no layers: in the root, in a process group of its own, with firm limits.

A shell reads the line, as it does in a CI file or a Makefile: only the user writes such lines, and the model can only
name one. The check gets those environment variables that programs need to be found and to run: a secret can have any
name (`DATABASE_URL`, `GH_PAT`), so names are allowed, not forbidden. A check that needs more sets it in its line. What
the command does to files is not in the journal.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process, SubprocessStreamProtocol

from nebula.programs import kill_group
from nebula.sandbox.environment import activated
from nebula.sandbox.output import KeptOutput
from nebula.value import value

MAX_OUTPUT_BYTES = 64_000
"""How much of a command's output is kept: its head and its tail."""
READ_BYTES = 65_536
PASSED_ON = frozenset(
    {
        "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
        "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
        "AR", "CC", "CFLAGS", "CPPFLAGS", "CXX", "CXXFLAGS", "LDFLAGS", "LD_LIBRARY_PATH", "MAKEFLAGS",
        "ANDROID_HOME", "BUN_INSTALL", "CARGO_HOME", "CONDA_DEFAULT_ENV", "CONDA_PREFIX", "DENO_DIR", "DOTNET_ROOT",
        "GEM_HOME", "GEM_PATH", "GOBIN", "GOCACHE", "GOFLAGS", "GOMODCACHE", "GOPATH", "GOROOT", "GRADLE_USER_HOME",
        "JAVA_HOME", "NODE_PATH", "NVM_BIN", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH",
        "RUSTUP_HOME", "VIRTUAL_ENV", "PKG_CONFIG_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    }
)  # fmt: skip
"""Variables that a check gets, beside those of the locale (`LC_…`)."""


@value
class CheckResult:
    """The result of a check. `code` is None where it had to be stopped."""

    command: str
    code: int | None
    output: str
    read_empty: tuple[str, ...] = ()
    """Where it failed in a layer: the secret files that it read and that were empty for it."""

    @property
    def passed(self) -> bool:
        return self.code == 0


async def run_command(command: str, root: str, timeout_s: float) -> CheckResult:
    if not command.strip():
        return CheckResult(command, 127, "The command is empty.")
    loop = asyncio.get_running_loop()
    try:
        transport, streams = await loop.subprocess_shell(
            lambda: SubprocessStreamProtocol(limit=READ_BYTES, loop=loop),
            command,
            cwd=root,
            env=activated(reduced_environment(), root, os.environ),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
    except OSError as problem:
        return CheckResult(command, 127, f"The command cannot be started: {problem.strerror}.")
    assert streams.stdout is not None  # noqa: S101 - asked for above
    process, kept = Process(transport, streams, loop), KeptOutput(MAX_OUTPUT_BYTES)
    try:
        async with asyncio.timeout(timeout_s):
            while chunk := await streams.stdout.read(READ_BYTES):
                kept.add(chunk)
            code: int | None = await process.wait()
    except TimeoutError:
        code = None
    finally:
        # What the command left running in its group is ended, too, also when we are being cancelled.
        kill_group(process.pid)
        transport.close()  # else a child that left the group and holds the other end would be waited for
        await process.wait()
    output = kept.text()
    if code is None:
        output += f"\nStopped: it took longer than {timeout_s:g} seconds."
    return CheckResult(command, code, output)


def reduced_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}
    quiet = {"PYTHONUTF8": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "PAGER": "cat", "CI": "1"}
    return kept | quiet
