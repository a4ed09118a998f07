"""The tool `delegate`, from outside: a turn of its own, its answer, and what it changed as a proposal."""

from __future__ import annotations

import json

from scripted_model import Call, RecordedRequest, ScriptedModel, Turn


def prompt_of(request: RecordedRequest) -> str:
    return next(str(each["content"]) for each in request.json["messages"] if each["role"] == "user")


def tools_of(request: RecordedRequest) -> set[str]:
    return {each["function"]["name"] for each in request.json.get("tools", ())}


def results(request: RecordedRequest) -> list[dict[str, object]]:
    return [json.loads(each["content"]) for each in request.json["messages"] if each["role"] == "tool"]


def test_delegates_work_side_by_side_with_a_fresh_context(bench):
    bench.write("a.txt", "one\n")
    asked: list[tuple[str, int]] = []
    told: list[dict[str, object]] = []
    offered: list[set[str]] = []

    def answer(request: RecordedRequest) -> Turn:
        prompt = prompt_of(request)
        if "THE WHOLE" in prompt:
            if not results(request):
                calls = [Call("delegate", {"task": f"PART {number}"}) for number in (1, 2)]
                return Turn("", calls, input_tokens=10, output_tokens=1)
            told.extend(results(request))
            return Turn("All done.", input_tokens=10, output_tokens=1)
        assert "THE WHOLE" not in json.dumps(request.json)
        offered.append(tools_of(request))
        part = "1" if "PART 1" in prompt else "2"
        asked.append((part, len(results(request))))
        if not results(request):
            return Turn("", [Call("runCommand", {"command": "sleep 2"})], input_tokens=100, output_tokens=5)
        return Turn(f"found {part}", input_tokens=100, output_tokens=5)

    with ScriptedModel(answer) as server:
        ran = bench.run("nebula", "-p", "THE WHOLE", "--output-format", "stream-json", **server.env())
    assert ran.code == 0, ran.err
    assert [each["answer"] for each in told] == ["found 1", "found 2"]
    assert all(each["changed"] == [] and each["node_id"] for each in told)
    assert ran.events[-1]["usage"]["input_tokens"] == 420
    assert {first for first, _ in asked[:2]} == {"1", "2"}
    for names in offered:
        assert "delegate" not in names and not names & {"writeFile", "editFile"}
    finals = {event["trace_id"]: event for event in bench.trace() if event["type"] == "final"}
    assert {each["node_id"] for each in told} <= finals.keys()


def test_what_a_delegate_changed_is_proposed(bench):
    bench.write("a.txt", "one\n")

    def answer(request: RecordedRequest) -> Turn:
        if "THE WHOLE" in prompt_of(request):
            if not results(request):
                return Turn("", [Call("delegate", {"task": "write it", "read_only": False})])
            return Turn(json.dumps(results(request)[0]))
        if not results(request):
            return Turn("", [Call("writeFile", {"path": "b.txt", "content": "two\n"})])
        return Turn("written")

    with ScriptedModel(answer) as server:
        refused = bench.run("nebula", "-p", "THE WHOLE", "--output-format", "json", **server.env())
        assert not (bench.project / "b.txt").exists()
        allowed = bench.run("nebula", "-p", "THE WHOLE", "--yes", "--output-format", "json", **server.env())
    assert refused.code == 2, refused.err
    assert allowed.code == 0, allowed.err
    assert bench.read("b.txt") == "two\n"
    assert [each["path"] for each in allowed.json["files_changed"]] == ["b.txt"]
    assert json.loads(allowed.json["text"])["changed"] == ["b.txt"]


def test_what_cannot_be_delegated_is_said(bench):
    bad = [{"task": ""}, {"task": "x", "read_only": "yes"}, {"task": "x", "model": "no-such-model"}]

    def answer(request: RecordedRequest) -> Turn:
        if not results(request):
            return Turn("", [Call("delegate", each) for each in bad])
        return Turn(json.dumps(results(request)))

    with ScriptedModel(answer) as server:
        ran = bench.run("nebula", "-p", "THE WHOLE", **server.env())
        assert len(server.turns) == 2
    assert all("error" in each for each in json.loads(ran.out))


def test_in_plan_mode_a_delegate_only_reads(bench):
    def answer(request: RecordedRequest) -> Turn:
        if not results(request):
            return Turn("", [Call("delegate", {"task": "x", "read_only": False})])
        return Turn(json.dumps(results(request)))

    with ScriptedModel(answer) as server:
        ran = bench.run("nebula", "-p", "THE WHOLE", "--mode", "plan", **server.env())
        assert len(server.turns) == 2
    assert "plan mode" in ran.out


def test_what_the_asking_turn_has_read_of_a_secret_file_is_in_no_record_of_a_delegate(bench):
    bench.write(".env", "TOKEN=Zq7vJw31PlainValue\n")
    script = [
        Turn("", [Call("readFile", {"path": ".env"})]),
        Turn("", [Call("delegate", {"task": "Use Zq7vJw31PlainValue."})]),
        Turn("I used Zq7vJw31PlainValue."),
        Turn("Done."),
    ]
    with ScriptedModel(script) as server:
        ran = bench.run("nebula", "-p", "go", "--yes", "--allow", ".env", "--output-format", "json", **server.env())
    assert (ran.code, ran.json["text"]) == (0, "Done."), ran.err
    assert "Zq7vJw31PlainValue" in prompt_of(server.turns[2]), "the delegate is told what its task says"
    files = [each for place in (bench.project / ".nebula", bench.home) for each in place.rglob("*") if each.is_file()]
    assert [str(each) for each in files if b"Zq7vJw31PlainValue" in each.read_bytes()] == []
