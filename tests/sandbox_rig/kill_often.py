"""A program: starts another that runs commands in layers, kills it at a random moment, waits until all that it had started
has ended, and does it again. Says how many rounds it did; it hangs where something outlives the kill. With a home as its
last argument the layers lie on disk; the last round is not killed, and sweeps up after the others."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time

BECOME_REAPER = 36
VICTIM = """
import sys
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command
from nebula.sandbox.launcher import Launchers
project, disk = sys.argv[1:]
launchers = Launchers()
print("begun", flush=True)
while True:
    for line in ("sleep 0.05", "(setsid sleep 1000 &) ; touch f{1..300}; rm -r src", "seq 100000 > big; sleep 1000"):
        with run(Command(project, line, disk=disk or None), launchers=launchers) as done:
            done.changes
"""
AFTERWARDS = """
import sys
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command
run(Command(sys.argv[1], "true", disk=sys.argv[2])).close()
"""


def main(project: str, rounds: int, longest: float, disk: str) -> None:
    ctypes.CDLL(None).prctl(BECOME_REAPER, 1, 0, 0, 0)
    random.seed(7)
    for _ in range(rounds):
        victim = subprocess.Popen([sys.executable, "-c", VICTIM, project, disk], stdout=subprocess.PIPE)
        victim.stdout.readline()
        time.sleep(random.random() * longest)
        os.kill(victim.pid, signal.SIGKILL)
        victim.stdout.close()
        victim.wait()
        wait_for_all_others()
    if disk:
        subprocess.run([sys.executable, "-c", AFTERWARDS, project, disk], check=True)
    print(rounds)


def wait_for_all_others() -> None:
    """What a dead process leaves behind becomes our child; a launcher ends when its namespace is empty."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
