"""A scripted model server for tests and benches: three wire formats over real HTTP, no model behind them.

    with ScriptedModel([Turn("Let me look.", [Call("readFile", {"path": "a.txt"})]), Turn("Done.")]) as server:
        subprocess.run(["nebula", "-p", "…"], env=os.environ | server.env())
    assert server.requests[0].json["model"] == "gpt-4.1-nano"

Each model request takes the next turn of the script; a turn may also be a function of the request, or a `Fault`.
"""

from scripted_model.script import Call, Fault, RecordedRequest, Turn, hermes
from scripted_model.server import ScriptedModel, refused_url

__all__ = ["Call", "Fault", "RecordedRequest", "ScriptedModel", "Turn", "hermes", "refused_url"]
