import json

from web import routes


def app(environ, start_response):
    """A WSGI application."""
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    headers = [("Content-Type", "application/json")]
    if path == "/items":
        status, body = routes.list_items()
    elif path.startswith("/items/"):
        status, body = routes.get_item(path.removeprefix("/items/"))
    else:
        status, body = 404, {"error": "not found"}
    if status == 200 and method != "GET":
        status, body = 405, {"error": "method not allowed"}
        headers.append(("Allow", "GET"))
    phrases = {200: "OK", 404: "Not Found", 405: "Method Not Allowed"}
    start_response(f"{status} {phrases[status]}", headers)
    return [json.dumps(body).encode()]
