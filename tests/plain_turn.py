"""One turn of the loop alone: a prompt, the model's rounds, the end; no session, no project."""

from __future__ import annotations

from nebula.agent.loop import Turn, errors_as_events, final_of, run_rounds
from nebula.events import Final, Task
from nebula.messages import UserMessage


async def run_turn(turn: Turn, prompt: str = "go") -> Final:
    with errors_as_events(turn.stream) as work:
        turn.tell(Task(prompt, "agent", turn.model_name))
        turn.say(UserMessage.new_prompt(prompt))
        await run_rounds(turn)
    final = turn.result.final(work.ending, turn.node_id)
    return final_of(turn.stream.emit(final, must_record=False))
