"""Decide on the changes of a command and apply what was allowed.

Most of them are one set and one question; secret files, control files and the repository itself have to be allowed by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from nebula.events import Approval, ProposedChange, new_trace_id
from nebula.language import Sentence
from nebula.messages import Json, ToolResultStatus
from nebula.sandbox.contract import CommandResult
from nebula.tools.approval import BY_NAME, Approvals, Decision
from nebula.tools.commands.change_set import CommandChanges, read_command_changes, report_applied
from nebula.tools.commands.repository_words import join_described, show_name
from nebula.tools.contract import Call, Outcome, in_thread, to_the_end
from nebula.tools.permissions import ALL_WRITES, IGNORED
from nebula.value import record, replace
from nebula.workspace.contract import AppliedSet
from nebula.workspace.local import LocalWorkspace

NOT_APPLIED = "The user did not allow what the command changed; nothing was applied. Do not try it again."
IGNORED_DROPPED = "Nobody is there to ask, so this was dropped. A later command that needs it has to make it again."
REPOSITORY = "It changes the repository itself, not restorable by undo: {what}. A yes is for this one command."
LEFT_OUT = "A command's changes under .git were left out: {what}. To allow them add {options}"
LEFT_OUT_AS_CHANGED = "A command's changes under .git were left out, because it changed meanwhile: {what}."
_MOST_NAMED = 20
RUN_BY_GIT = "These make git run programs: {paths}."


@record
class Settling:
    """A command that has ended, and the workspace for its changes."""

    line: str
    result: CommandResult
    workspace: LocalWorkspace
    approvals: Approvals
    call: Call
    report: Callable[[list[str], Iterable[str]], dict[str, Any]]
    """Returns the report for the model, given the changed paths and the remarks."""

    async def run(self) -> Outcome:
        """Have the changes decided on, and apply what was allowed."""
        changes = await self._read()
        named: tuple[str, ...] = ()
        if changes.needs_names and self.approvals.somebody_is_there:
            named = await self._ask_by_name(changes)
            self.workspace = self.workspace.allowing(*named)
            changes = await self._read()
        return self._name_left_out(changes, await self._settle(changes, named))

    def _name_left_out(self, changes: CommandChanges, outcome: Outcome) -> Outcome:
        """Return the outcome with the sentences for a person; whoever was asked has read most of them before."""
        left_out = changes.name_left_out()
        kind = left_out.get("extension")
        if self.approvals.somebody_is_there:
            never_asked = changes.say_unkept() if changes.unkept else kind
            told = self._say_repository_left_out(changes) if changes.moved else never_asked
            return replace(outcome, refused=True, problem=told) if told is not None else outcome
        lasting = ".git" in changes.needs_names
        said = ([self._say_repository_left_out(changes)] if lasting else []) + list(left_out.values())
        if not said:
            return outcome
        refused = outcome.refused or lasting or kind is not None
        problem = reduce(lambda first, then: Sentence("{first} {then}", first=first, then=then), said)
        return replace(outcome, refused=refused, problem=problem, lasting=lasting)

    async def _read(self, *allowed: str) -> CommandChanges:
        return await in_thread(read_command_changes, self.result, self.workspace.allowing(*allowed))

    async def _settle(self, changes: CommandChanges, named: tuple[str, ...]) -> Outcome:
        if changes.is_minor or (changes.is_ignored and self.approvals.by_rule == "no"):
            dropped = [IGNORED_DROPPED] if changes.is_ignored else []
            return Outcome.ok(self.report([], [*map(str, changes.remarks()), *dropped]))
        decision = await self.decide(changes, named)
        meant = changes.meant(decision.paths)
        decision = await self.approvals.heed_hooks(decision, self.call, self.call.use.orig_name, meant)
        chosen = changes.known(decision.paths) if decision.paths else None
        if not decision.allowed or chosen == [] or decision.hunks:  # this question has no hunks
            reason = f"The user refused: {decision.reason}" if decision.reason else NOT_APPLIED
            report = self.report([], map(str, changes.remarks())) | {"error": reason}
            return Outcome((Json(report),), ToolResultStatus.Error, decision=decision.word(), refused=True, code=403)

        def apply() -> Outcome:
            done = self.workspace.apply_changes(
                changes.path_changes(chosen),
                [] if chosen is not None else changes.ignored_changes(),
                [] if chosen is not None else changes.repository_changes(),
            )
            return self._applied(changes, done, decision)

        return await to_the_end(apply)

    async def decide(self, changes: CommandChanges, named: Sequence[str] = ()) -> Decision:
        """Ask about the set; `named` are paths and repositories that were asked about by name before."""
        inside = tuple(f"{each}/" for each in named if each.rpartition("/")[2] == ".git")
        meant = changes.meant(())
        unnamed = [each for each in meant if each.path not in named and not each.path.startswith(inside)]
        if not unnamed:
            return Decision(True)
        lasting = IGNORED if changes.is_ignored else ALL_WRITES
        permissions = self.approvals.permissions
        if permissions.has(lasting) or permissions.reach(unnamed):
            return Decision(True, "session")
        question = self._question(changes.proposed, changes.remarks())
        return await self.approvals.ask(replace(question, ignored=changes.is_ignored), self.call, lasting)

    def _question(self, changes: tuple[ProposedChange, ...], remarks: tuple[Sentence, ...]) -> Approval:
        return Approval(new_trace_id(), "command", self.call.use.name, changes, self.line, remarks)

    def _applied(self, changes: CommandChanges, done: AppliedSet, decision: Decision) -> Outcome:
        applied = report_applied(changes.proposed, done.applied)
        remarks = [*map(str, changes.remarks()), *(str(error) for _, error in done.left_out)]
        if decision.paths:
            dropped = [each.path for each in changes.proposed if each.path not in decision.paths]
            remarks.append(decision.left_out(f"The user left out: {', '.join(dropped)}."))
        report = self.report([each.path for each in applied], remarks)
        return Outcome.ok(report, changes=tuple(applied), decision=decision.word())

    async def _ask_by_name(self, changes: CommandChanges) -> tuple[str, ...]:
        """Ask about each path of `changes` that has to be allowed by name, one at a time; return those that were
        allowed."""
        wanted = [path for path in changes.needs_names if path != ".git"]
        possible = await self._read(*wanted)
        allowed: list[str] = []
        for change in possible.proposed:
            if change.path in wanted and await self._allows_once((change,), Sentence(BY_NAME, path=change.path)):
                allowed.append(change.path)
        if ".git" in changes.needs_names:
            allowed += await self._ask_for_repository(changes)
        return tuple(allowed)

    async def _allows_once(self, changes: tuple[ProposedChange, ...], *remarks: Sentence) -> bool:
        return (await self.approvals.ask(self._question(changes, remarks), self.call, None)).allowed

    async def _ask_for_repository(self, changes: CommandChanges) -> list[str]:
        """Ask about all changes under `.git` at once: half a commit is a broken repository."""
        files = [change.path for change in self.result.changes.git_files]
        names = sorted({_repository_of(path) for path in files})
        run_by_git = [path for path in files if not self.workspace.allowing(*names).may_change_repository(path)]
        names += run_by_git
        possible = await self._read(*names)
        if not possible.repository:
            return names if possible.moved else []  # the others are refused even by name
        remarks = [Sentence(REPOSITORY, what=join_described(changes.git))]
        if run_by_git:
            remarks.append(Sentence(RUN_BY_GIT, paths=", ".join(run_by_git)))
        return names if await self._allows_once((), *remarks) else []

    def _say_repository_left_out(self, changes: CommandChanges) -> Sentence:
        """Return the sentence for a person on changes under `.git` that were left out, with the names that would allow
        them."""
        if changes.unkept:
            return changes.say_unkept()
        what, files = join_described(changes.git), self.workspace
        git_files = [change.path for change in self.result.changes.git_files]
        missing = [path for path in git_files if not files.may_change_repository(path)]
        by_folder = {path for path in missing if files.allowing(_repository_of(path)).may_change_repository(path)}
        names = sorted({_repository_of(path) for path in by_folder})
        names += [path for path in missing if path not in by_folder]
        if not names:
            return Sentence(LEFT_OUT_AS_CHANGED, what=what)
        options = " ".join(f"--allow {show_name(name)}" for name in names[:_MOST_NAMED])
        return Sentence(LEFT_OUT, what=what, options=options)


def _repository_of(path: str) -> str:
    """Return the `.git` folder of a path."""
    before, _, _ = f"{path}/".partition(".git/")
    return f"{before}.git"
