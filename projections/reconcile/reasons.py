"""The reason codes: what is wrong with a row, a group of rows or a file, and what to do about it. Codes never change meaning."""

from __future__ import annotations

from typing import Literal, NamedTuple

Class = Literal["file", "missing", "duplicate", "value", "time", "sequence", "total", "note"]
"""Of what kind a reason is; `note` is listed and is no difference."""


class Reason(NamedTuple):
    """What is fixed about a code."""

    kind: Class
    meaning: str
    help: str


REASONS: dict[str, Reason] = {
    # Of a whole file: they stand first, for what follows may come of them.
    "FILE_CUT": Reason(
        "file",
        "The file ends too early: its last line is incomplete, it has fewer lines than it or its sender says, or its compression "
        "ends in the middle.",
        "Fetch the file again and compare its length with the sender's; then reconcile it anew.",
    ),
    "CONTROL_DIFF": Reason(
        "file",
        "The file's own control line does not agree with its lines: another total, or more lines than it states.",
        "Ask who made the file. Its lines were compared as they stand.",
    ),
    "UNIT_SUSPECT_X100": Reason(
        "file",
        "The amounts of the file are all 100 times those of the ledger, or a hundredth of them: the mapping declares another "
        "unit "
        "than the file has. The rest was compared as if it were mended.",
        "Set `amounts.unit` in the mapping, after whoever made the file has said which unit it is in. Never mend the ledger by "
        "it.",
    ),
    "COLUMNS_SWAPPED": Reason(
        "file",
        "Two columns of the file hold what belongs into the other. The rest was compared as if they were exchanged.",
        "Ask who made the file, or name the columns the other way round in the mapping.",
    ),
    "CLOCK_SKEW": Reason(
        "time",
        "The file's times are not those of the ledger. Of a whole file by a number of half hours: its zone is another one than "
        "the "
        "mapping declares, and the rest was compared as if it were mended. Else one finding a table, with its largest skew.",
        "Of a whole file, set `times.zone` in the mapping. Of a table, see to the clock of its terminal: roundledger doctor.",
    ),
    "GAMING_DAY_DIFF": Reason(
        "time",
        "File and ledger count it to different gaming days. Of a whole file: all of them by the same number of days.",
        "The ledger counts a bet to the day in which its round opened. See how the other system draws the boundary.",
    ),
    "UNPARSEABLE_LINE": Reason(
        "file",
        "A line cannot be read as the mapping declares. It took no part in the comparison, nor did the row it seems to be about; "
        "of a line that could not be cut into cells nobody knows which row that is, and it is missing in the file besides.",
        "See the line itself; where the file is right, the mapping is not.",
    ),
    "UNKNOWN_TABLE": Reason(
        "file",
        "The file names a table that no property has and at which no round was played. Its lines took no part in the comparison.",
        "See how the other system writes its tables: `values.table` in the mapping translates them.",
    ),
    # Rows that are on one side only.
    "MISSING_IN_LEDGER": Reason(
        "missing",
        "The file has a row that the ledger has not.",
        "See whether the terminal still has events to send: roundledger terminals. What never arrives is recorded as a "
        "correction.",
    ),
    "MISSING_IN_FILE": Reason(
        "missing",
        "The ledger has a row that the file has not.",
        "See the row in the ledger by the command beside it, and ask for the rest of the file.",
    ),
    "UNPAID_WIN": Reason(
        "missing",
        "The ledger has a payout of a winning bet, and the file has none, or nothing paid.",
        "See the bet by the command beside it. Where the player was not paid indeed, it is a mispay: roundledger correct "
        "propose.",
    ),
    # Rows that are there more than once.
    "DUPLICATE_IN_FILE": Reason(
        "duplicate",
        "Several lines of the file have one key, or more lines than the ledger has rows are alike in all that tells them apart. "
        "None of them is taken for the right one.",
        "See the lines; where they are identical, the file holds them twice.",
    ),
    "DUPLICATE_IN_LEDGER": Reason(
        "duplicate",
        "Several rows of the ledger have one key, or more rows than the file has lines are alike in all that tells them apart.",
        "See the rows by their positions. One that was reported twice under two event ids is put right by a correction.",
    ),
    "PAID_TWICE": Reason(
        "duplicate",
        "The file has more than one payout of a bet.",
        "See the bet by the command beside it. What was paid twice indeed is a mispay: roundledger correct propose.",
    ),
    # Pairs that disagree.
    "AMOUNT_DIFF": Reason("value", "Another amount.", "See the row in the ledger by the command beside it."),
    "CURRENCY_DIFF": Reason(
        "value",
        "Another currency. Amounts of two currencies are not compared.",
        "See which currency the table has: roundledger property show.",
    ),
    "OUTCOME_DIFF": Reason(
        "value",
        "Another outcome of the round, or another result of the bet.",
        "See what the table showed. Where the ledger is wrong: roundledger correct propose.",
    ),
    "SPOT_DIFF": Reason("value", "The bet lay elsewhere.", "See the bet; the wrong spot of a bet is put right by a correction."),
    "LATE_BET": Reason(
        "value",
        "The ledger has a bet that the file calls late, or that by the file's time was placed after betting closed.",
        "See the bet: roundledger report late-bets lists what was recorded as late, and by whom.",
    ),
    "VOID_MISMATCH": Reason(
        "value",
        "One side has it as void, withdrawn or cancelled, the other has not.",
        "See the round: roundledger report voids, and slips: roundledger chips slips.",
    ),
    "PAID_ON_VOID": Reason(
        "value",
        "The file pays more on a bet that is void or withdrawn than its stake.",
        "See the bet by the command beside it. What was paid indeed is a mispay: roundledger correct propose.",
    ),
    "ROUNDING_DIFF": Reason(
        "value",
        "The payouts differ by no more than the table's payable unit, or that of the mapping where it is larger, and the exact "
        "prize is no whole one: another rounding.",
        "The ledger rounds once, down to the payable unit (ADR 12). See how the other system rounds.",
    ),
    "RULE_VERSION_DIFF": Reason(
        "value", "It was settled under another regulation.", "See the bet: roundledger explain names the article."
    ),
    "PLAYER_DIFF": Reason("value", "Another player reference.", "Whose the bet is, is put right by a correction."),
    "TABLE_DIFF": Reason("value", "At another table.", "See which terminal reported it: roundledger terminals."),
    "ROUND_DIFF": Reason("value", "In another round.", "See the bet by the command beside it."),
    "CHIP_DIFF": Reason("value", "Another kind of chip.", "See the bet by the command beside it."),
    "FIELD_DIFF": Reason(
        "value", "Another value in a field that has no reason of its own.", "See the row by the command beside it."
    ),
    "KEY_DIFF": Reason(
        "value",
        "Two rows agree in all that was compared, but the file has another key that the ledger does not know.",
        "See how the other system makes its keys.",
    ),
    # Numbers that a sender gives its rows.
    "SEQ_GAP": Reason(
        "sequence",
        "Numbers are missing in the file that by the mapping has none missing.",
        "Ask for the rows with these numbers. Of slips: roundledger chips slips lists the ledger's own gaps.",
    ),
    "SEQ_REPEAT": Reason(
        "sequence", "One number stands on several lines that are not about the same.", "Ask who made the file which one is right."
    ),
    # Totals.
    "COUNT_VARIANCE": Reason(
        "total",
        "The win of a table and day is not the same by the terminals' journal, by the ledger and by the counts of the cage.",
        "The side that stands alone is named. roundledger day status shows the ledger's own two sides.",
    ),
    # What is listed apart, and is no difference.
    "WITHIN_TOLERANCE": Reason(
        "note",
        "Another amount, but by no more than the tolerance that the mapping declares.",
        "Nothing, while the tolerance is right: it stands in the report's heading.",
    ),
}
"""Code → what it means, in the order in which a report lists them."""

RANK = {code: n for n, code in enumerate(REASONS)}
