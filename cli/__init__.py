"""The `roundledger` command line: click commands, no business logic."""
