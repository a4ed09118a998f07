"""Every exit code, with what it means."""

from __future__ import annotations

from words import page, say, table

from nebula import errors

MEANINGS = {
    "EXIT_OK": "It was done.",
    "EXIT_FAILED": "It failed: one line on standard error says why. Of a race, a take or a replay: something differs,"
    " or a conflict was left alone. Of a task: checks still fail, steps were left out, or a limit was reached.",
    "EXIT_POLICY": "It was refused: by a rule, by you, or because nobody was there to ask.",
    "EXIT_FORMAT": "What the model sent could not be used, also after it was asked again.",
    "EXIT_USAGE": "The command line is wrong; `--help` shows what there is.",
    "EXIT_INTERRUPTED": "Ctrl-C.",
}


def list_exit_codes() -> str:
    codes = {name: code for name, code in vars(errors).items() if name.startswith("EXIT_")}
    rows = [(f"`{code}`", f"`{name}`", say(MEANINGS[name])) for name, code in codes.items()]
    return page(
        "Exit codes",
        "They are the same for all three programs.",
        table(("code", "name", "meaning"), rows),
    )
