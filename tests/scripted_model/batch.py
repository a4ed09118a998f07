"""A model for batches: it plans one step for whatever it is asked, and writes the file that the task names.

A task says `write NAME`, `refuse NAME` (a path that the policy refuses) or `fail`; any number of them may be asked at
the same time, in any order.
"""

from __future__ import annotations

import json
import re

from scripted_model import Call, Fault, RecordedRequest, Turn


def batch_model(request: RecordedRequest) -> Turn | Fault:
    body = request.json
    said = json.dumps(body, ensure_ascii=False)
    if "fail" in body["messages"][-1].get("content", ""):
        return Fault.status_code(400, body='{"error": {"message": "no"}}')
    if not body.get("tools"):
        task = next(each["content"] for each in body["messages"] if each["role"] == "user")
        step = {"id": "1", "title": task, "goal": task, "files": [], "depends_on": [], "on_error": "stop"}
        return Turn(json.dumps({"tasks": [step]}, ensure_ascii=False))
    if body["messages"][-1]["role"] == "tool":
        return Turn("Done.")
    found = re.search(r"(write|refuse) ([\w./-]+)", body["messages"][-1]["content"])
    assert found, said
    path = found[2] if found[1] == "write" else f"../{found[2]}"
    return Turn("Writing.", [Call("writeFile", {"path": path, "content": f"# {found[2]}\n"})])
