"""nebula skills: which skills there are, and what is wrong with those that are not used."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_item, print_json, print_line, short_path, tell_remark
from nebula.cli.settings import open_project, remark_on_trust
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.extensions.skills import FoundSkills, find_skills
from nebula.language import explain
from nebula.value import replace


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    settings = open_project("nebula", options)
    if options.action == "check":  # looks at all of them; nothing of a skill is used by that
        found = find_skills(replace(settings, trust_extensions=True))
        return _check(found, as_json=options.json)
    remark_on_trust("nebula", settings)
    _list(find_skills(settings), as_json=options.json)
    return EXIT_OK


def _list(found: FoundSkills, *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {"name": each.name, "description": each.description, "folder": each.folder, "owner": each.owner}
                for each in found.skills
            ]
        )
        return
    for skill in found.skills:
        print_item(f"{skill.name}  ", f"{skill.description}  ({short_path(skill.folder)})")
    if not found.skills:
        tell_remark(
            "No skills. They are folders with a SKILL.md, in ~/.nebula/skills, ~/.agents/skills or, once it is "
            "trusted, a project's .nebula/skills, .agents/skills and .claude/skills."
        )


def _check(found: FoundSkills, *, as_json: bool) -> int:
    if as_json:
        print_json(
            [{"path": each.path, "problem": explain(each.what), "used": each.is_used} for each in found.problems]
        )
    else:
        for each in found.problems:
            print_line(f"{short_path(each.path)}: {explain(each.what)}")
        tell_remark("skills: {skills} · problems: {problems}", skills=len(found.skills), problems=len(found.problems))
    return EXIT_FAILED if found.problems else EXIT_OK


def _parser() -> Parser:
    parser = Parser(
        "nebula skills",
        "Skills: folders with a SKILL.md that tell the model how special tasks are done.",
        about=(
            "list shows those that count now; check looks through all of them, also those of a project that is not\n"
            "trusted, and exits with 1 where it found something."
        ),
        examples=("nebula skills list", "nebula skills check"),
    )
    parser.add_argument(
        "action",
        choices=("list", "check"),
        nargs="?",
        default="list",
        metavar="list|check",
        help="show them, or check each for mistakes",
    )
    parser.add_flag("--json", "print JSON")
    parser.add_trust()
    parser.add_root()
    return parser
