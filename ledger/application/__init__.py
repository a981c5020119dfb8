"""The use cases: what the door and the command line may do.

`rounds` is the application: it takes reports in groups and appends what becomes of them. `desk` decides one report, by what
`memory` knows of rounds and tables; `group` is what one append will hold; `answers` puts verdicts and the database's errors into
the words of the door.
"""

from ledger.application.rounds import Rounds

__all__ = ["Rounds"]
