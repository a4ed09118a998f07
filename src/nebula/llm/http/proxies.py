"""Which proxy, if any, stands between us and a server: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

from collections.abc import Mapping

from nebula.config.addresses import without_credentials
from nebula.llm.errors import UnavailableError
from nebula.llm.http.url import Url, parse_url, percent_decode


def proxy_for(url: Url, environ: Mapping[str, str]) -> Url | None:
    """Return the proxy to use for `url`. Lower-case names win, as everywhere."""
    name = f"{url.scheme}_proxy"
    value = _either(environ, name) or _either(environ, "all_proxy")
    exceptions = filter(None, map(str.strip, _either(environ, "no_proxy").lower().split(",")))
    if not value or any(_matches(url, entry) for entry in exceptions):
        return None
    if "://" not in value:
        value = "http://" + value
    if not value.lower().startswith(("http://", "https://")):
        raise UnavailableError(
            "The proxy {proxy} (from {variable} or ALL_PROXY) is of a kind that is not supported; use an http:// "
            "proxy, or add the host to NO_PROXY.",
            proxy=without_credentials(value),
            variable=name.upper(),
            retryable=False,
        )
    proxy = parse_url(value)
    # A proxy on another machine cannot reach our own loopback (a local Ollama); one on this machine may be meant.
    if url.is_loopback and not proxy.is_loopback:
        return None
    return proxy


def basic_auth(userinfo: str) -> str:
    """Return the Authorization value for `user:password` as it stands in a URL."""
    from base64 import b64encode

    user, _, password = userinfo.partition(":")
    pair = f"{percent_decode(user)}:{percent_decode(password)}"
    return "Basic " + b64encode(pair.encode()).decode("ascii")


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip() or environ.get(name.upper(), "").strip()


def _matches(url: Url, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(url.host, entry)
    if entry.count(":") == 1 or "]:" in entry:
        entry, _, port = entry.rpartition(":")
        if port != str(url.port):
            return False
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return url.host == entry or url.host.endswith("." + entry)


def _in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
