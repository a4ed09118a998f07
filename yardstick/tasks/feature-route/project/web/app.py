import json

from web import routes


def app(environ, start_response):
    """A WSGI application."""
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    if path == "/items" and method == "GET":
        status, body = routes.list_items()
    else:
        status, body = 404, {"error": "not found"}
    phrases = {200: "OK", 404: "Not Found"}
    start_response(f"{status} {phrases[status]}", [("Content-Type", "application/json")])
    return [json.dumps(body).encode()]
