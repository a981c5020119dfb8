"""The read side: every projection is a fold over events, and nothing here appends one."""
