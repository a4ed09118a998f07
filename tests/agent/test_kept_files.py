"""Files that nebula keeps for itself, found with brackets without end in them: as good as none, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.agent.batch.results import Results
from nebula.agent.past.kept_state import KeptState, SessionState
from nebula.agent.plan.kept_plans import PLANS, NoSuchPlan, find_plan
from nebula.config import load_settings
from nebula.files.home import derived_folder
from nebula.messages.redaction import Redactor
from nebula.tools.code import code_outline

DEEP = "[" * 100_000
ID = "0" * 8 + "-0000-0000-0000-" + "0" * 12


def test_the_state_of_a_session_is_empty_then(tmp_path: Path) -> None:
    (tmp_path / f"{ID}.json").write_text(DEEP)
    assert KeptState(str(tmp_path), ID, Redactor()).read() == SessionState()


def test_a_plan_cannot_be_resumed_then(tmp_path: Path) -> None:
    (tmp_path / PLANS).mkdir()
    (tmp_path / PLANS / f"{ID}.jsonl").write_text(f"{DEEP}\n")
    with pytest.raises(NoSuchPlan, match="nested too deeply"):
        find_plan(str(tmp_path))


def test_a_task_of_a_batch_is_done_again_then(tmp_path: Path) -> None:
    results = Results(str(tmp_path))
    (tmp_path / "results.jsonl").write_text(f"{DEEP}\n")
    assert results.done([]) == {}


def test_an_outline_is_none_then(tmp_path: Path) -> None:
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path / "home")})
    folder = Path(derived_folder(settings.root, settings.home))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / code_outline.NAME).write_text(DEEP)
    assert code_outline.kept_outline(settings) is None
