"""What the records of projects come to: how often tasks succeed, how long they take, what they cost."""
