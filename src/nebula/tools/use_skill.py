"""useSkill: read the instructions of a skill, and the files that come with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.errors import NebulaError
from nebula.messages import DeclaredSpec
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from nebula.extensions.skills import FoundSkills, Skill

SPEC = DeclaredSpec(
    "useSkill",
    "Open a skill by its name: returns its instructions, its folder and the names of its other files. With 'file', "
    "returns that file of the skill. Its scripts can be run with runCommand by their path in the folder.",
    schema(
        ["name"],
        name={"type": "string", "description": "The name of the skill, as the list of skills has it."},
        file={"type": "string", "description": "A file of the skill, by its path in the skill's folder."},
    ),
    reads_only=True,
)


async def use_skill(found: FoundSkills, args: Mapping[str, Any], call: Call) -> Outcome:
    name, file = text_argument(args, "name").strip(), text_argument(args, "file", "")
    skill = found.find(name)
    if skill is None:
        known = ", ".join(each.name for each in found.skills)
        raise ToolFailure(f"There is no skill '{name}'. There are: {known}.", code=404)
    try:
        return await asyncio.to_thread(_read_file if file else _open, skill, file, call.room // 2)
    except NebulaError as problem:
        raise ToolFailure(f"{problem}.", code=403) from None


def _open(skill: Skill, _: str, room: int) -> Outcome:
    told = {"name": skill.name, "folder": skill.folder, "files": skill.files()}
    return Outcome.ok(told | {"instructions": cut_middle(skill.instructions(), room)[0]})


def _read_file(skill: Skill, file: str, room: int) -> Outcome:
    text = skill.read(file)
    if text is None:
        raise ToolFailure(f"The skill '{skill.name}' has no file '{file}'.", code=404)
    return Outcome.ok({"name": skill.name, "file": file, "content": cut_middle(text, room)[0]})


TOOL = ToolDeclaration(
    "useSkill",
    lambda kit: FunctionTool(SPEC, partial(use_skill, kit.skills)) if kit.skills is not None else None,
    subject="name",
    kind="read",
)
