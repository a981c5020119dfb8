"""Reports: rows under typed columns with subtotals, totals and notes, made once and written in many forms.

`catalog` says which there are and makes them; `queries` is what reads the database for them, the views of the schema `report` and
nothing else; `model` is what a report is; `writers` has the forms. Nothing here knows a rule: what a bet was worth before it was
decided comes in as a `theory.Theory` from the caller.
"""
