"""A Ray that is installed and cannot be used: one sentence, whatever it raises."""

from __future__ import annotations

import sys

import pytest

from nebula.agent.batch.places import TaskPlaces
from nebula.agent.batch.ray_engine import RayEngine, RayMissing
from nebula.agent.batch.results import Results


@pytest.mark.parametrize("problem", ["Exception", "RuntimeError", "ConnectionError", "OSError"])
def test_a_cluster_that_cannot_start_is_one_line(tmp_path, monkeypatch, problem):
    said = "The current node timed out during startup."
    (tmp_path / "ray.py").write_text(f"def init(**_):\n    raise {problem}({said!r} + chr(10) + 'and more')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    results = Results(str(tmp_path / "out"))
    with pytest.raises(RayMissing) as raised:
        RayEngine(results, TaskPlaces([], results.folder, print), {}, "ray")
    assert str(raised.value) == f"The cluster ray cannot be reached: {said}"
    sys.modules.pop("ray", None)
