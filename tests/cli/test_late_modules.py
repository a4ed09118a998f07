"""A module that is loaded when it is used is the module itself to everybody who has imported it before."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Bench
from scripted_model import ScriptedModel, Turn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="there Python's own traceback uses inspect for its colours"),
]

BEFORE = """
import sys
from nebula.cli.late_modules import put_off
put_off()
import argparse, asyncio, inspect
late = ("inspect", "traceback", "linecache", "ssl", "subprocess", "locale", "gettext")
assert {type(sys.modules[name]).__name__ for name in late} == {"LateModule"}, "one was loaded"
early = inspect
"""


def look(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BEFORE + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_first_name_loads_the_module() -> None:
    code = """
assert asyncio.iscoroutinefunction(asyncio.sleep) and not asyncio.iscoroutinefunction(print)
import inspect
from inspect import signature
assert sys.modules["inspect"] is inspect is not early and inspect.__spec__ is not None
assert early.signature is signature is inspect.signature and "signature" in vars(early)
print(early.signature(lambda a, b=1: 0))
"""
    assert look(code) == "(a, b=1)"


def test_a_socket_is_none_of_ssl_until_ssl_is_loaded() -> None:
    code = """
import socket, ssl
asyncio.base_events._check_ssl_socket(socket.socket())
assert "_ssl" not in sys.modules and "asyncio.sslproto" in sys.modules
context = asyncio.base_events.ssl.create_default_context()
with context.wrap_socket(socket.socket(), server_hostname="x") as secured:
    try: asyncio.base_events._check_ssl_socket(secured)
    except TypeError as problem: print(problem)
assert asyncio.base_events.sslproto.SSLProtocol is asyncio.sslproto.SSLProtocol
"""
    assert look(code) == "Socket cannot be of type SSLSocket"


def test_where_a_future_was_made_is_told_as_ever() -> None:
    code = """
async def make():
    asyncio.get_running_loop().set_debug(True)
    return asyncio.Future()
print(asyncio.run(make())._source_traceback[-1].name)
"""
    assert look(code) == "make"


def test_programs_are_run_as_ever() -> None:
    code = """
async def run():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0]
import subprocess
assert (asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT, asyncio.subprocess.DEVNULL) == (-1, -2, -3)
print(asyncio.run(run()) == subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE).stdout)
assert (subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL) == (-1, -2, -3)
"""
    assert look(code) == "True"


def test_argparse_speaks_as_ever() -> None:
    code = """
assert argparse._("options") == "options" and argparse.ngettext("one", "many", 2) == "many"
import gettext
print(gettext.gettext is sys.modules["gettext"].gettext, gettext.gettext.__module__)
"""
    assert look(code) == "True gettext"


def test_a_model_behind_https_is_asked(bench: Bench, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with ScriptedModel([Turn("Hello.")], tls=context) as server:
        ran = bench.run("nebula", "-p", "go", SSL_CERT_FILE=str(certificate[0]), **server.env())
    assert (ran.code, ran.out) == (0, "Hello.\n"), ran.err


def test_a_name_that_is_not_there_is_told() -> None:
    assert "has no attribute 'nowhere'" in look("try: early.nowhere\nexcept AttributeError as problem: print(problem)")


def test_threads_that_ask_at_once_get_one_module() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
together = Barrier(8)
def ask(_):
    together.wait()
    return early.signature
with ThreadPoolExecutor(8) as threads:
    print(len({id(each) for each in threads.map(ask, range(8))}))
"""
    assert look(code) == "1"


def test_what_was_loaded_before_stays() -> None:
    code = "import inspect, sys; from nebula.cli.late_modules import put_off; put_off(); print(sys.modules['inspect'] is inspect)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
