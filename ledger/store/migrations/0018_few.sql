-- Kinds of event that are few in a log, and that are looked for as such: documents, numbers that were given up, slips. One index has
-- them all, where each had its own: every append of a bet opens every index of the log, and three that never take it were a
-- twentieth of its work.

-- At once what dropping an index takes: to make one takes less, and an append that had looked into the log by then and waited to write
-- there would keep this waiting for it, until the server ended one of the two as a deadlock.
LOCK TABLE ledger.events IN ACCESS EXCLUSIVE MODE;

-- By what such an event is known among those of its kind: a slip by its property and printed number, which it has alone, and any
-- other by its position. Its body is kept as it was understood here, and not as text: the planner of every query on the log looks at
-- this expression with the rights of whoever asks, and who may read the reports alone may look up nothing in this schema.
CREATE FUNCTION ledger.key_in_kind(topic text, state bytea, "position" bigint) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN topic IN ('FillRecorded.v1', 'CreditRecorded.v1') THEN ledger.slip_number(state) ELSE "position"::text END;
CREATE UNIQUE INDEX events_few ON ledger.events (topic, ledger.key_in_kind(topic, state, notification_id))
    WHERE topic IN ('DocumentRecorded.v1', 'NumbersGivenUp.v1', 'FillRecorded.v1', 'CreditRecorded.v1');
DROP INDEX ledger.events_documents;
DROP INDEX ledger.events_given_up;
DROP INDEX ledger.events_slip;

-- As it was, but that it refuses a role that may not see the sequence: the server's function tells such a role the same as where
-- nothing was drawn, and to whoever may read the events and not the sequence the log was empty.
CREATE OR REPLACE FUNCTION ledger.drawn() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT has_sequence_privilege('ledger.positions', 'SELECT, USAGE') THEN  -- either will do, for this as for the server's
        RAISE insufficient_privilege USING MESSAGE = 'permission denied for sequence positions';
    END IF;
    RETURN coalesce(pg_sequence_last_value('ledger.positions'), 0);
END
$$;
