"""The movements as a plain-text journal, which programs that are none of ours check and balance.

`entries` reads what a journal has, `forms` writes it for beancount, for hledger, and as CSV.
"""
