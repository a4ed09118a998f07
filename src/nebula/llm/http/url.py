"""Web addresses, as far as a model client needs them (the standard parser costs several ms of start-up)."""

from __future__ import annotations

from nebula.config.addresses import split_authority, without_credentials
from nebula.llm.errors import NotFoundError
from nebula.value import value

DEFAULT_PORTS = {"http": 80, "https": 443}
LOOPBACK_NAMES = frozenset({"localhost", "::1", "0:0:0:0:0:0:0:1"})


@value
class Url:
    scheme: str
    host: str
    port: int
    target: str
    """Path and query, always beginning with a slash."""
    userinfo: str = ""

    @property
    def authority(self) -> str:
        """Host (in brackets where it is IPv6) and, unless it is the scheme's own, the port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if DEFAULT_PORTS.get(self.scheme) == self.port else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """Return the address for people: without credentials and query."""
        return f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK_NAMES or self.host.startswith("127.") or self.host.endswith(".localhost")


def parse_url(text: str) -> Url:
    scheme, separator, rest = text.strip().partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in DEFAULT_PORTS:
        raise NotFoundError(
            "'{address}' is not a web address: it must begin with http:// or https://.",
            address=without_credentials(text),
        )
    authority, path = split_authority(rest)
    userinfo, _, hostport = authority.rpartition("@")
    host, port = _split_port(hostport, DEFAULT_PORTS[scheme], text)
    target = (path if path.startswith("/") else "/" + path).partition("#")[0]
    if not target.isascii() or " " in target:
        target = percent_encode(target, keep="/?#[]@!$&'()*+,;=:%~")
    return Url(scheme, host, port, target, userinfo)


def percent_encode(text: str, keep: str = "/") -> str:
    """Return `text` encoded as part of a path; letters, digits, `-._` and `keep` stay."""
    plain = keep + "-._"
    return "".join(c if c.isascii() and (c.isalnum() or c in plain) else _escaped(c) for c in text)


def percent_decode(text: str) -> str:
    head, *parts = text.split("%")
    out = bytearray(head.encode())
    for part in parts:
        try:
            out.append(int(part[:2], 16))
            out += part[2:].encode()
        except ValueError:
            out += b"%" + part.encode()
    return out.decode("utf-8", "replace")


def _split_port(hostport: str, default: int, text: str) -> tuple[str, int]:
    if hostport.startswith("["):
        host, _, port = hostport[1:].partition("]")
        port = port.removeprefix(":")
    elif hostport.count(":") > 1:  # an IPv6 address without its brackets
        host, port = hostport, ""
    else:
        host, _, port = hostport.partition(":")
    if not host or (port and not (port.isdecimal() and port.isascii() and int(port) < 65536)):
        raise NotFoundError(
            "'{address}' is not a web address: host or port is wrong.", address=without_credentials(text)
        )
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    return host.lower(), int(port) if port else default


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())
