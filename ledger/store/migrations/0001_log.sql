-- The log: every event of every round, in one order, never changed.
CREATE SCHEMA ledger;

-- CACHE 1: a position is drawn at the moment of its insert, never ahead of it by another session; the proof in log.py needs that.
CREATE SEQUENCE ledger.positions AS bigint CACHE 1;

-- A transaction takes its id before it draws its first position. Readers rely on it (see ledger.horizon), and since it is the
-- column's default, rows written by hand keep to it as well.
CREATE FUNCTION ledger.next_position() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_current_xact_id();
    RETURN nextval('ledger.positions');
END
$$;

CREATE TABLE ledger.events (
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    notification_id bigint NOT NULL DEFAULT ledger.next_position(),
    PRIMARY KEY (originator_id, originator_version),
    CONSTRAINT events_position UNIQUE (notification_id)
);
ALTER SEQUENCE ledger.positions OWNED BY ledger.events.notification_id;
COMMENT ON TABLE ledger.events IS 'The log. Append-only: update, delete and truncate are refused.';
COMMENT ON COLUMN ledger.events.originator_id IS 'The stream: a round''s id, or that of a logged document.';
COMMENT ON COLUMN ledger.events.originator_version IS 'The event''s place in its stream, from 1 without gaps.';
COMMENT ON COLUMN ledger.events.topic IS 'The event''s name and version; independent of any code''s module path.';
COMMENT ON COLUMN ledger.events.state IS 'The payload: flat JSON in UTF-8, the exact bytes that were recorded.';
COMMENT ON COLUMN ledger.events.notification_id IS 'The position: the event''s place in the one order of the store. Gaps are normal.';

CREATE VIEW ledger.log AS
SELECT notification_id AS position, originator_id AS stream, originator_version AS version, topic,
       convert_from(state, 'UTF8')::jsonb AS body
FROM ledger.events;
COMMENT ON VIEW ledger.log IS 'The log as a person reads it: the payload as jsonb.';

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on %.%: what is recorded is never changed; record a correction', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.events
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- What became of every event that a terminal reported: written in the same transaction as the events it caused, and kept as long.
CREATE TABLE ledger.terminal_events (
    terminal text NOT NULL,
    event_id uuid NOT NULL,
    fingerprint bytea NOT NULL,
    sequence bigint,
    round uuid NOT NULL,
    first_version bigint,
    last_version bigint,
    refusal jsonb,
    PRIMARY KEY (terminal, event_id),
    CHECK ((first_version IS NULL) = (last_version IS NULL)),
    CHECK ((first_version IS NULL) <> (refusal IS NULL))
);
COMMENT ON TABLE ledger.terminal_events IS 'The verdict on each event that a terminal reported; how a retry finds its first answer.';
COMMENT ON COLUMN ledger.terminal_events.fingerprint IS 'SHA-256 of the reported event''s canonical form.';
COMMENT ON COLUMN ledger.terminal_events.sequence IS 'The terminal''s own number of the event, where it numbers them.';
COMMENT ON COLUMN ledger.terminal_events.first_version IS 'First of the versions, in the round''s stream, that the report caused; null where it was rejected.';
COMMENT ON COLUMN ledger.terminal_events.refusal IS 'Why it was rejected; null where it was accepted.';
CREATE TRIGGER terminal_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.terminal_events
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- One open round per table: the constraint behind the rule that a table settles before it opens again.
CREATE TABLE ledger.open_rounds (
    table_id text PRIMARY KEY,
    round uuid NOT NULL UNIQUE
);
COMMENT ON TABLE ledger.open_rounds IS 'The round that each table has open; at most one.';

-- The append: events, verdicts and the tables' open rounds, in one statement and so in one transaction and one round trip.
-- Returns the events' positions in the order in which they were given.
CREATE FUNCTION ledger.append(
    streams uuid[], versions bigint[], topics text[], states bytea[],
    terminals text[], event_ids uuid[], fingerprints bytea[], sequences bigint[], rounds uuid[],
    first_versions bigint[], last_versions bigint[], refusals text[],
    closed uuid[], opened_tables text[], opened_rounds uuid[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    positions bigint[];
BEGIN
    IF cardinality(closed) > 0 THEN
        DELETE FROM ledger.open_rounds WHERE round = ANY (closed);
    END IF;
    IF cardinality(opened_rounds) > 0 THEN
        INSERT INTO ledger.open_rounds (table_id, round) SELECT * FROM unnest(opened_tables, opened_rounds);
    END IF;
    IF cardinality(event_ids) > 0 THEN
        INSERT INTO ledger.terminal_events
            (terminal, event_id, fingerprint, sequence, round, first_version, last_version, refusal)
        SELECT t, e, f, s, r, v1, v2, x::jsonb
        FROM unnest(terminals, event_ids, fingerprints, sequences, rounds, first_versions, last_versions, refusals)
            AS given(t, e, f, s, r, v1, v2, x);
    END IF;
    WITH stored AS (
        INSERT INTO ledger.events (originator_id, originator_version, topic, state)
        SELECT s, v, t, b FROM unnest(streams, versions, topics, states) WITH ORDINALITY AS given(s, v, t, b, place)
        ORDER BY place
        RETURNING notification_id
    )
    SELECT coalesce(array_agg(notification_id ORDER BY notification_id), '{}') INTO positions FROM stored;
    RETURN positions;
END
$$;

-- How far the log can be read without ever missing an event: see ledger/store/log.py for the proof.
-- `up_to` is the last position drawn; whoever drew one up to it had a transaction id below `fence`, the id that the asker takes
-- after that; all of them have ended once `oldest`, the oldest transaction still running, has reached `fence`. An asker that knows
-- the log to be final up to `known` takes no id as long as nothing was drawn beyond it (`fence` is null then).
CREATE FUNCTION ledger.horizon(known bigint, OUT up_to bigint, OUT fence xid8, OUT oldest xid8) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' OR pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE EXCEPTION 'the horizon is asked for in a transaction that has written nothing, under READ COMMITTED'
            USING ERRCODE = 'active_sql_transaction';
    END IF;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO up_to FROM ledger.positions;
    IF up_to > known THEN
        -- In this order, in statements of their own: the position, the id, then a snapshot that is newer than both. The upper end
        -- of a snapshot would not do for a fence: it is one past the last id that has ended, and an older one may be running.
        fence := pg_current_xact_id();
        oldest := pg_snapshot_xmin(pg_current_snapshot());
    END IF;
END
$$;
