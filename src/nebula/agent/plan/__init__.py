"""Plan a task and carry the plan out step by step."""
