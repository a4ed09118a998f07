"""How a model's context is shared out."""

from __future__ import annotations

from nebula.agent.context.context_budget import SHARE_FOR_PAST, SHARE_OF_ANSWER, ContextBudget
from rows import each_row


@each_row(
    ("fixed", "past", "expected"),
    [
        (0, 0, 4_800),  # its share
        (1_000, 2_000, 4_800),
        (5_000, 3_000, 3_000),  # what all before it leaves, the answer's part kept
        (11_500, 0, 0),
        (0, 12_000, 0),
    ],
)
def test_a_turn_gets_what_system_prompt_tools_and_past_leave(fixed: int, past: int, expected: int) -> None:
    assert ContextBudget(12_000, fixed).turn(past) == expected
    assert (SHARE_FOR_PAST, SHARE_OF_ANSWER) == (0.6, 12)


def test_the_past_gets_its_share_less_what_is_fixed() -> None:
    assert ContextBudget(10_000, 1_000).past == 5_000
    assert ContextBudget(10_000, 1_000, most_past=300).past == 300
    assert ContextBudget(10_000, 9_000).past == 0


def test_a_predecessor_in_full_may_take_more_than_the_past_but_leaves_room_for_the_turn():
    budget = ContextBudget(12_000, 3_000)
    assert (budget.past, budget.predecessor) == (4_200, 12_000 - 3_000 - 1_000 - 2_400)
    assert budget.turn(budget.predecessor) == 2_400
    assert ContextBudget(12_000, 3_000, most_past=300).predecessor == 300
    assert ContextBudget(12_000, 11_000).predecessor == 0
