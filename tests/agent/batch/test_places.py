"""Paths of a task's project in its repository, and archives of projects."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile

from nebula.agent.batch.packing import pack_project, unpack
from nebula.agent.batch.places import prefix_of


def test_paths_of_a_patch_are_those_of_the_repository(tmp_path):
    repository = tmp_path / "repository"
    (repository / "app").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    assert [prefix_of(str(each)) for each in (repository, repository / "app", tmp_path)] == ["", "app/", ""]


def test_what_git_ignores_does_not_travel(tmp_path):
    project, there = tmp_path / "project", tmp_path / "there"
    (project / "big").mkdir(parents=True)
    (project / "big/file").write_text("x")
    (project / ".nebula").mkdir()
    (project / ".nebula/trace.jsonl").write_text("{}")
    (project / ".gitignore").write_text("big/\n")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    os.symlink("run.sh", project / "link")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    unpack(pack_project(str(project)), str(there))
    assert sorted(os.listdir(there)) == [".gitignore", "link", "run.sh"]
    assert os.access(there / "run.sh", os.X_OK) and os.readlink(there / "link") == "run.sh"


def test_what_leads_out_of_an_archive_is_left_out(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, kind, target in (
            ("good", tarfile.REGTYPE, ""),
            ("../evil", tarfile.REGTYPE, ""),
            ("out", tarfile.SYMTYPE, "/etc"),
            ("pipe", tarfile.FIFOTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    unpack(buffer.getvalue(), str(tmp_path / "there"))
    assert sorted(os.listdir(tmp_path)) == ["there"] and os.listdir(tmp_path / "there") == ["good"]
