"""The tools as the JSON dialect offers them: the names that local models know, and what each stands for.

A table, not code: a `DialectTool` is one name the model sees; each of its `Target`s is a tool of ours that it may
become, with the arguments renamed, chosen by the value of one argument where there are several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nebula.messages import ToolSpec
from nebula.value import value


@dataclass(frozen=True, slots=True)
class Target:
    tool: str
    """Our own name."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Argument as offered → argument as ours."""
    when: str = ""
    """The value of the choosing argument that means this target."""


@dataclass(frozen=True, slots=True)
class DialectTool:
    name: str
    targets: tuple[Target, ...]
    description: str = ""
    """Empty: as our own tool describes itself."""
    chosen_by: str = ""
    """The argument that picks a target; a reply without it means the first."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Empty: the target's own, renamed."""
    reads_only: bool = True


DIALECT_TOOLS = (
    DialectTool("list_files", (Target("list"),)),
    DialectTool("read_file", (Target("readFile"),)),
    DialectTool("search_in_directory", (Target("searchInDirectory"),)),
    DialectTool("search_code", (Target("searchCode"),)),
    DialectTool("read_node", (Target("readNode"),)),
    DialectTool(
        "write_file",
        (
            Target("writeFile", when="create"),
            Target("editFile", {"content": "new_content"}, when="overwrite"),
        ),
        description="Write a whole file. Mode create makes a new one, overwrite replaces one that you have read.",
        chosen_by="mode",
        properties={"path": {"type": "string"}, "content": {"type": "string"}},
        reads_only=False,
    ),
    DialectTool("run_check", (Target("runCheck"),), reads_only=False),
)


@value
class Offer:
    """What one request offers, and the way back to our own tools."""

    specs: tuple[ToolSpec, ...]
    by_name: Mapping[str, DialectTool]
    own: frozenset[str]
    """Names of ours in the request; a model that uses one of them is understood."""
    readers: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(spec.name for spec in self.specs) | self.own

    def translate(self, name: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
        """Our tool, its arguments, and the reason why it must not run (None: it may)."""
        tool = self.by_name.get(name)
        if tool is None:
            return name, dict(args), None
        rest = dict(args)
        target: Target | None = tool.targets[0]
        if tool.chosen_by:
            choice = rest.pop(tool.chosen_by, tool.targets[0].when)
            target = next((each for each in tool.targets if each.when == choice), None)
        if target is None or target.tool not in self.own:
            offered = " or ".join(each.when for each in tool.targets if each.tool in self.own)
            return name, rest, f"{tool.chosen_by} of {name} must be {offered}. Nothing was run."
        return target.tool, {target.rename.get(key, key): value for key, value in rest.items()}, None

    def spoken(self, tool: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The other way round: a call of one of our tools as this dialect would say it."""
        for offered in self.by_name.values():
            for target in offered.targets:
                if target.tool == tool:
                    back = {ours: theirs for theirs, ours in target.rename.items()}
                    said = {back.get(key, key): value for key, value in args.items()}
                    return offered.name, said | ({offered.chosen_by: target.when} if offered.chosen_by else {})
        return tool, dict(args)


def make_offer(tools: Sequence[ToolSpec], table: Iterable[DialectTool] = DIALECT_TOOLS) -> Offer:
    """The dialect's view of `tools`; those that the table does not know are offered as they are."""
    own = {spec.name: spec for spec in tools}
    by_name: dict[str, DialectTool] = {}
    specs: list[ToolSpec] = []
    covered: set[str] = set()
    readers: set[str] = set()
    for tool in table:
        present = [target for target in tool.targets if target.tool in own]
        if not present:
            continue
        by_name[tool.name] = tool
        covered.update(target.tool for target in present)
        specs.append(_spec(tool, present, own[present[0].tool]))
        if tool.reads_only:
            readers.update({tool.name, *(target.tool for target in present)})
    specs += [spec for spec in tools if spec.name not in covered]
    return Offer(tuple(specs), by_name, frozenset(own), frozenset(readers))


def _spec(tool: DialectTool, present: Sequence[Target], own: ToolSpec) -> ToolSpec:
    if not tool.properties:
        renamed = {ours: theirs for theirs, ours in present[0].rename.items()}
        parameters = dict(own.parameters)
        parameters["properties"] = {
            renamed.get(key, key): value for key, value in (own.parameters.get("properties") or {}).items()
        }
        parameters["required"] = [renamed.get(key, key) for key in own.parameters.get("required") or ()]
        return ToolSpec(tool.name, tool.description or own.description, parameters)
    properties = dict(tool.properties)
    if tool.chosen_by:
        properties[tool.chosen_by] = {"type": "string", "enum": [target.when for target in present]}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(tool.name, tool.description or own.description, schema)
