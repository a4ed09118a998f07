"""One task from the trace: found by its id, shown in order, or replayed with the recorded replies of its model."""
