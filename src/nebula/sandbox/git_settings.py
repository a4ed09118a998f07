"""The settings of the project's repositories as a command sees them: without passwords, and without programs.

A repository that somebody packed up with its settings could otherwise have a program of its own run by a mere
`git status` in the layer, and what that changes would be proposed as if the command had done it. Only what this
repository brings is left out: the settings that a test makes for its own repositories stay. Hooks in `.git/hooks` run,
as a commit's do for its user; what they do stays in the layer like all that a command does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from nebula.files.reading import UnreadableFile, read_below

_LIMIT = 2**20
_CREDENTIALS_IN_ADDRESS = re.compile(rb"((?<!\w)\w++://|(?i:\bproxy)[ \t]*+=[ \t]*+\"?)[^/@\s\"]+@")
"""A proxy may be named without `http://`."""
_BY_TIME_AND_SIZE = b"\n[core]\n\tcheckStat = minimal\n\ttrustctime = false\n"
"""In a copy every file is another one to git, which would read them all again to see that none has changed."""
_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(
    rb"\s++|[#;][^\n]*+"
    rb'|\[\s*+(?P<section>[\w.-]++)[^\]"\n]*+(?:"(?:[^"\\\n]|\\.)*+"[^\]\n]*+)?\]'
    rb"|(?P<name>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+"
    rb'(?:=(?:[^"\\#;\n]|\\(?:\r?\n|.)|"(?:[^"\\\n]|\\(?:\r?\n|.))*+")*+(?:[#;][^\n]*+)?)?(?=\r?\n|\Z)'
)
"""Blanks and comments, the head of a section, a setting, each as git reads it. Nothing is tried in two ways: the file
may be made to take long."""
_PASSWORDS = frozenset(
    {
        *("accesstoken", "apikey", "authtoken", "clientsecret", "extraheader", "oauthtoken", "pass", "passwd"),
        *("password", "privatetoken", "secret", "smtppass", "token"),
    }
)
_PROGRAMS = frozenset(
    {
        *("core.fsmonitor", "core.pager", "core.editor", "core.askpass", "core.sshcommand", "core.gitproxy"),
        *("core.alternaterefscommand", "core.hookspath", "core.attributesfile", "include.path", "includeif.path"),
        *("credential.helper", "diff.external", "diff.command", "diff.textconv", "filter.clean", "filter.smudge"),
        *("filter.process", "gpg.program", "interactive.difffilter", "merge.driver", "sequence.editor"),
        *("remote.uploadpack", "remote.receivepack", "remote.vcs", "uploadpack.packobjectshook", "web.browser"),
        *(
            f"{tool}.{name}"
            for tool in ("difftool", "mergetool", "browser", "man", "guitool")
            for name in ("cmd", "path")
        ),
        *("trailer.command", "trailer.cmd", "imap.tunnel", "sendemail.smtpserver", "sendemail.sendmailcmd"),
        *("sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "instaweb.httpd", "submodule.update"),
        *("gc.recentobjectshook", "gpg.defaultkeycommand", "hook.command", "init.templatedir", "protocol.allow"),
    }
)
_NOT_IN_LAYERS = _PROGRAMS | {"core.splitindex"}
"""Nor an index in several files: what is shown of it, and left of it, is one."""
_SECTIONS_OF_PROGRAMS = frozenset({"alias", "pager"})


def cleaned_git_settings(root_fd: int, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path → what is shown there instead, for those of the settings files that hold something to leave out."""
    shown: dict[str, bytes] = {}
    for path in paths:
        try:
            text = read_below(root_fd, path, _LIMIT)
        except UnreadableFile:
            shown[path] = b""  # nobody can say what it holds
            continue
        if text is not None:
            settings = text if path.endswith("FETCH_HEAD") else cleaned_settings(text)
            cleaned = _CREDENTIALS_IN_ADDRESS.sub(rb"\1", settings)
            if cleaned != text:
                shown[path] = cleaned
    return shown


def settings_of_copies(root_fd: int, paths: Sequence[str]) -> dict[str, bytes]:
    """Return path → what is shown there in a copy of the project, for all settings files that git reads as such."""
    shown = cleaned_git_settings(root_fd, paths)
    for path in paths:
        if path.rpartition("/")[2] == "config":
            with suppress(UnreadableFile):
                text = shown[path] if path in shown else read_below(root_fd, path, _LIMIT)
                shown[path] = (text or b"") + _BY_TIME_AND_SIZE
    return shown


def cleaned_settings(text: bytes) -> bytes:
    """Return git settings without what names a program or holds a password; the rest stays as it is, up to what
    git could not read either."""
    at = len(_BOM) if text.startswith(_BOM) else 0
    kept = [text[:at]]
    section = ""
    while token := _TOKEN.match(text, at):
        at = token.end()
        if token["section"]:
            section = token["section"].decode().lower().partition(".")[0]
        if not (token["name"] and _is_left_out(section, token["name"].decode().lower())):
            kept.append(token[0])
    return b"".join(kept)


def _is_left_out(section: str, name: str) -> bool:
    return (
        name.replace("-", "") in _PASSWORDS or section in _SECTIONS_OF_PROGRAMS or f"{section}.{name}" in _NOT_IN_LAYERS
    )
