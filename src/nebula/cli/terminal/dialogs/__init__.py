"""Questions to the person: approval of a write, which session, trust."""
