"""`python -m cli` is `roundledger`."""

from cli.main import main

main()
