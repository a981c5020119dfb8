-- The last position that was drawn, as it is and not as a scan of the sequence may show it. Once in 32 draws the server writes into
-- the sequence's row the value that it puts down in the WAL, 32 ahead, and then the one that was drawn. Whoever draws holds the row
-- meanwhile, but SELECT last_value FROM the sequence reads it without asking, and has been seen to read the first of the two. A
-- horizon made of that lies up to 32 positions ahead of all that was drawn: readers passed over the events that came there.
-- This function of the server's waits for whoever draws. It gives null where nothing was drawn, and where the role may not see it.
CREATE FUNCTION ledger.drawn() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(pg_sequence_last_value('ledger.positions'), 0)
$$;

CREATE OR REPLACE FUNCTION ledger.horizon(known bigint, OUT up_to bigint, OUT fence xid8, OUT oldest xid8) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' OR pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE EXCEPTION 'the horizon is asked for in a transaction that has written nothing, under READ COMMITTED'
            USING ERRCODE = 'active_sql_transaction';
    END IF;
    up_to := ledger.drawn();
    IF up_to > known THEN
        -- In this order, in statements of their own: the position, the id, then a snapshot that is newer than both. The upper end
        -- of a snapshot would not do for a fence: it is one past the last id that has ended, and an older one may be running.
        fence := pg_current_xact_id();
        oldest := pg_snapshot_xmin(pg_current_snapshot());
    END IF;
END
$$;

-- As it was, but for the position drawn.
CREATE OR REPLACE FUNCTION ledger.hindrances(house text, day date, as_of bigint)
RETURNS TABLE (what text, stream uuid, table_id text, "position" bigint) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
    SELECT 'ahead', NULL::uuid, NULL::text, p.drawn FROM ledger.drawn() AS p (drawn) WHERE as_of > p.drawn;
    RETURN QUERY
    SELECT 'open', o.round, o.table_id, NULL::bigint
    FROM ledger.open_rounds AS o
    JOIN ledger.events AS e ON e.originator_id = o.round AND e.originator_version = 1
    CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
    WHERE said.body ->> 'property' = house AND (said.body ->> 'gaming_day')::date <= day
    ORDER BY o.table_id;
    RETURN QUERY
    SELECT 'later', e.originator_id, coalesce(said.body ->> 'table', first.body ->> 'table'), e.notification_id
    FROM ledger.events AS e
    JOIN ledger.events AS f ON f.originator_id = e.originator_id AND f.originator_version = 1
    CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
    CROSS JOIN LATERAL (SELECT convert_from(f.state, 'UTF8')::jsonb AS body) AS first
    WHERE e.notification_id > as_of
      AND coalesce(said.body ->> 'property', first.body ->> 'property') = house
      AND coalesce(said.body ->> 'gaming_day', first.body ->> 'gaming_day')::date = day
    ORDER BY e.notification_id LIMIT 1;
END
$$;
