"""The tools as the JSON dialect offers them: under the names that local models know, as each tool declares them.

A spec's forms say how it is offered. One offered name may stand for several tools of ours, told apart by the argument
`mode`; the tool of an MCP server is offered as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nebula.messages import DeclaredSpec, DialectForm, ToolSpec
from nebula.value import replace, value

MODE = "mode"
_CALL = re.compile(r"\b([A-Za-z]\w*) (\{[^\n]*?\})(?=[\s.,;)]|\Z)")
"""A tool's name and an object of arguments behind it."""


@value
class DialectTool:
    """One name the model sees, and our tools that it may mean."""

    name: str
    forms: tuple[tuple[DialectForm, DeclaredSpec], ...]

    @property
    def by_mode(self) -> bool:
        return bool(self.forms[0][0].mode)

    def choose(self, args: dict[str, Any]) -> tuple[DialectForm, DeclaredSpec] | None:
        """Return the form that these arguments mean, with `mode` taken out of them; without it the first is meant."""
        if not self.by_mode:
            return self.forms[0]
        mode = args.pop(MODE, self.forms[0][0].mode)
        return next((each for each in self.forms if each[0].mode == mode), None)


@value
class Offer:
    """What one request offers, and the way back to our own tools."""

    specs: tuple[ToolSpec, ...]
    by_name: Mapping[str, DialectTool]
    schemas: Mapping[str, Mapping[str, Any]]
    """The parameters of all that is understood: what is offered, and our own names, which a model may use, too."""
    readers: frozenset[str]
    said: Mapping[str, str]
    """Our names of tools and arguments, each as the model was offered it."""
    phrases: Mapping[str, str] = MappingProxyType({})
    """The same where a tool is named together with the argument that tells which of its forms is meant."""

    def in_its_words(self, text: str) -> str:
        """Return a text of ours for the model, with tools and arguments under the names that it was offered."""
        if not self.said:
            return text
        text = _CALL.sub(self._retold, text)
        for ours, theirs in self.phrases.items():
            text = text.replace(ours, theirs)
        # A name that is an ordinary word as well ("list") is meant only where it is quoted as code.
        names = [f"`{name}`" + ("" if name.islower() and "_" not in name else rf"|\b{name}\b") for name in self.said]
        return re.sub("|".join(names), lambda found: _as_offered(found[0], self.said), text)

    def _retold(self, call: re.Match[str]) -> str:
        """Return a call that stands in a text of ours (`readFile {"path": …}`) as the model has to write it."""
        try:
            args = json.loads(call[2])
        except ValueError:
            return call[0]
        if call[1] not in self.said or not isinstance(args, dict):
            return call[0]
        name, arguments = self.spoken(call[1], args)
        return f"{name} {json.dumps(arguments, ensure_ascii=False)}"

    def translate(self, name: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
        """Return our tool, its arguments, and the reason why it must not run (None if it may)."""
        tool = self.by_name.get(name)
        if tool is None:
            return name, dict(args), None
        rest = dict(args)
        chosen = tool.choose(rest)
        if chosen is None:
            modes = " or ".join(form.mode for form, _ in tool.forms)
            return name, rest, f"{MODE} of {name} must be {modes}. Nothing was run."
        form, spec = chosen
        ours = dict(form.rename)
        return spec.name, {ours.get(key, key): value for key, value in rest.items()} | dict(form.sets), None

    def spoken(self, tool: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return a call of one of our tools as this dialect writes it: the reverse of `translate`."""
        found = [form for offered in self.by_name.values() for form, spec in offered.forms if spec.name == tool]
        if not found:
            return tool, dict(args)
        args = {key: value for key, value in args.items() if not any(key in dict(form.sets) for form in found)}
        form = next((each for each in found if not each.arguments or args.keys() <= {*each.arguments}), found[0])
        theirs = {ours: offered for offered, ours in form.rename}
        said = {theirs.get(key, key): value for key, value in args.items()}
        return form.name, said | ({MODE: form.mode} if form.mode else {})


def make_offer(tools: Sequence[ToolSpec], *, under_own_names: bool = False) -> Offer:
    """Return the dialect's view of `tools`; those of MCP servers are offered as they are."""
    declared = [spec for spec in tools if isinstance(spec, DeclaredSpec) and not under_own_names]
    plain = [spec for spec in tools if spec not in declared]
    found: dict[str, list[tuple[DialectForm, DeclaredSpec]]] = {}
    for spec in declared:
        for form in spec.forms:
            found.setdefault(form.name, []).append((form, spec))
    by_name = {name: DialectTool(name, tuple(forms)) for name, forms in found.items()}
    readers = {spec.name for spec in tools if isinstance(spec, DeclaredSpec) and spec.reads_only}
    readers |= {name for name, tool in by_name.items() if all(spec.reads_only for _, spec in tool.forms)}
    said: dict[str, str] = {}
    for tool in by_name.values():
        for form, spec in tool.forms:
            said.setdefault(spec.name, f"{form.name} with {MODE} {form.mode}" if form.mode else form.name)
            said |= {ours: theirs for theirs, ours in form.rename}
    phrases = dict(_phrases(by_name.values()))
    specs = (*map(_offered_spec, by_name.values()), *plain)
    schemas = {spec.name: spec.parameters for spec in (*tools, *specs)}
    offer = Offer(specs, by_name, schemas, frozenset(readers), said, phrases)
    described = (ToolSpec(spec.name, offer.in_its_words(spec.description), spec.parameters) for spec in specs)
    return replace(offer, specs=tuple(described))


def _phrases(tools: Iterable[DialectTool]) -> Iterator[tuple[str, str]]:
    for tool in tools:
        for form, spec in tool.forms:
            theirs = {ours: offered for offered, ours in form.rename}
            for name in form.arguments:
                if name not in (spec.parameters.get("required") or ()):
                    mode = f" with {MODE} {form.mode} and" if form.mode else " with"
                    yield f"`{spec.name}` with `{name}`", f"`{form.name}`{mode} `{theirs.get(name, name)}`"


def _as_offered(found: str, said: Mapping[str, str]) -> str:
    if not found.startswith("`"):
        return said[found]
    name, blank, rest = said[found[1:-1]].partition(" ")
    return f"`{name}`{blank}{rest}"


def _offered_spec(tool: DialectTool) -> ToolSpec:
    form, spec = tool.forms[0]
    theirs = {ours: offered for offered, ours in form.rename}
    properties = {
        theirs.get(key, key): value
        for key, value in (spec.parameters.get("properties") or {}).items()
        if not form.arguments or key in form.arguments
    }
    required = [theirs.get(key, key) for key in spec.parameters.get("required") or ()]
    if tool.by_mode:
        properties[MODE] = {"type": "string", "enum": [each.mode for each, _ in tool.forms]}
    if tool.by_mode or form.arguments:
        required = list(properties)
    parameters = {**spec.parameters, "properties": properties, "required": required}
    return ToolSpec(tool.name, form.description or spec.description, parameters)
