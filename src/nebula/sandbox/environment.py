"""The short list of variables a command gets."""

from __future__ import annotations

import os
from collections.abc import Mapping

_KEPT = ("PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME")
_KEPT_WITH_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
TOOLS = (
    "ASDF_DATA_DIR", "ASDF_DIR", "CARGO_HOME", "CONDA_PREFIX", "GOPATH", "GOROOT", "JAVA_HOME", "MISE_DATA_DIR",
    "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME", "VIRTUAL_ENV", "VOLTA_HOME",
)  # fmt: skip
"""Where installations lie that `PATH` leads to: kept where they name a folder."""
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


def reduced_environment(ours: Mapping[str, str], *, network: bool) -> dict[str, str]:
    kept = _KEPT + _KEPT_WITH_NETWORK if network else _KEPT
    env = {name: value for name, value in ours.items() if name in kept or name.startswith("LC_")}
    env |= {name: ours[name] for name in TOOLS if os.path.isabs(ours.get(name, ""))}
    env.setdefault("PATH", _USUAL_PATH)
    return env | {"HOME": home_folder(ours), "SHELL": find_shell(), "TERM": "dumb", "TMPDIR": "/tmp"}  # noqa: S108


GIT_SETTINGS = "/run/gitconfig"
"""Where a command's git finds its lowest settings: below those of its home and of any repository, so that a test suite
with settings of its own is not disturbed."""


def git_settings(name: str, address: str) -> str:
    """Return settings that name who commits, beside what the machine says."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for each in (name, address))
    return '[include]\n\tpath = /etc/gitconfig\n[user]\n\tname = "{}"\n\temail = "{}"\n'.format(*quoted)


def home_folder(ours: Mapping[str, str]) -> str:
    """Return the path of the empty home: the one that programs know."""
    home = os.path.realpath(ours.get("HOME") or os.path.expanduser("~"))
    return home if home != "/" else "/home"


def find_shell() -> str:
    """bash where it is installed: models write its lines."""
    return next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh")
