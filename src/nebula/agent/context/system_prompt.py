"""The system prompt: a template that a person can read and replace, and the live project context.

The templates lie beside this file; a file of the same name in `~/.nebula/prompts/` takes its place.
"""

from __future__ import annotations

import os
from datetime import date

from nebula.agent.context.project_context import ProjectContext
from nebula.agent.instructions.standing import Instruction

_HERE = os.path.join(os.path.dirname(__file__), "prompts")
_LANGUAGES = {"ja": "Japanese", "en": "English"}


def template(mode: str, home: str = "") -> str:
    for folder in (os.path.join(home, "prompts"), _HERE):
        try:
            with open(os.path.join(folder, f"{mode}.md"), encoding="utf-8") as file:
                return file.read().strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
    raise ValueError(f"no prompt for the mode {mode!r}")


def chat_prompt(*, home: str = "", lang: str = "en") -> str:
    """Return the prompt of a conversation about anything: it says nothing of the project."""
    return f"{template('chat', home)}\n\n# Here and now\n\n- Date: {date.today().isoformat()}\n{_language(lang)}"


def system_prompt(mode: str, project: ProjectContext, *, home: str = "", lang: str = "en", plan: str = "") -> str:
    parts = [template(mode, home), _here_and_now(mode, project, lang)]
    if project.without_source and mode == "agent":
        what = "has no source code yet" if project.tree else "folder is empty"
        parts.append(
            f"The project {what}. Before you write anything, make sure that you know what is wanted: "
            "the kind of program, its language, what it must do. If neither the request nor a file that is there says "
            "so, ask, and write nothing yet."
        )
    if plan:
        parts.append(f"# The plan that the user accepted\n\n{plan}")
    parts += [instructions_part(each) for each in project.instructions.told]
    if project.outline:
        heading = "# The files that count most, and what they define (of many; searchCode finds the rest)"
        parts.append("\n".join((heading, "", *project.outline)))
    return "\n\n".join(parts)


def instructions_part(each: Instruction) -> str:
    """Return the part of the prompt that holds the instructions of one file."""
    whose = "user" if each.is_users_own else "project"
    return f"# The {whose}'s own instructions ({each.name})\n\n{each.text}"


def _here_and_now(mode: str, project: ProjectContext, lang: str) -> str:
    lines = [
        "# Here and now",
        "",
        f"- Mode: {mode}",
        f"- Date: {project.today}",
        f"- Operating system: {project.operating_system}",
        f"- Project directory: {project.directory}",
    ]
    if project.git.branch:
        lines.append(f"- git: {project.git.branch}" + ("" if project.git.changes else " (clean)"))
        lines += [f"    {change}" for change in project.git.changes]
    if project.tree:
        more = f" … and {project.more} more" if project.more else ""
        lines.append("- Top of the project: " + "  ".join(project.tree) + more)
    return "\n".join((*lines, _language(lang)))


def _language(lang: str) -> str:
    preferred = _LANGUAGES.get(lang, "English")
    return f"- Answer in the language the user writes in; where that is not clear, in {preferred}."
