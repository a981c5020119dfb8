-- What was received of each terminal, so that nobody has to read the log for it.
CREATE TABLE ledger.sequences (
    terminal text NOT NULL,
    epoch bigint NOT NULL,
    since bigint NOT NULL,
    position bigint NOT NULL,
    received int8multirange NOT NULL,
    table_id text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (terminal, epoch, since)
) WITH (fillfactor = 70);
COMMENT ON TABLE ledger.sequences IS 'Which of its numbers each terminal has been answered for, written now and then; the log has the rest.';
COMMENT ON COLUMN ledger.sequences.terminal IS 'The terminal.';
COMMENT ON COLUMN ledger.sequences.epoch IS 'The terminal''s count of its restarts; 0 where it keeps none.';
COMMENT ON COLUMN ledger.sequences.since IS 'The row is about what was recorded after this position; the row with the greatest is the present one.';
COMMENT ON COLUMN ledger.sequences.position IS 'And up to this one.';
COMMENT ON COLUMN ledger.sequences.received IS 'All numbers received up to then, earlier rows'' included.';
COMMENT ON COLUMN ledger.sequences.table_id IS 'The table that the terminal last reported of.';
COMMENT ON COLUMN ledger.sequences.recorded_at IS 'When it was last written.';
CREATE INDEX sequences_of_table ON ledger.sequences (table_id);

-- Up to where in the log all that was received of a table's terminals stands in ledger.sequences.
ALTER TABLE ledger.leases ADD COLUMN counted_to bigint, ADD COLUMN counted_in bigint;
COMMENT ON COLUMN ledger.leases.counted_to IS 'Up to this position ledger.sequences has all that the table''s terminals reported.';
COMMENT ON COLUMN ledger.leases.counted_in IS 'The epoch whose holder wrote down all of it when it gave the table back; none while it is held.';

ALTER TABLE ledger.rejections ADD COLUMN epoch bigint;
COMMENT ON COLUMN ledger.rejections.epoch IS 'The terminal''s count of its restarts, where it keeps one.';
CREATE INDEX rejections_of_terminal ON ledger.rejections (terminal, (coalesce(epoch, 0)), sequence) WHERE sequence IS NOT NULL;

-- A report as the log tells of it: who sent it, under which number, and at which table.
CREATE FUNCTION ledger.reported(after bigint)
RETURNS TABLE (terminal text, epoch bigint, sequence bigint, cause uuid, table_id text) LANGUAGE sql STABLE AS $$
    SELECT said.body ->> 'terminal', coalesce((said.body ->> 'epoch')::bigint, 0), (said.body ->> 'sequence')::bigint, e.cause,
           (SELECT convert_from(first.state, 'UTF8')::jsonb ->> 'table' FROM ledger.events AS first
            WHERE first.originator_id = e.originator_id AND first.originator_version = 1)
    FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
    WHERE e.notification_id > after AND e.cause IS NOT NULL AND said.body ? 'sequence'
$$;

-- The log as it is by now.
INSERT INTO ledger.sequences (terminal, epoch, since, position, received, table_id)
SELECT terminal, epoch, 0, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger.positions),
       range_agg(int8range(sequence, sequence, '[]')), coalesce(max(table_id), '')
FROM (
    SELECT terminal, epoch, sequence, table_id FROM ledger.reported(0)
    UNION ALL
    SELECT terminal, 0, sequence, NULL FROM ledger.rejections WHERE sequence IS NOT NULL
) AS received GROUP BY terminal, epoch;
UPDATE ledger.leases SET counted_to = (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger.positions), counted_in = epoch;

DROP FUNCTION ledger.append(
    text[], bigint[], uuid[], bigint[], text[], bytea[], uuid[], smallint[], bytea[], uuid[], text[], uuid[],
    uuid[], text[], bigint[], uuid[], bytea[], text[], uuid[], bigint[]
);
-- The append of a group, which now keeps the epoch of what it rejects: events, rejections and the tables' open rounds, in one transaction and one round trip. Returns the
-- events' positions in the order in which they were given; unique_violation where anything of it is there already, where a table
-- is written under a lease that has passed on, or where a stream by which the group was decided has a later version than then.
CREATE FUNCTION ledger.append(
    leased text[], epochs bigint[],
    streams uuid[], versions bigint[], topics text[], states bytea[], causes uuid[], counts smallint[], fingerprints bytea[],
    closed uuid[], opened_tables text[], opened_rounds uuid[],
    rejected uuid[], rejected_terminals text[], rejected_epochs bigint[], rejected_sequences bigint[], rejected_rounds uuid[],
    rejected_fingerprints bytea[], refusals text[],
    premises uuid[], premised bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    positions bigint[];
BEGIN
    -- A subquery for its value is looked up by its key, row by row, whatever the planner believes of the tables' sizes.
    IF EXISTS (
        SELECT FROM unnest(leased, epochs) AS given(t, e)
        WHERE (SELECT epoch FROM ledger.leases WHERE table_id = t) IS DISTINCT FROM e
    ) THEN
        RAISE unique_violation USING MESSAGE = 'a table of the group was taken over', CONSTRAINT = 'leases_pkey';
    END IF;
    IF EXISTS (
        SELECT FROM unnest(premises, premised) AS given(s, v)
        WHERE (SELECT true FROM ledger.events WHERE originator_id = s AND originator_version = v + 1)
    ) THEN
        RAISE unique_violation USING MESSAGE = 'what the group was decided by has changed', CONSTRAINT = 'events_pkey';
    END IF;
    IF EXISTS (SELECT FROM ledger.rejections WHERE event_id = ANY (causes)) THEN
        RAISE unique_violation USING MESSAGE = 'an event id of the group was rejected before', CONSTRAINT = 'rejections_pkey';
    END IF;
    IF cardinality(closed) > 0 THEN
        DELETE FROM ledger.open_rounds WHERE round = ANY (closed);
    END IF;
    IF cardinality(opened_rounds) > 0 THEN
        INSERT INTO ledger.open_rounds (table_id, round) SELECT * FROM unnest(opened_tables, opened_rounds);
    END IF;
    IF cardinality(rejected) > 0 THEN
        IF EXISTS (SELECT FROM ledger.events WHERE cause = ANY (rejected)) THEN
            RAISE unique_violation USING MESSAGE = 'an event id of the group was accepted before', CONSTRAINT = 'events_cause';
        END IF;
        INSERT INTO ledger.rejections (event_id, terminal, epoch, sequence, round, fingerprint, refusal)
        SELECT e, t, p, s, r, f, x::jsonb
        FROM unnest(rejected, rejected_terminals, rejected_epochs, rejected_sequences, rejected_rounds, rejected_fingerprints,
                    refusals) AS given(e, t, p, s, r, f, x);
    END IF;
    positions := ledger.next_positions(cardinality(streams));
    INSERT INTO ledger.events (originator_id, originator_version, notification_id, topic, state, cause, caused, fingerprint)
    SELECT * FROM unnest(streams, versions, positions, topics, states, causes, counts, fingerprints);
    RETURN positions;
END
$$;
