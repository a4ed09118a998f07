"""Process start → first request at the model, beside a bare interpreter that imports an HTTP client.

start.py [--runs 15] [--peers DIR] [--beside BIN]

DIR/codex/node_modules/.bin/codex is measured too where it is installed. `--beside` names the `bin` folder of another
install of nebula, which takes turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import BIN, Place, bar, median, place, table, timed
from scripted_model import ScriptedModel, Turn

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
HELLO = ["-p", "Say hello."]
REFERENCE = [sys.executable, "-c", "import asyncio, ssl, httpx2"]


def first_request(argv: list[str], here: Place, env: dict[str, str]) -> tuple[float, float]:
    """Seconds to the first request, and peak memory in MiB, of one run."""
    with ScriptedModel([Turn("Hello.")]) as server:
        filled = {key: value.replace("@URL@", server.url) for key, value in env.items()}
        run = timed([word.replace("@URL@", server.url) for word in argv], here.project, here.env(filled))
        if not server.turns:
            raise SystemExit(f"{argv[0]} sent no request (exit code {run.code})")
        return server.turns[0].arrived - run.started, run.peak_mib


def first_knock(argv: list[str], here: Place, env: dict[str, str]) -> float:
    """The same for a program whose API the scripted model does not speak: it is stopped when its request is there."""
    with ScriptedModel() as server:
        words = [word.replace("@URL@", server.url) for word in argv]
        started = time.monotonic()
        process = subprocess.Popen(words, cwd=here.project, env=here.env(env), start_new_session=True, **QUIET)
        try:
            server.wait_until(lambda: any(request.method == "POST" for request in server.requests), 30)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with its children, which a launcher leaves behind
            process.wait()
        return next(request.arrived for request in server.requests if request.method == "POST") - started


def codex(peers: Path, here: Place) -> tuple[list[str], dict[str, str]] | None:
    program = peers / "codex/node_modules/.bin/codex"
    if not program.exists():
        return None
    config = {"model": "gpt-5-codex", "model_provider": "bench"}
    provider = '{name="bench",base_url="@URL@/v1",env_key="BENCH_KEY",wire_api="responses"}'
    argv = [
        str(program),
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--color",
        "never",
    ]
    for key, value in config.items():
        argv += ["-c", f"{key}={json.dumps(value)}"]
    off = ("plugins", "remote_plugin", "plugin_discovery_prefetch", "apps", "daemon_auto_start")
    argv += ["-c", f"model_providers.bench={provider}", "-c", "check_for_update_on_startup=false"]
    for feature in off:
        argv += ["-c", f"features.{feature}=false"]
    return [*argv, "Say hello."], {"CODEX_HOME": str(here.home / ".codex"), "BENCH_KEY": "x"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--peers", type=Path, default=Path("/nowhere"))
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    ours, beside = [str(BIN / "nebula"), *HELLO], [str(options.beside / "nebula"), *HELLO] if options.beside else None
    with place({"README.md": "# Sample\n"}) as here:
        (here.home / ".codex").mkdir()
        nebula_env = {"OPENAI_BASE_URL": "@URL@/v1", "OPENAI_API_KEY": "x"}
        peer = codex(options.peers, here)
        nebula, memory, reference, other, earlier = [], [], [], [], []
        for number in range(options.runs + 1):
            seconds, peak = first_request(ours, here, nebula_env)
            bare = timed(REFERENCE, here.project, here.env()).seconds
            theirs = first_knock(peer[0], here, peer[1]) if peer else 0.0
            before = first_request(beside, here, nebula_env)[0] if beside else 0.0
            if number:  # the first round only warms the caches
                nebula.append(seconds)
                memory.append(peak)
                reference.append(bare)
                other.append(theirs)
                earlier.append(before)
    rows = [
        ["nebula -p: first request", f"{median(nebula) * 1000:.0f}", f"{min(nebula) * 1000:.0f}"],
        ["python -c 'import asyncio, ssl, httpx2'", f"{median(reference) * 1000:.0f}", f"{min(reference) * 1000:.0f}"],
    ]
    if peer:
        rows.append(["codex exec: first request", f"{median(other) * 1000:.0f}", f"{min(other) * 1000:.0f}"])
    if beside:
        rows.append(["beside: first request", f"{median(earlier) * 1000:.0f}", f"{min(earlier) * 1000:.0f}"])
    table(f"Start, {options.runs} runs, interleaved", ["what", "median ms", "best ms"], rows)
    print()
    holds = bar("first request / bare import of an HTTP client", median(nebula) / median(reference), 1.0, "×")
    if peer:
        holds &= bar("first request / codex", median(nebula) / median(other), 0.5, "×")
    if beside:
        holds &= bar("first request beside the other", median(nebula) / median(earlier), 1.1, "×")
    holds &= bar("peak memory of a hello", median(memory), 64, " MiB")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
