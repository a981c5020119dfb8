-- What `house.fill` runs, statement by statement; `:name:` is replaced by a number or a text. See house.py.

CREATE FUNCTION pg_temp.drawn(what text, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(what || n || '/:seed:'), 1, 8))::bit(32)::bigint & 2147483647 $$;

CREATE FUNCTION pg_temp.id(what text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT overlay(overlay(md5(what || n || '/:seed:') PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid $$;

CREATE TEMP TABLE r AS
    SELECT n, pg_temp.id('round', n) AS round, n % :tables: AS t, date ':first:' + (n * :days: / :rounds:)::int AS day,
        timestamptz ':first: 06:00+08' + (n * :days: / :rounds:)::int * interval '1 day'
            + (n - ((:rounds: * (n * :days: / :rounds:) + :days: - 1) / :days:)) / :tables: * (interval '14 hours' / (:rounds: / :days: / :tables: + 1)) AS opened_at,
        pg_temp.drawn('void', n) % 100 = 7 AS voided, 1 + pg_temp.drawn('outcome', n) % 4 AS outcome
    FROM generate_series(0, :rounds: - 1) AS n;

CREATE TEMP TABLE b AS
    SELECT i, r.n, r.round, r.t, r.voided, r.opened_at, pg_temp.id('bet', i) AS bet, :begins: + i AS position,
        'P-' || (pg_temp.drawn('player', i) % 5000) AS player, 1 + i % 9 AS seat,
        (ARRAY['fan:1', 'fan:2', 'nim:1/2', 'kuoc:12', 'sshong:123'])[1 + pg_temp.drawn('spot', i) % 5] AS spot,
        100 * (1 + pg_temp.drawn('stake', i) % 5000) + i % 7 AS stake,
        CASE WHEN r.voided THEN 'void' WHEN pg_temp.drawn('result', i) % 10 < 4 THEN 'won' WHEN pg_temp.drawn('result', i) % 10 = 4 THEN 'push' ELSE 'lost' END AS result
    FROM generate_series(0, :bets: - 1) AS i JOIN r ON r.n = i / 10;

INSERT INTO projection.bets (round, bet, placed_in, position, player, seat, spot, chip, late, locked, stake, corrections)
    SELECT round, bet, round, position, player, seat, spot, 'cash', false, false, stake, 0 FROM b;

INSERT INTO projection.results (round, bet, stake, result, odds, prize_exact, prize, commission, breakage, net_prize, returned, edge, article, resolved_position)
    SELECT round, bet, stake, result, '1/3', CASE WHEN result = 'won' THEN CASE WHEN stake % 3 = 0 THEN (stake / 3)::text ELSE stake || '/3' END ELSE '0' END,
        paid, 0, 0, paid, paid + CASE WHEN result IN ('won', 'push', 'void') THEN stake ELSE 0 END, '1/80', '30/2003 art. 9', position
    FROM (SELECT *, CASE WHEN result = 'won' THEN stake / 3 ELSE 0 END AS paid FROM b) AS decided;

INSERT INTO projection.rounds (round, property, pit, table_id, game, currency, regulation, regulation_hash, property_hash, gaming_day, shift, status,
        opened_at, closed_at, settled_at, outcome, shown, bets, stakes, lost, won, pushed, prizes, commission, breakage, first_position, last_position,
        disposition, throws, void_launches, resolved, carried_in, carried_out, returned, escrow, adjusted, holds, corrections_pending, corrections)
    SELECT r.round, ':property:', CASE WHEN r.t < :tables: / 2 THEN 'A' ELSE 'B' END, 'T' || lpad(r.t::text, 2, '0'), 'fantan', CASE WHEN r.t % 4 = 3 THEN 'HKD' ELSE 'MOP' END,
        '30/2003', 'none', 'none', r.day, 'day', CASE WHEN r.voided THEN 'voided' ELSE 'settled' END, r.opened_at, r.opened_at + interval '20 seconds',
        r.opened_at + interval '30 seconds', CASE WHEN NOT r.voided THEN r.outcome::text END, CASE WHEN NOT r.voided THEN r.outcome::text END, s.bets, s.stakes,
        s.lost, s.won, s.pushed, s.prizes, 0, 0, s.first, s.last, CASE WHEN r.voided THEN 'return' END, 0, 0, s.resolved, 0, 0, s.returned, 0, 0, 0, 0, 0
    FROM r JOIN (
        SELECT n, count(*) AS bets, sum(stake) AS stakes, coalesce(sum(stake) FILTER (WHERE result = 'lost'), 0) AS lost,
            coalesce(sum(stake) FILTER (WHERE result = 'won'), 0) AS won, coalesce(sum(stake) FILTER (WHERE result = 'push'), 0) AS pushed,
            coalesce(sum(stake / 3) FILTER (WHERE result = 'won'), 0) AS prizes, coalesce(sum(stake) FILTER (WHERE result = 'void'), 0) AS returned,
            count(*) FILTER (WHERE result <> 'void') AS resolved, min(position) AS first, max(position) AS last
        FROM b GROUP BY n
    ) AS s USING (n);

INSERT INTO ledger.events (originator_id, originator_version, notification_id, topic, state)
    SELECT round, 2 + i % 10, position, 'BetPlaced.v1', convert_to(format(
        '{"bet":"%s","cause":"%s","currency":"%s","numbers":[1],"occurred_at":"%s","player":"%s","received_at":"%s","sequence":%s,"spot":"%s","stake":"%s","terminal":"T-T%s"}',
        bet, bet, CASE WHEN t % 4 = 3 THEN 'HKD' ELSE 'MOP' END, placed, player, placed, 1 + n / :tables: * 10 + i % 10, spot, stake, lpad(t::text, 2, '0')), 'UTF8')
    FROM (SELECT *, to_char((opened_at + (1 + i % 10) * interval '1.5 seconds') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS placed FROM b) AS told;

CREATE TEMP TABLE c AS
    SELECT row_number() OVER (ORDER BY d, t, k) AS n, d, t, k, :begins: + :bets: + row_number() OVER (ORDER BY d, t, k) AS position,
        CASE WHEN t % 4 = 3 THEN 'HKD' ELSE 'MOP' END AS currency, 'T' || lpad(t::text, 2, '0') AS table_id, date ':first:' + d::int AS day,
        timestamptz ':first: 06:00+08' + d * interval '1 day' + k * interval '1 hour' AS at,
        10000 * (1 + pg_temp.drawn('slip', d * 10000 + t * 100 + k) % 500) AS total
    FROM generate_series(0, :days: - 1) AS d, generate_series(0, :tables: - 1) AS t, generate_series(0, 8) AS k;

INSERT INTO projection.counts (slip, property, table_id, gaming_day, shift, currency, kind, total, status, written_by, written_at, written_position,
        confirmed_by, confirmed_at, confirmed_position)
    SELECT pg_temp.id('count', n), ':property:', table_id, day, 'day', currency, CASE WHEN k = 0 THEN 'opener' ELSE 'closer' END, total, 'confirmed', 'C-1', at, position, 'C-2', at, position
    FROM c WHERE k IN (0, 8);

INSERT INTO projection.slips (slip, property, table_id, gaming_day, shift, currency, kind, total, status, written_by, written_at, written_position,
        confirmed_by, confirmed_at, confirmed_position, number)
    SELECT pg_temp.id('slip', n), ':property:', table_id, day, 'day', currency, CASE WHEN k < 5 THEN 'fill' ELSE 'credit' END, total, 'confirmed', 'C-1', at, position, 'C-2', at, position,
        row_number() OVER (PARTITION BY k < 5 ORDER BY n)
    FROM c WHERE k BETWEEN 1 AND 6;

INSERT INTO projection.drops (slip, property, table_id, gaming_day, shift, currency, kind, total, status, written_by, written_at, written_position,
        confirmed_by, confirmed_at, confirmed_position, box, cash, vouchers)
    SELECT pg_temp.id('drop', n), ':property:', table_id, day, 'day', currency, 'drop', total, 'confirmed', 'C-1', at, position, 'C-2', at, position, 'B' || t, total - 5000, 5000
    FROM c WHERE k = 7;

SELECT setval('ledger.positions', (SELECT max(position) FROM c));
