"""The audit: what the log should say, worked out from the log alone by a second way, and where it says otherwise.

It knows no aggregate, no use case and no fold of the read side: only events, the regulations that the log itself holds, and the
one rounding of money. See docs/explanation/audit.md.
"""
