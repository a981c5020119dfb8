-- Numbers of terminals that will not come, as a person has put on record: the log says it, and here is where it is read.

CREATE INDEX events_given_up ON ledger.events (notification_id) WHERE topic = 'NumbersGivenUp.v1';

CREATE VIEW ledger.given_up AS
SELECT
    e.notification_id AS position,
    said.body ->> 'of_terminal' AS terminal,
    (said.body ->> 'of_epoch')::bigint AS epoch,
    (said.body ->> 'first')::bigint AS first,
    (said.body ->> 'last')::bigint AS last,
    said.body ->> 'table' AS table_id,
    said.body ->> 'by' AS given_up_by,
    (said.body ->> 'received_at')::timestamptz AS given_up_at,
    said.body ->> 'reason' AS reason,
    said.body ->> 'note' AS note
FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
WHERE e.topic = 'NumbersGivenUp.v1';
COMMENT ON VIEW ledger.given_up IS 'Numbers of terminals that will not come, by what people have put on record.';
COMMENT ON COLUMN ledger.given_up.position IS 'Position of the event.';
COMMENT ON COLUMN ledger.given_up.terminal IS 'The terminal whose numbers they are.';
COMMENT ON COLUMN ledger.given_up.epoch IS 'Its count of its restarts; 0 where it keeps none.';
COMMENT ON COLUMN ledger.given_up.first IS 'The first number.';
COMMENT ON COLUMN ledger.given_up.last IS 'The last one.';
COMMENT ON COLUMN ledger.given_up.table_id IS 'The table.';
COMMENT ON COLUMN ledger.given_up.given_up_by IS 'Who gave them up.';
COMMENT ON COLUMN ledger.given_up.given_up_at IS 'When the service received it.';
COMMENT ON COLUMN ledger.given_up.reason IS 'Why, by the house''s own code.';
COMMENT ON COLUMN ledger.given_up.note IS 'In words, where somebody wrote some.';

CREATE OR REPLACE VIEW report.terminal_gaps AS
SELECT
    g.terminal,
    g.epoch,
    r.property,
    r.pit,
    g.table_id,
    r.game,
    lower(g.gap) AS missing_from,
    upper(g.gap) - 1 AS missing_to,
    upper(g.gap) - lower(g.gap) AS missing,
    g.highest,
    CASE WHEN g.position IS NULL THEN 'missing' ELSE 'given_up' END AS state,
    u.given_up_by,
    u.given_up_at,
    u.reason,
    u.note
FROM (
    WITH latest AS (
        SELECT DISTINCT ON (terminal, epoch) terminal, epoch, table_id, received
        FROM ledger.sequences ORDER BY terminal, epoch, since DESC
    ), newer AS (
        SELECT said.body ->> 'terminal' AS terminal, coalesce((said.body ->> 'epoch')::bigint, 0) AS epoch,
               (said.body ->> 'sequence')::bigint AS sequence,
               (SELECT convert_from(opening.state, 'UTF8')::jsonb ->> 'table' FROM ledger.events AS opening
                WHERE opening.originator_id = e.originator_id AND opening.originator_version = 1) AS table_id
        FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
        -- Where no table was ever leased (a log that was brought from elsewhere), nothing is counted yet.
        WHERE e.notification_id > (SELECT CASE WHEN count(*) = 0 THEN 0 ELSE min(counted_to) FILTER (WHERE counted_in IS DISTINCT FROM epoch) END
                                   FROM ledger.leases)
          AND e.cause IS NOT NULL AND said.body ? 'sequence'
        UNION ALL
        SELECT terminal, coalesce(epoch, 0), sequence, NULL FROM ledger.rejections WHERE sequence IS NOT NULL
    ), standing AS (
        SELECT terminal, epoch, coalesce(max(kept_table), max(table_id)) AS table_id, range_agg(received) AS received FROM (
            SELECT terminal, epoch, table_id AS kept_table, table_id, received FROM latest
            UNION ALL
            SELECT terminal, epoch, NULL, table_id, int8multirange(int8range(sequence, sequence, '[]')) FROM newer
        ) AS each GROUP BY terminal, epoch
    ), given AS (
        SELECT terminal, epoch, range_agg(int8range(first, last, '[]')) AS numbers FROM ledger.given_up GROUP BY terminal, epoch
    )
    SELECT terminal, epoch, table_id, upper(received) - 1 AS highest, NULL::bigint AS position,
           unnest(int8multirange(int8range(1, upper(received))) - received - coalesce(numbers, '{}')) AS gap
    FROM standing LEFT JOIN given USING (terminal, epoch) WHERE NOT isempty(received)
    UNION ALL
    SELECT terminal, epoch, table_id, upper(received) - 1, v.position, int8range(v.first, v.last, '[]')
    FROM ledger.given_up AS v LEFT JOIN (SELECT terminal, epoch, received FROM standing) AS s USING (terminal, epoch)
) AS g LEFT JOIN report.tables AS r ON r.table_id = g.table_id LEFT JOIN ledger.given_up AS u ON u.position = g.position;
COMMENT ON VIEW report.terminal_gaps IS
    'Numbers that a terminal has used in one of its epochs and of which the ledger has received nothing: one row a gap, and one for what a person gave up.';
COMMENT ON COLUMN report.terminal_gaps.state IS 'missing: it may still come; given_up: it will not, as a person has put on record.';
COMMENT ON COLUMN report.terminal_gaps.given_up_by IS 'Reference of the person who gave it up.';
COMMENT ON COLUMN report.terminal_gaps.given_up_at IS 'When the service received that.';
COMMENT ON COLUMN report.terminal_gaps.reason IS 'Why it was given up, by the house''s own code.';
COMMENT ON COLUMN report.terminal_gaps.note IS 'In words, where somebody wrote some.';
