-- Balances as of any position or time: what each account changed by, in blocks of positions, and when the log was received.
--
-- Both tables hold nothing that movements and the log do not have; they are filled from these here, and by the fold from now on.
-- Indexes on the accounts of movements would serve one account as well, but not all of them, and slow every movement's insert.

CREATE TABLE projection.balance_changes (
    account text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    block bigint NOT NULL,
    change numeric(38, 0) NOT NULL,
    PRIMARY KEY (account, currency, block)
);
COMMENT ON TABLE projection.balance_changes IS
    'By how much each account changed in each block of 65,536 positions: a balance as of a position is the sum of the blocks before, and the movements from there on.';
COMMENT ON COLUMN projection.balance_changes.account IS 'The account, as in balances.';
COMMENT ON COLUMN projection.balance_changes.currency IS 'Currency of the change.';
COMMENT ON COLUMN projection.balance_changes.block IS 'The positions from 65,536 times this number on, as many.';
COMMENT ON COLUMN projection.balance_changes.change IS 'Credits less debits, in minor units.';

CREATE TABLE projection.log_times (
    block bigint PRIMARY KEY,
    earliest timestamptz NOT NULL
);
COMMENT ON TABLE projection.log_times IS
    'When the events of each block of 1,024 positions were received: how the last event received by some time is found.';
COMMENT ON COLUMN projection.log_times.block IS 'The positions from 1,024 times this number on, as many.';
COMMENT ON COLUMN projection.log_times.earliest IS 'The earliest time at which an event of the block was received.';

INSERT INTO projection.balance_changes (account, currency, block, change)
SELECT account, currency, block, sum(change)
FROM (
    SELECT debit AS account, currency, position >> 16 AS block, -amount AS change FROM projection.movements
    UNION ALL
    SELECT credit, currency, position >> 16, amount FROM projection.movements
) AS moved
GROUP BY account, currency, block;

INSERT INTO projection.log_times (block, earliest)
SELECT position >> 10, min((body->>'received_at')::timestamptz)
FROM ledger.log
WHERE position <= (SELECT position FROM projection.positions WHERE name = 'ledger') AND body ? 'received_at'
GROUP BY position >> 10;
