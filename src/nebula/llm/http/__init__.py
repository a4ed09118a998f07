"""One streaming HTTP/1.1 client: connections, proxies, server-sent events, retries, and what a refusal means."""
