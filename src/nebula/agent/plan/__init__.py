"""Planning a task and carrying the plan out step by step."""
