"""The files of the turn that `nebula -p --from NODE --with-files` goes on from."""

from __future__ import annotations

from nebula.agent.judging import judge_of
from nebula.agent.recording.node_files import described
from nebula.agent.session import Session
from nebula.agent.undo import carry_out, restore_plan
from nebula.cli.printing import print_remark
from nebula.language import translate


def take_files(session: Session) -> None:
    """Put the files back as they were at this node; what changes is shown before it does, and /undo takes it back.

    Raises UndoRefused, and nothing was touched then.
    """
    files = session.project.workspace
    leaf = session.conversation.leaf
    node = session.archive.find(leaf) if leaf else None
    if node is None:
        return
    plan = restore_plan(files, node)
    found = described(files, plan)
    diffs = "".join(each.diff.text for each in found.files).rstrip("\n")
    if diffs:
        print_remark(f"nebula: {translate('What changes:')}\n{diffs}")
    if found.deleted:
        deleted = translate(", ").join(found.deleted)
        print_remark(f"nebula: {translate('Deleted by hand, and brought back: {files}', files=deleted)}")
    if plan.passed_over:
        left = translate(", ").join(plan.passed_over)
        print_remark(f"nebula: {translate('Changed by hand since, and left as they are: {files}', files=left)}")
    if touched := carry_out(files, plan, judge=judge_of(session.settings)):
        session.turn_ids.add(plan.group)
        print_remark(f"nebula: {translate('Put back: {files}', files=translate(', ').join(touched))}")
