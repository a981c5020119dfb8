-- The log: every event of every round, in one order, never changed.
CREATE SCHEMA ledger;

-- CACHE 1: a position is drawn at the moment of its insert, never ahead of it by another session; the proof in log.py needs that.
CREATE SEQUENCE ledger.positions AS bigint CACHE 1;

-- A transaction takes its id before it draws its first position: CASE asks its condition first. Readers rely on it (see
-- ledger.horizon), and since it is the column's default, rows written by hand keep to it as well. In SQL, so that it becomes part
-- of the INSERT's plan: as a call for each row it took an eighth of the server's work.
CREATE FUNCTION ledger.next_position() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('ledger.positions') END
$$;

-- Positions for a whole group, next to each other: two groups never interleave, as the library expects of a store. Drawing them in
-- one go also costs half of what the column's default does, row by row. The lock lasts for the draw and not for the transaction,
-- so nobody waits for another's flush: leaving the inner block by an error gives it back, and positions are drawn for good.
CREATE FUNCTION ledger.next_positions(number integer) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint[];
BEGIN
    IF number < 2 THEN
        RETURN ARRAY(SELECT ledger.next_position() FROM generate_series(1, number));
    END IF;
    PERFORM pg_current_xact_id();
    BEGIN
        PERFORM pg_advisory_xact_lock('ledger.positions'::regclass::oid::bigint);
        drawn := ARRAY(SELECT nextval('ledger.positions') FROM generate_series(1, number));
        RAISE SQLSTATE 'LGR00';
    EXCEPTION WHEN SQLSTATE 'LGR00' THEN
        RETURN drawn;
    END;
END
$$;

CREATE TABLE ledger.events (
    originator_id uuid NOT NULL,
    cause uuid,
    originator_version bigint NOT NULL,
    notification_id bigint NOT NULL DEFAULT ledger.next_position(),
    caused smallint,
    topic text NOT NULL,
    state bytea NOT NULL,
    fingerprint bytea,
    PRIMARY KEY (originator_id, originator_version),
    CONSTRAINT events_position UNIQUE (notification_id),
    CONSTRAINT events_claim CHECK (num_nulls(cause, caused, fingerprint) IN (0, 3))
);
-- An event id that a terminal reported is used once in the whole log: how a retry finds its first answer, as long as the log lives.
CREATE UNIQUE INDEX events_cause ON ledger.events (cause) WHERE cause IS NOT NULL;
ALTER SEQUENCE ledger.positions OWNED BY ledger.events.notification_id;
COMMENT ON TABLE ledger.events IS 'The log. Append-only: update, delete and truncate are refused.';
COMMENT ON COLUMN ledger.events.originator_id IS 'The stream: a round''s id, or that of a logged document.';
COMMENT ON COLUMN ledger.events.originator_version IS 'The event''s place in its stream, from 1 without gaps.';
COMMENT ON COLUMN ledger.events.topic IS 'The event''s name and version; independent of any code''s module path.';
COMMENT ON COLUMN ledger.events.state IS 'The payload: flat JSON in UTF-8, the exact bytes that were recorded.';
COMMENT ON COLUMN ledger.events.cause IS 'On the first event that a terminal''s report brought about: the report''s event id.';
COMMENT ON COLUMN ledger.events.caused IS 'With cause: how many events the report brought about, from this one on.';
COMMENT ON COLUMN ledger.events.fingerprint IS 'With cause: the first 128 bits of the SHA-256 of the report''s canonical form.';
COMMENT ON COLUMN ledger.events.notification_id IS 'The position: the event''s place in the one order of the store. Gaps are normal.';

CREATE VIEW ledger.log AS
SELECT notification_id AS position, originator_id AS stream, originator_version AS version, topic,
       convert_from(state, 'UTF8')::jsonb AS body
FROM ledger.events;
COMMENT ON VIEW ledger.log IS 'The log as a person reads it: the payload as jsonb.';
COMMENT ON COLUMN ledger.log.position IS 'The event''s place in the one order of the store. Gaps are normal.';
COMMENT ON COLUMN ledger.log.stream IS 'A round''s id, or that of a logged document.';
COMMENT ON COLUMN ledger.log.version IS 'The event''s place in its stream, from 1 without gaps.';
COMMENT ON COLUMN ledger.log.topic IS 'The event''s name and version, for example BetPlaced.v1.';
COMMENT ON COLUMN ledger.log.body IS 'The payload; its fields are those of the event.';

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on %.%: what is recorded is never changed; record a correction', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.events
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- Reports that were refused for good: a rejected id stays rejected.
CREATE TABLE ledger.rejections (
    event_id uuid PRIMARY KEY,
    terminal text NOT NULL,
    sequence bigint,
    round uuid NOT NULL,
    fingerprint bytea NOT NULL,
    refusal jsonb NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE ledger.rejections IS 'Reports of terminals that were refused for good, with the reason; kept as long as the log.';
COMMENT ON COLUMN ledger.rejections.event_id IS 'The report''s event id; it stays rejected.';
COMMENT ON COLUMN ledger.rejections.terminal IS 'The terminal that reported it.';
COMMENT ON COLUMN ledger.rejections.sequence IS 'The terminal''s own number of the event, where it numbers them.';
COMMENT ON COLUMN ledger.rejections.round IS 'The round that the report was about.';
COMMENT ON COLUMN ledger.rejections.fingerprint IS 'The first 128 bits of the SHA-256 of the report''s canonical form.';
COMMENT ON COLUMN ledger.rejections.refusal IS 'The reason as it was answered: code, detail, field, value, help, cite.';
COMMENT ON COLUMN ledger.rejections.recorded_at IS 'When it was refused.';
CREATE TRIGGER rejections_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.rejections
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- One open round per table: the constraint behind the rule that a table settles before it opens again.
CREATE TABLE ledger.open_rounds (
    table_id text PRIMARY KEY,
    round uuid NOT NULL UNIQUE
);
COMMENT ON TABLE ledger.open_rounds IS 'The round that each table has open; at most one.';
COMMENT ON COLUMN ledger.open_rounds.table_id IS 'The table.';
COMMENT ON COLUMN ledger.open_rounds.round IS 'Its round that is not settled.';

-- Who writes which table: see ledger/store/lease.py.
CREATE TABLE ledger.leases (
    table_id text PRIMARY KEY,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON TABLE ledger.leases IS 'The process that took each table last; it still has it where it still holds the session lock.';
COMMENT ON COLUMN ledger.leases.table_id IS 'The table.';
COMMENT ON COLUMN ledger.leases.epoch IS 'Raised at every taking; an append under an older one is turned away.';
COMMENT ON COLUMN ledger.leases.holder IS 'Host and process that took it.';
COMMENT ON COLUMN ledger.leases.taken_at IS 'When it was taken.';

-- The append of a group: events, rejections and the tables' open rounds, in one transaction and one round trip. Returns the
-- events' positions in the order in which they were given; unique_violation where anything of it is there already, where a table
-- is written under a lease that has passed on, or where a stream by which the group was decided has a later version than then.
CREATE FUNCTION ledger.append(
    leased text[], epochs bigint[],
    streams uuid[], versions bigint[], topics text[], states bytea[], causes uuid[], counts smallint[], fingerprints bytea[],
    closed uuid[], opened_tables text[], opened_rounds uuid[],
    rejected uuid[], rejected_terminals text[], rejected_sequences bigint[], rejected_rounds uuid[],
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
        INSERT INTO ledger.rejections (event_id, terminal, sequence, round, fingerprint, refusal)
        SELECT e, t, s, r, f, x::jsonb
        FROM unnest(rejected, rejected_terminals, rejected_sequences, rejected_rounds, rejected_fingerprints, refusals)
            AS given(e, t, s, r, f, x);
    END IF;
    positions := ledger.next_positions(cardinality(streams));
    INSERT INTO ledger.events (originator_id, originator_version, notification_id, topic, state, cause, caused, fingerprint)
    SELECT * FROM unnest(streams, versions, positions, topics, states, causes, counts, fingerprints);
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
