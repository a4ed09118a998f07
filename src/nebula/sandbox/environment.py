"""The short list of variables a command gets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_KEPT = ("PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME")
_KEPT_WITH_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
TOOLS = (
    "ASDF_DATA_DIR", "ASDF_DIR", "CARGO_HOME", "CONDA_PREFIX", "GOMODCACHE", "GOPATH", "GOROOT", "JAVA_HOME",
    "MISE_DATA_DIR", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME", "VIRTUAL_ENV", "VOLTA_HOME",
)  # fmt: skip
"""Where installations lie that `PATH` leads to: kept where they name a folder."""
_VERSIONS = ("GOTOOLCHAIN", "NODENV_VERSION", "PYENV_VERSION", "RBENV_VERSION", "RUSTUP_TOOLCHAIN")
"""Which of several installed versions the user's shell has chosen."""
_SAID = {"RUSTUP_AUTO_INSTALL": "0"}
"""rustup looks whether it is to install the toolchain that is asked for, and makes a folder for that beside those that
are there; commands cannot write there, and what is there is enough."""
_VERSION = re.compile(r"[\w.+:-]{1,80}")
_CERTIFICATES = (
    "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
)  # fmt: skip
"""Whom programs trust: without them nothing can be installed where a company's proxy signs what comes through it."""
ENVIRONMENTS = (".venv", "venv", "env")
"""Where a project has its virtual environment."""
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


def reduced_environment(ours: Mapping[str, str], *, network: bool) -> dict[str, str]:
    kept = _KEPT + _KEPT_WITH_NETWORK if network else _KEPT
    env = {name: value for name, value in ours.items() if name in kept or name.startswith("LC_")}
    env |= {name: ours[name] for name in TOOLS if os.path.isabs(ours.get(name, ""))}
    env |= {name: ours[name] for name in _VERSIONS if _VERSION.fullmatch(ours.get(name, ""))}
    env |= certificates(ours)
    env.setdefault("PATH", _USUAL_PATH)
    said = {"HOME": home_folder(ours), "SHELL": find_shell(), "TERM": "dumb", "TMPDIR": "/tmp"}  # noqa: S108
    return env | _SAID | said


def certificates(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name a file of certificates, wherever it lies."""
    found = {name: ours.get(name, "") for name in _CERTIFICATES}
    return {name: path for name, path in found.items() if os.path.isabs(path) and os.path.isfile(path)}


def activated(env: Mapping[str, str], root: str, ours: Mapping[str, str]) -> dict[str, str]:
    """Return `env` as it is where the project's virtual environment is active: its tests need what is installed there.

    An environment that the user activated goes first; conda's `base`, which every shell of its users has, is none.
    """
    has_conda = bool(ours.get("CONDA_PREFIX")) and ours.get("CONDA_DEFAULT_ENV") != "base"
    if ours.get("VIRTUAL_ENV") or has_conda:
        return dict(env)
    for name in ENVIRONMENTS:
        folder = os.path.join(root, name)
        programs = os.path.join(folder, "bin")
        if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) and os.path.exists(os.path.join(programs, "python")):
            path = os.pathsep.join(filter(None, (programs, env.get("PATH"))))
            return {**env, "VIRTUAL_ENV": folder, "PATH": path}
    return dict(env)


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
    """Return bash if it is installed, since models write for it, else the plain shell."""
    return next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh")
