"""The child process: llama.cpp's server for one model file, alive only as long as whoever started it.

Its first line of standard input is what to serve, as JSON; standard input then stays open for as long as the parent
lives. It answers with one line on standard output, the address, once the model is loaded. It imports nothing of the
program, whose start it must not wait for.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import threading
from typing import Any


def main() -> None:
    wanted = json.loads(_first_line(0))
    die_with(0)
    server = serve(wanted)
    print(json.dumps({"address": server.listening_address}), flush=True)
    threading.Event().wait()


def _first_line(handle: int) -> bytes:
    """Read the first line byte by byte: what follows it stays in the pipe, and its end must be noticed."""
    line = b""
    while (byte := os.read(handle, 1)) not in (b"", b"\n"):
        line += byte
    return line


def die_with(handle: int) -> None:
    """End this process the moment the other end of the pipe is closed, however that happens.

    Loading a model blocks every thread of the interpreter, so the kernel has to do it: a pipe that hangs up sends the
    signal that cannot be held off. The thread is for systems without that.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(handle, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(handle, fcntl.F_SETFL, fcntl.fcntl(handle, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([handle], [], [], 0)[0]:
        os._exit(0)  # it hung up before the signal was asked for
    threading.Thread(target=_wait_for_end, args=(handle,), daemon=True).start()


def _wait_for_end(handle: int) -> None:
    while os.read(handle, 4096):
        pass
    os._exit(0)


def serve(wanted: dict[str, Any]) -> Any:
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.model_alias = {wanted["name"]}
    params.api_keys = [wanted["key"]]
    params.port = 0
    params.n_ctx = wanted["context"]
    params.n_parallel = 1
    params.cache_ram_mib = wanted["cache_mb"]
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = wanted["threads"]
        threads.poll = 0  # threads that wait busily fight the rest of the machine, and lose
    params.fit_params = _has_accelerator(xllamacpp)  # on the processor alone there is nothing to divide up
    params.warmup = False
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def _has_accelerator(xllamacpp: Any) -> bool:
    return any("CPU" not in str(device.get("type", "CPU")) for device in xllamacpp.get_device_info())


if __name__ == "__main__":
    main()
