"""Each wall by itself, without the others: even root in the machine's own namespaces is held by it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nebula
from nebula.sandbox.inside import seccomp
from nebula.sandbox.inside.limits import has_own_pid_max
from rows import each_row

SOURCE = Path(nebula.__file__).parent
START = f"import sys; sys.path.append({str(SOURCE.parent)!r}); import ctypes, os, socket\n" + (
    "from nebula.sandbox.inside import seccomp, walls\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def error(call, *arguments):\n"
    "    return os.strerror(ctypes.get_errno()) if libc.syscall(call, *arguments) < 0 else 'done'\n"
)


def alone(script: str) -> list[str]:
    done = subprocess.run([sys.executable, "-I", "-c", START + script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_landlock_alone_lets_write_in_the_listed_folders_only(tmp_path: Path) -> None:
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("old\n")
    script = f"""
print(walls.restrict_writes([{str(tmp_path / "inside")!r}]) if not libc.prctl(38, 1, 0, 0, 0) else None)
for name in ("inside", "outside"):
    for action in (lambda p: open(p + "/file").read(), lambda p: open(p + "/file", "w").close(), lambda p: os.mkdir(p + "/d"),
                   lambda p: os.rename(p + "/file", p + "/f2"), lambda p: os.symlink("x", p + "/l")):
        try:
            action({str(tmp_path)!r} + "/" + name)
            print("done")
        except PermissionError:
            print("denied")
"""
    assert alone(script) == ["True", *["done"] * 5, "done", *["denied"] * 4]


@pytest.mark.parametrize(("version", "used"), [(0, False), (1, False), *((each, True) for each in range(2, 8))])
def test_every_version_of_landlock_that_a_kernel_may_have(tmp_path: Path, version: int, used: bool) -> None:
    """A newer kernel knows all older ones; the rules are those of the version."""
    script = f"""
libc.prctl(38, 1, 0, 0, 0)
print(walls.restrict_writes([{str(tmp_path)!r}], {version}))
try:
    os.mkdir("/tmp/landlock-{os.getpid()}-{version}")
    os.rmdir("/tmp/landlock-{os.getpid()}-{version}")
    print("written")
except PermissionError:
    print("denied")
"""
    assert alone(script) == [str(used), "denied" if used else "written"]


def test_the_filter_alone_denies_the_forbidden_calls() -> None:
    """With arguments that would do nothing if it did not."""
    script = """
libc.prctl(38, 1, 0, 0, 0)
seccomp.install()
machine = os.uname().machine
forbidden = {**seccomp._FORBIDDEN_EVERYWHERE, **seccomp._FORBIDDEN[machine]}
print({error(number, *[-1] * 6) for number in forbidden.values()})
judged = seccomp._JUDGED[machine]
print(error(435, bytes(88), 88), error(judged["clone"], 0x10000011, 0, 0, 0, 0), error(judged["ioctl"], 0, 0x5412, b"x"))
first = [name for name in judged if "sched" in name or name == "prlimit64"]
print({error(judged[name], 1, -1, -1, -1) for name in first})
print(sorted({error(judged[name], 0, -1, -1, -1) for name in first}))
for kind, number in ((0, 1), (1, 1), (2, 0), (0, -1)):
    print(error(judged["setpriority"], kind, number, 0))
print(error(judged["ioprio_set"], 1, 1, 0), error(judged["ioprio_set"], 3, 5, 0), error(judged["ioprio_set"], 1, -1, 0))
print([error(judged["socket"], family, 1, 0) for family in (40, 17, 38)])
pair = (ctypes.c_int * 2)()
print([error(judged["socketpair"], family, 1, 0, pair) for family in (40, 30, 1)])
print([error(judged["socket"], family, 1, 0) for family in (1, 2, 10)], error(judged["ioctl"], -1, 0, 0))
print(os.waitstatus_to_exitcode(os.system("exec /bin/true")))
"""
    no = "Operation not permitted"
    assert alone(script) == [
        str({no}),
        f"Function not implemented {no} {no}",
        str({no}),
        str(["Bad address", "Invalid argument"]),
        *[no] * 3,
        "No such process",
        f"{no} {no} No such process",
        str(["Address family not supported by protocol"] * 3),
        str(["Address family not supported by protocol"] * 2 + ["done"]),
        f"{['done'] * 3} Bad file descriptor",
        "0",
    ]


def test_without_capabilities_root_is_nobody() -> None:
    script = f"""
walls.drop_capabilities(({os.geteuid()}, {os.getegid()}))
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")])
print(libc.prctl(39, 0, 0, 0, 0), libc.prctl(3, 0, 0, 0, 0))
"""
    if os.geteuid() == 0:
        assert alone(script) == [str(["0" * 16] * 5), "1 0"]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_lands_in_it(machine: str) -> None:
    code = seccomp.program(machine)
    jumps = {0x15, 0x35, 0x45}
    for at, (operation, yes, no, _) in enumerate(code):
        if operation in jumps:
            assert at + 1 + max(yes, no) < len(code)
    assert len(code) < 4096 and code[-1][0] == 0x06


@each_row(
    ("release", "expected"),
    [
        ("6.14+", True),
        ("6.14.0-rc1", True),
        ("6.14-rc1+", True),
        ("6.14_lts", True),
        ("7", True),
        ("10.0.3-arch1-1", True),
        ("6.13+", False),
        ("6.8.0-rc1", False),
        ("5.15.167.4-microsoft-standard-WSL2", False),
        ("6", False),
        ("next", False),
    ],
)
def test_the_version_of_a_kernel_is_read_however_it_goes_on(release: str, expected: bool) -> None:
    assert has_own_pid_max(release) is expected


def test_the_launcher_imports_next_to_nothing() -> None:
    """Its start is most of what a layer costs; and nothing of ours or of a stranger's may run in it."""
    own = {f"nebula.sandbox.inside.{path.stem}" for path in (SOURCE / "sandbox/inside").glob("*.py")}
    for path in (SOURCE / "sandbox/inside").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nebula"):
                assert node.module == "nebula.sandbox.inside" or node.module in own
    script = (
        f"import sys; sys.path.append({str(SOURCE.parent)!r}); import nebula.sandbox.inside.main; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    assert not {"typing", "enum", "re", "signal", "collections", "subprocess"} & set(loaded.stdout.split())
