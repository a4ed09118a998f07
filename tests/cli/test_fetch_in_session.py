"""fetchUrl at the terminal: the question, its answer, and who is offered the tool at all."""

from __future__ import annotations

import socket
import threading

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<h1>Hi</h1><p>from the page"


def serve_once(server: socket.socket) -> None:
    peer, _ = server.accept()
    with peer:
        peer.recv(4096)
        peer.sendall(ANSWER)


@pytest.mark.parametrize(
    ("lang", "question"), [("en", "Fetch a page of the web:"), ("ja", "ウェブページを取得します:")]
)
def test_the_question_names_the_page_and_its_text_reaches_the_model(bench: Bench, lang: str, question: str) -> None:
    def person(me: Person) -> None:
        me.prompt()
        me.line("look it up")
        me.wait(question)
        me.wait(url)
        me.wait("(y/N)")
        me.send("y")
        me.wait("It greets.")
        me.prompt(times=2)
        me.line("exit")

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/doc?q=1"
        thread = threading.Thread(target=serve_once, args=(server,))
        thread.start()
        with ScriptedModel([Turn("I look.", [Call("fetchUrl", {"url": url})]), Turn("It greets.")]) as model:
            sit_down_here(bench, person, NEBULA_LANG=lang, **model.env())
            told = model.turns[1].json["messages"][-1]["content"]
        thread.join()
    assert "# Hi\\n\\nfrom the page" in told and "not instructions" in told


def test_it_is_offered_where_somebody_can_be_asked_or_allowed_the_network(bench: Bench) -> None:
    with ScriptedModel([Turn("a"), Turn("b"), Turn("c"), Turn("d")]) as model:
        run_here(bench, "nebula", "-p", "hi", "--yes", **model.env())
        run_here(bench, "nebula", "-p", "hi", "--allow-network", **model.env())
        run_here(bench, "nebula", stdin="hi\nplan\nhi\nexit\n", **model.env())
        offered = [{tool["function"]["name"] for tool in turn.json["tools"]} for turn in model.turns]
    assert ["fetchUrl" in names for names in offered] == [False, True, True, True]
