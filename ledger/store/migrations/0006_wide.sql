-- What a report may cause is counted with 32 bits: a round of more than 32,767 winners is settled by one report. The rows of the log
-- are written anew for it, with the log locked: some seconds for each million of events, once.
ALTER TABLE ledger.events ALTER caused TYPE integer;

DROP FUNCTION ledger.append(
    text[], bigint[], uuid[], bigint[], text[], bytea[], uuid[], smallint[], bytea[], uuid[], text[], uuid[],
    uuid[], text[], bigint[], bigint[], uuid[], bytea[], text[], uuid[], bigint[]
);
-- The append of a group; this is its whole definition, and 0001 and 0003 have the earlier ones. Events, rejections and the tables'
-- open rounds, in one transaction and one round trip. Returns the events' positions in the order in which they were given;
-- unique_violation where anything of it is there already, where a table is written under a lease that has passed on, or where a
-- stream by which the group was decided has a later version than then.
CREATE FUNCTION ledger.append(
    leased text[], epochs bigint[],
    streams uuid[], versions bigint[], topics text[], states bytea[], causes uuid[], counts integer[], fingerprints bytea[],
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

-- A carried bet that a correction had lowered took its stake once more from the round that it was carried to, which then showed less
-- than none. Where there is such a bet, what the projection has is folded anew.
DO $$
BEGIN
    IF EXISTS (SELECT FROM projection.bets WHERE placed_in <> round AND corrections > 0) THEN
        TRUNCATE projection.rounds, projection.movements, projection.balances, projection.bets, projection.results,
            projection.holds, projection.corrections, projection.voids, projection.late_bets, projection.table_staff;
        DELETE FROM projection.positions WHERE name = 'ledger';
    END IF;
END
$$;
ALTER TABLE projection.rounds ADD CHECK (least(stakes, carried_in, carried_out, returned, lost, won, pushed) >= 0);
COMMENT ON COLUMN projection.rounds.stakes IS
    'Sum of the stakes that were taken: bets placed in this round, as last corrected, and what bets were raised by; never those carried in.';
COMMENT ON COLUMN projection.rounds.returned IS
    'Sum of the stakes that went back undecided: withdrawn, lowered, voided, given back by the house, or taken off a carried bet by its correction.';
