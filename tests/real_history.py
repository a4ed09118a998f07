"""A real project on the disk, with journal, graph and git, whose every line says who wrote it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from blamed_project import GIT
from nebula.agent.undo import UndoRefused, carry_out, redo_plan, restore_plan, undo_plan
from nebula.blame.line_record import record_lines
from nebula.blame.project import ProjectBlame
from nebula.files.digest import digest
from nebula.graph.graph import Graph
from nebula.graph.ids import new_id
from nebula.graph.values import FileState, Utterance
from nebula.workspace.contract import PathChange
from nebula.workspace.local import open_workspace
from new_repository import make_repository

YOU, BEFORE = "you", "before"
_MARK = re.compile(r"mark(\d+)")


class RealHistory:
    def __init__(self, root: Path, random: Random) -> None:
        self.root = root
        self.random = random
        self.files = open_workspace(str(root))
        self.graph = Graph(root / ".nebula/graph")
        self.author_of: list[str] = []
        """By the mark that a line carries: the id of a turn, or else whose it is."""
        self.turns: list[str] = []
        self._open: list[str] = []

    def close(self) -> None:
        self.files.close()
        self.graph.close()

    # Files

    def paths(self) -> list[str]:
        return sorted(path.name for path in self.root.glob("*.py"))

    def lines(self, path: str) -> list[str]:
        return (self.root / path).read_text().splitlines()

    def line(self, author: str) -> str:
        self.author_of.append(author)
        number = len(self.author_of) - 1
        return f"    value{number} = compute(mark{number})"

    def by_hand(self, path: str, lines: list[str]) -> None:
        (self.root / path).write_text("".join(f"{line}\n" for line in lines))

    def edited(self, path: str, author: str) -> list[str]:
        """Return the file's lines with some changed, added, taken out or moved."""
        lines = self.lines(path) if (self.root / path).exists() else []
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randint(0, len(lines))
            match self.random.choice(["add", "add", "change", "remove", "move"]):
                case "add":
                    lines[at:at] = [self.line(author) for _ in range(self.random.randint(1, 3))]
                case "change" if at < len(lines):
                    lines[at] = self.line(author)
                case "remove" if len(lines) > 4:
                    del lines[at : at + 2]
                case "move" if lines:
                    lines.insert(self.random.randint(0, len(lines) - 1), lines.pop(min(at, len(lines) - 1)))
        return lines

    def reformatted(self, path: str) -> list[str]:
        """Return the file's lines as a formatter leaves them: blanks and tabs differ."""
        indent = self.random.choice(["\t", "  ", "        "])
        sign = self.random.choice(["=", " = ", "  =  "])
        return [indent + re.sub(r"\s*=\s*", sign, line.strip()) for line in self.lines(path)]

    # Turns

    def new_turn(self) -> str:
        self.end_turns()
        self.turns.append(new_id())
        self._open.append(self.turns[-1])
        return self.turns[-1]

    def end_turns(self) -> None:
        """Let turns that were begun leave their nodes, with the record of the lines that they wrote."""
        for turn in self._open:
            changes = [each for each in self.files.history.changes() if each.group == turn]
            steps = [FileState(each.path, each.before or "", each.after or "") for each in changes]
            states = record_lines(steps, self.files.history.content, lambda _: True).values()
            texts = [Utterance("user", f"turn {turn}"), Utterance("assistant", "done")]
            self.graph.add_turn(node_id=turn, texts=texts, model="gpt-4.1-nano", files=states)
        self._open.clear()

    def write(self, turn: str, path: str, lines: list[str]) -> None:
        self.files.for_turn(turn).write_file(path, "".join(f"{line}\n" for line in lines), "overwrite")

    def run_command(self, turn: str, files: dict[str, list[str] | None]) -> None:
        """Let a turn's command leave these files, as they come back from its layer: a change set."""
        changes = []
        for path, lines in files.items():
            content = None if lines is None else "".join(f"{line}\n" for line in lines).encode()
            name = None if content is None else digest(content)
            changes.append(PathChange(path, None, name, (lambda kept: lambda: kept)(content or b"")))
        assert not self.files.for_turn(turn).apply_changes(changes).left_out

    def take_back(self) -> None:
        self._carry_out(lambda: undo_plan(self.files))

    def do_again(self) -> None:
        self._carry_out(lambda: redo_plan(self.files))

    def restore(self, turn: str) -> None:
        self.end_turns()
        self._carry_out(lambda: restore_plan(self.files, self.graph.get_node(turn)))

    def _carry_out(self, plan: Callable[[], object]) -> None:
        with suppress(UndoRefused):  # there is nothing, or somebody changed the file since: nothing was touched
            carry_out(self.files, plan())  # type: ignore[arg-type]

    # Git

    def git(self, *argv: str, by: str = "me") -> bool:
        env = {**os.environ, **GIT, "GIT_AUTHOR_NAME": by.title(), "GIT_AUTHOR_EMAIL": f"{by}@example.org"}
        return not subprocess.run(["git", *argv], cwd=self.root, env=env, capture_output=True).returncode

    def make_repository(self) -> None:
        make_repository(self.root, "Me")

    def commit(self, message: str = "work", *options: str, by: str = "me") -> None:
        self.git("add", "-A", "--", "*.py")
        self.git("commit", "-qm", message, "--allow-empty", *options, by=by)

    # What should be told

    def expected(self, path: str) -> list[str]:
        return [self.author_of[int(_MARK.search(line)[1])] for line in self.lines(path)]  # type: ignore[index]

    def told(self, path: str) -> list[str]:
        self.end_turns()
        return ask(self.root, path)


def ask(root: Path, path: str) -> list[str]:
    """Return of each line of a file the turn that is told to have written it, or whose it is else."""
    with ProjectBlame(str(root)) as blame:
        runs = blame.runs(path, (root / path).read_bytes())
    return [run.node_id or run.by for run in runs for _ in range(run.start_line, run.end_line + 1)]
