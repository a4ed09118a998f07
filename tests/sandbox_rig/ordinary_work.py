"""A program: what test suites do all day. Prints what worked."""

import asyncio
import ctypes
import multiprocessing
import os
import sqlite3
import subprocess
import tempfile
from multiprocessing import shared_memory


async def child() -> bytes:
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=subprocess.PIPE)
    return (await process.communicate())[0]


def debug_a_child() -> bool:
    """Debuggers and leak checkers attach to their own processes."""
    sleeper = subprocess.Popen(["sleep", "100"])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    attached = libc.ptrace(16, sleeper.pid, 0, 0) == 0
    sleeper.kill()
    sleeper.wait()
    return attached


with multiprocessing.get_context("fork").Pool(3) as pool:
    print("pool", sum(pool.map(abs, range(-10, 10))))
with multiprocessing.Lock():
    print("semaphore")
memory = shared_memory.SharedMemory(create=True, size=100)
memory.close()
memory.unlink()
print("shared memory")
with sqlite3.connect("x.db") as database:
    print("sqlite", database.execute("pragma journal_mode=wal").fetchone()[0])
    database.execute("create table t (a)")
database.close()
os.unlink("x.db")
print("asyncio", asyncio.run(child()).decode().strip())
with tempfile.TemporaryDirectory() as folder:
    print("temporary folder", folder.startswith("/tmp/"))
print("debug", debug_a_child())
before = os.nice(0)
print("nicer by", os.nice(5) - before)
subprocess.run(["git", "init", "-q", "."], check=True)
print("git", subprocess.run(["git", "status", "--short"], capture_output=True, check=True).stdout)
