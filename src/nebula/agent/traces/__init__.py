"""One task out of the trace: found by its id, shown in order, and its model's replies played once more."""
