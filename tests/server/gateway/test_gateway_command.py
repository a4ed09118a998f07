"""`evercontext gateway` as a user starts it."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from gateway_rig import gateway_command, start_command

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n", encoding="utf-8")
    (folder / "b.rs").write_text("fn main() {}\n", encoding="utf-8")
    return folder


def ended(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> tuple[int, str, str]:
    process = start_command(*arguments, env=env, cwd=cwd)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def wait_until_refused(port: int) -> None:
    """The server has heard that it is to end: it takes no new connections."""
    with pytest.raises(ConnectionRefusedError):
        while True:
            socket.create_connection(("127.0.0.1", port)).close()
            time.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)])
def test_ends_gracefully_when_asked(root: Path, number: signal.Signals, code: int) -> None:
    with gateway_command(root) as gateway:
        assert gateway.process is not None
        slow = socket.create_connection(("127.0.0.1", gateway.port))
        body = json.dumps({"path": "late.txt", "content": "late\n", "mode": "create"}).encode()
        head = f"POST /write_file HTTP/1.1\r\nhost: 127.0.0.1:{gateway.port}\r\ncontent-type: application/json\r\n"
        slow.sendall(f"{head}content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n".encode())
        assert slow.recv(4096).startswith(b"HTTP/1.1 100"), "it waits for the rest of the request"
        slow.sendall(body[:5])
        gateway.process.send_signal(number)
        wait_until_refused(gateway.port)
        slow.sendall(body[5:])
        assert slow.recv(4096).startswith(b"HTTP/1.1 200"), "a request under way is finished"
        slow.close()
        assert gateway.process.wait(60) == code
        _, errors = gateway.process.communicate()
        assert errors == ""
    assert (root / "late.txt").read_text(encoding="utf-8") == "late\n"


def test_settings_come_from_the_environment(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "audit.jsonl"
    env = {"EC_ALLOW_EXT": "rs;.toml", "EC_MAX_BYTES": "20", "EC_AUDIT_LOG": str(log), "EC_TOKEN": "s3cret"}
    with gateway_command(root, env=env) as gateway:
        assert gateway.post("read_file", {"path": "b.rs"}).json == {"content": "fn main() {}\n"}
        assert gateway.post("read_file", {"path": "a.txt"}).code == "extension_not_allowed"
        assert gateway.post("write_file", {"path": "c.rs", "content": "x" * 21, "mode": "create"}).status == 413
        assert gateway.post("read_file", {"path": "b.rs"}, {"authorization": "Bearer wrong"}).status == 401
        assert gateway.ask("GET", "/docs").status == 401
        assert gateway.ask("GET", "/healthz").status == 200
        assert [line["status"] for line in gateway.audited()] == [200, 400, 413, 401, 401, 200]
    assert not (root / ".nebula" / "audit.jsonl").exists()
    assert "s3cret" not in log.read_text(encoding="utf-8")


def test_root_by_option_then_environment_then_here(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.txt").write_text("other\n", encoding="utf-8")
    with gateway_command(root, env={"EC_APP_ROOT": str(other)}) as gateway:
        assert gateway.post("read_file", {"path": "a.txt"}).status == 200
    for env, cwd in (({"EC_APP_ROOT": str(other)}, root), ({}, other)):
        process = start_command("gateway", "--port", "0", env=env, cwd=cwd)
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            body = b'{"path":"o.txt"}'
            head = f"POST /read_file HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n"
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        process.kill()
        process.communicate()


def test_mistakes_are_one_line(root: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        table = [
            (["gateway", "--root", str(tmp_path / "none")], 64, "no such directory"),
            (["gateway", "--root", str(root), "--host", "0.0.0.0"], 64, "EC_TOKEN"),
            (["gateway", "--root", str(root), "--host", "::"], 64, "EC_TOKEN"),
            (["gateway", "--root", str(root), "--port", "70000"], 64, "65535"),
            (["gateway", "--root", str(root), "--port", "x"], 64, "65535"),
            (["gateway", "--root", str(root), "--port", port], 1, "in use"),
            (["gateway", "--nonsense"], 64, "--help"),
            (["gatewya"], 64, "did you mean 'gateway'"),
            ([], 64, "gateway"),
        ]
        for arguments, code, words in table:
            found, output, errors = ended(*arguments, cwd=root)
            assert (found, output) == (code, ""), arguments
            assert words in errors and len(errors.splitlines()) == 1, errors
    found, _, errors = ended("gateway", "--root", str(root), env={"EC_MAX_BYTES": "many"})
    assert found == 64 and "EC_MAX_BYTES" in errors and len(errors.splitlines()) == 1


def test_help_and_version() -> None:
    for arguments in (["--help"], ["gateway", "--help"], ["--version"]):
        code, output, errors = ended(*arguments)
        assert (code, errors) == (0, "") and output


def test_listening_everywhere_with_a_token(root: Path) -> None:
    env = {"EC_TOKEN": "s3cret"}
    with gateway_command(root, "--host", "0.0.0.0", "--allow-host", "files.lan", env=env) as gateway:
        ask = {"path": "a.txt"}
        assert gateway.post("read_file", ask).status == 200
        assert gateway.post("read_file", ask, {"host": f"192.168.1.2:{gateway.port}"}).status == 200
        assert gateway.post("read_file", ask, {"host": f"files.lan:{gateway.port}"}).status == 200
        assert gateway.post("read_file", ask, {"host": f"evil.example:{gateway.port}"}).status == 403
        assert gateway.post("read_file", ask, {"authorization": ""}).status == 401


def test_a_reader_of_the_first_line_can_connect_at_once(root: Path) -> None:
    with gateway_command(root) as gateway:
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda: answers.append(gateway.ask("GET", "/healthz").status)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [200] * 8


def test_the_token_option_is_not_printed(root: Path) -> None:
    with gateway_command(root, "--token", "hunter2-token") as gateway:
        assert gateway.ask("POST", "/read_file", b"{}").status == 401
        assert gateway.process is not None
        gateway.process.send_signal(signal.SIGTERM)
        output, errors = gateway.process.communicate(timeout=60)
        assert "hunter2" not in output + errors
