-- The cage's side of the tables, and the closing of gaming days.

-- Slips. A property uses a printed number once for a fill and once for a credit, at whichever of its tables.
CREATE FUNCTION ledger.slip_number(state bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    -- The database's encoding is UTF-8, so this depends on nothing but the bytes.
    SELECT concat(body ->> 'property', '/', body ->> 'number') FROM (SELECT convert_from(state, 'UTF8')::jsonb AS body) AS said
$$;
CREATE UNIQUE INDEX events_slip ON ledger.events (topic, ledger.slip_number(state))
    WHERE topic IN ('FillRecorded.v1', 'CreditRecorded.v1');

-- What keeps a gaming day from being closed: rounds of it, or of a day before, that are open; and what came to the day after the
-- position up to which its figures were read, which is no position of the future. An event is posted to the day that it names, or
-- else to that of its round.
CREATE FUNCTION ledger.hindrances(house text, day date, as_of bigint)
RETURNS TABLE (what text, stream uuid, table_id text, "position" bigint) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
    SELECT 'ahead', NULL::uuid, NULL::text, p.last_value FROM ledger.positions AS p WHERE as_of > p.last_value;
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
-- VOLATILE, so that each of its statements sees what was committed before it: the lock is had by then.
CREATE FUNCTION ledger.verify_closing(house text, day date, as_of bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF EXISTS (SELECT FROM ledger.hindrances(house, day, as_of)) THEN
        RAISE unique_violation USING MESSAGE = 'something came to the gaming day meanwhile', CONSTRAINT = 'gaming_day_closed';
    END IF;
END
$$;

-- What is read. Nothing of an older log is in these tables, so nothing has to be folded anew.

ALTER TABLE projection.movements ALTER round DROP NOT NULL, ADD slip uuid, ADD CHECK ((round IS NULL) <> (slip IS NULL));
COMMENT ON COLUMN projection.movements.round IS 'The round; null of what a slip moves.';
COMMENT ON COLUMN projection.movements.bet IS 'The bet; null of a payment ex gratia, which is made where there was none, and of what a slip moves.';
COMMENT ON COLUMN projection.movements.slip IS 'The slip of the cage that moved it; null of what a round moves.';
COMMENT ON COLUMN projection.balances.account IS
    'player/<reference>; of a table escrow (stakes at risk), win, commission, breakage, mispay, ex_gratia, float, tray or drop, as in escrow/<table>; cage/<property>.';

CREATE TABLE projection.counts (
    slip uuid PRIMARY KEY,
    property text COLLATE "C" NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    gaming_day date NOT NULL,
    of_day date,
    shift text,
    currency text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('opener', 'closer')),
    total numeric(38, 0) NOT NULL CHECK (total >= 0),
    note text,
    status text NOT NULL CHECK (status IN ('open', 'confirmed', 'cancelling', 'cancelled')),
    written_by text NOT NULL,
    written_at timestamptz NOT NULL,
    written_position bigint NOT NULL,
    confirmed_by text CHECK (confirmed_by <> written_by),
    confirmed_at timestamptz,
    confirmed_position bigint,
    cancelled_by text,
    cancelled_at timestamptz,
    cancelled_position bigint,
    cancel_reason text,
    cancel_note text,
    reversed_by text CHECK (reversed_by <> cancelled_by),
    reversed_at timestamptz,
    reversed_position bigint,
    reversed_day date,
    CHECK ((confirmed_by IS NULL) = (confirmed_position IS NULL) AND (reversed_by IS NULL) = (reversed_position IS NULL)),
    CHECK ((reversed_day IS NULL) = (reversed_position IS NULL) AND (status <> 'open' OR cancelled_position IS NULL)),
    CHECK ((status = 'cancelled') = (cancelled_position IS NOT NULL AND (confirmed_position IS NULL OR reversed_position IS NOT NULL)))
);
CREATE TABLE projection.slips (LIKE projection.counts INCLUDING ALL, number bigint NOT NULL CHECK (number > 0));
ALTER TABLE projection.slips DROP CONSTRAINT counts_kind_check, ADD CHECK (kind IN ('fill', 'credit')),
    ADD CONSTRAINT slips_number UNIQUE (property, kind, number);
CREATE TABLE projection.drops (
    LIKE projection.counts INCLUDING ALL, box text NOT NULL, cash numeric(38, 0) NOT NULL, vouchers numeric(38, 0) NOT NULL,
    CHECK (cash >= 0 AND vouchers >= 0 AND cash + vouchers = total)
);
ALTER TABLE projection.drops DROP CONSTRAINT counts_kind_check, ADD CHECK (kind = 'drop');
DO $$
DECLARE
    register text;
    named text;
    said text;
BEGIN
    FOREACH register IN ARRAY ARRAY['counts', 'slips', 'drops'] LOOP
        EXECUTE format('CREATE INDEX %I ON projection.%I (gaming_day, table_id)', register || '_of_day', register);
        EXECUTE format('CREATE INDEX %I ON projection.%I (reversed_day) WHERE reversed_day IS NOT NULL', register || '_reversed', register);
        EXECUTE format('CREATE INDEX %I ON projection.%I (written_position)', register || '_in_order', register);
        FOR named, said IN SELECT * FROM (VALUES
            ('slip', 'The slip''s id.'),
            ('property', 'Id of the house.'),
            ('table_id', 'The table.'),
            ('gaming_day', 'The day to which it is posted, or will be.'),
            ('of_day', 'The day that it is about, where that one was closed and so it is posted to another.'),
            ('shift', 'The shift, as it was reported, where it was.'),
            ('currency', 'Currency of its amounts.'),
            ('total', 'What it comes to, in minor units.'),
            ('note', 'In words, where somebody wrote some.'),
            ('status', 'open: nobody else has signed it, and it has moved nothing; confirmed: it is posted; cancelling: it is posted, and its cancellation waits for another person; cancelled: it counts for nothing.'),
            ('written_by', 'Reference of the person who wrote it.'),
            ('written_at', 'When the service received it.'),
            ('written_position', 'Position of the event that put it on record.'),
            ('confirmed_by', 'Reference of the other person who signed it.'),
            ('confirmed_at', 'When the service received that.'),
            ('confirmed_position', 'Position of the event that posted it.'),
            ('cancelled_by', 'Reference of the person who cancelled it, or asked for that.'),
            ('cancelled_at', 'When the service received that.'),
            ('cancelled_position', 'Position of that event.'),
            ('cancel_reason', 'The reason''s code.'),
            ('cancel_note', 'The reason in words, where somebody wrote some.'),
            ('reversed_by', 'Reference of the other person who signed the cancellation of a confirmed slip.'),
            ('reversed_at', 'When the service received that.'),
            ('reversed_position', 'Position of the event by which it was posted back.'),
            ('reversed_day', 'The day to which it was posted back.')
        ) AS columns LOOP
            EXECUTE format('COMMENT ON COLUMN projection.%I.%I IS %L', register, named, said);
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON TABLE projection.counts IS 'Each count of a table''s float, as it opened or closed. The chips are in chips.';
COMMENT ON COLUMN projection.counts.kind IS 'opener or closer.';
COMMENT ON TABLE projection.slips IS 'Each slip of a fill or a credit, cancelled ones included: every number is accounted for. The chips are in chips.';
COMMENT ON COLUMN projection.slips.kind IS 'fill: from the cage to the table; credit: from the table to the cage.';
COMMENT ON COLUMN projection.slips.number IS 'As printed on the slip; a property uses it once for each kind.';
COMMENT ON TABLE projection.drops IS 'Each count of what a table''s drop box held, in one currency.';
COMMENT ON COLUMN projection.drops.kind IS 'drop.';
COMMENT ON COLUMN projection.drops.box IS 'Number or other reference of the box.';
COMMENT ON COLUMN projection.drops.cash IS 'Banknotes, in minor units.';
COMMENT ON COLUMN projection.drops.vouchers IS 'Vouchers for chips, in minor units.';

CREATE TABLE projection.chips (
    slip uuid NOT NULL,
    value bigint NOT NULL CHECK (value > 0),
    count bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (slip, value)
);
COMMENT ON TABLE projection.chips IS 'The chips of each count, fill and credit, by denomination.';
COMMENT ON COLUMN projection.chips.slip IS 'The slip.';
COMMENT ON COLUMN projection.chips.value IS 'Of one chip, in minor units of the slip''s currency.';
COMMENT ON COLUMN projection.chips.count IS 'How many there are.';

CREATE TABLE projection.days (
    property text COLLATE "C" NOT NULL,
    gaming_day date NOT NULL,
    closed_by text NOT NULL,
    closed_at timestamptz NOT NULL,
    position bigint NOT NULL,
    as_of bigint NOT NULL CHECK (as_of < position),
    figures text NOT NULL,
    despite text NOT NULL,
    note text,
    PRIMARY KEY (property, gaming_day)
);
COMMENT ON TABLE projection.days IS 'The gaming days that are closed. All before a property''s first one are closed with it.';
COMMENT ON COLUMN projection.days.property IS 'Id of the house.';
COMMENT ON COLUMN projection.days.gaming_day IS 'The day.';
COMMENT ON COLUMN projection.days.closed_by IS 'Reference of the person who closed it.';
COMMENT ON COLUMN projection.days.closed_at IS 'When the service received that.';
COMMENT ON COLUMN projection.days.position IS 'Position of the event that closed it.';
COMMENT ON COLUMN projection.days.as_of IS 'Position up to which its figures were read; nothing came to it after that.';
COMMENT ON COLUMN projection.days.figures IS 'SHA-256 of its figures in canonical form, hex.';
COMMENT ON COLUMN projection.days.despite IS 'What was unfinished and acknowledged, by code, separated by spaces; empty where nothing was.';
COMMENT ON COLUMN projection.days.note IS 'In words, where somebody wrote some.';

ALTER TABLE projection.table_reports ADD earlier numeric(38, 0) NOT NULL DEFAULT 0;
COMMENT ON COLUMN projection.table_reports.earlier IS
    'Corrections of rounds of earlier days, which were closed: what they add to the win, posted to this day. No part of the other columns.';

CREATE VIEW projection.slip_postings AS
WITH written AS (
    SELECT slip, kind, property, table_id, gaming_day, reversed_day, shift, currency, total, confirmed_position FROM projection.counts
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, reversed_day, shift, currency, total, confirmed_position FROM projection.slips
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, reversed_day, shift, currency, total, confirmed_position FROM projection.drops
)
SELECT slip, kind, property, table_id, gaming_day, shift, currency, 1 AS times, total AS amount
FROM written WHERE confirmed_position IS NOT NULL
UNION ALL
SELECT slip, kind, property, table_id, reversed_day, shift, currency, -1, -total FROM written WHERE reversed_day IS NOT NULL;
COMMENT ON VIEW projection.slip_postings IS
    'What slips posted to which day. A slip whose cancellation was confirmed is there once more, with its amount below zero.';
COMMENT ON COLUMN projection.slip_postings.slip IS 'The slip.';
COMMENT ON COLUMN projection.slip_postings.kind IS 'opener, closer, fill, credit or drop.';
COMMENT ON COLUMN projection.slip_postings.property IS 'Id of the house.';
COMMENT ON COLUMN projection.slip_postings.table_id IS 'The table.';
COMMENT ON COLUMN projection.slip_postings.gaming_day IS 'The day to which it is posted.';
COMMENT ON COLUMN projection.slip_postings.shift IS 'The shift, where one was reported.';
COMMENT ON COLUMN projection.slip_postings.currency IS 'Currency of the amount.';
COMMENT ON COLUMN projection.slip_postings.times IS '1; -1 where it is posted back.';
COMMENT ON COLUMN projection.slip_postings.amount IS 'Minor units; negative where it is posted back.';

CREATE VIEW projection.shift_counts AS
SELECT property, table_id, gaming_day, shift, currency, opener, fills, credits, "drop", closer,
       CASE WHEN complete THEN coalesce(closer, 0) + credits + coalesce("drop", 0) - coalesce(opener, 0) - fills END AS count_win
FROM (
    SELECT property, table_id, gaming_day, shift, currency,
           sum(amount) FILTER (WHERE kind = 'opener') AS opener,
           coalesce(sum(amount) FILTER (WHERE kind = 'fill'), 0) AS fills,
           coalesce(sum(amount) FILTER (WHERE kind = 'credit'), 0) AS credits,
           sum(amount) FILTER (WHERE kind = 'drop') AS "drop",
           sum(amount) FILTER (WHERE kind = 'closer') AS closer,
           -- As many closers as openers, and then a drop; or nothing but what puts a day right that is closed.
           bool_or(kind IN ('opener', 'closer'))
               AND coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = coalesce(sum(times) FILTER (WHERE kind = 'closer'), 0)
               AND (bool_or(kind = 'drop') OR coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = 0) AS complete
    FROM projection.slip_postings GROUP BY property, table_id, gaming_day, shift, currency
) AS counted;
COMMENT ON VIEW projection.shift_counts IS
    'What the cage''s side says of each table, gaming day and shift: count win = closer + credits + drop - opener - fills.';
COMMENT ON COLUMN projection.shift_counts.property IS 'Id of the house.';
COMMENT ON COLUMN projection.shift_counts.table_id IS 'The table.';
COMMENT ON COLUMN projection.shift_counts.gaming_day IS 'The gaming day.';
COMMENT ON COLUMN projection.shift_counts.shift IS 'The shift as it was reported; null where none was.';
COMMENT ON COLUMN projection.shift_counts.currency IS 'Currency of the amounts.';
COMMENT ON COLUMN projection.shift_counts.opener IS 'Confirmed openers, in minor units; null where there is none.';
COMMENT ON COLUMN projection.shift_counts.fills IS 'Confirmed fills.';
COMMENT ON COLUMN projection.shift_counts.credits IS 'Confirmed credits.';
COMMENT ON COLUMN projection.shift_counts.drop IS 'Confirmed drop; null where none was counted.';
COMMENT ON COLUMN projection.shift_counts.closer IS 'Confirmed closers; null where there is none.';
COMMENT ON COLUMN projection.shift_counts.count_win IS 'Null where an opener, a closer or the drop is missing.';

CREATE VIEW projection.table_days AS
WITH counted AS (
    SELECT property, table_id, gaming_day, currency, sum(opener) AS opener, sum(fills) AS fills, sum(credits) AS credits,
           sum("drop") AS "drop", sum(closer) AS closer,
           coalesce(sum(closer), 0) + sum(credits) + coalesce(sum("drop"), 0) - coalesce(sum(opener), 0) - sum(fills) AS found
    FROM projection.shift_counts GROUP BY property, table_id, gaming_day, currency
), complete AS (
    SELECT property, table_id, gaming_day, currency
    FROM projection.slip_postings GROUP BY property, table_id, gaming_day, currency
    HAVING bool_or(kind IN ('opener', 'closer'))
       AND coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = coalesce(sum(times) FILTER (WHERE kind = 'closer'), 0)
       AND (bool_or(kind = 'drop') OR coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = 0)
), played AS (
    SELECT table_id, gaming_day, currency, sum(lost + won) AS handle, sum(lost - prizes) AS rounds_win,
           sum(earlier) AS earlier, sum(adjusted) AS adjusted
    FROM projection.table_reports GROUP BY table_id, gaming_day, currency
), both_sides AS (
    SELECT c.property, table_id, gaming_day, currency, c.opener, coalesce(c.fills, 0) AS fills, coalesce(c.credits, 0) AS credits,
           c."drop", c.closer, CASE WHEN w.table_id IS NOT NULL THEN c.found END AS count_win,
           coalesce(p.handle, 0) AS handle, coalesce(p.rounds_win, 0) AS rounds_win, coalesce(p.earlier, 0) AS earlier,
           coalesce(p.rounds_win, 0) + coalesce(p.earlier, 0) AS ledger_win, coalesce(p.adjusted, 0) AS adjusted
    FROM counted AS c LEFT JOIN complete AS w USING (property, table_id, gaming_day, currency)
    FULL JOIN played AS p USING (table_id, gaming_day, currency)
)
SELECT coalesce(
           property,
           (SELECT r.property FROM projection.rounds AS r WHERE (r.gaming_day, r.table_id) = (b.gaming_day, b.table_id) LIMIT 1),
           (SELECT r.property FROM projection.rounds AS r WHERE r.table_id = b.table_id ORDER BY r.first_position DESC LIMIT 1)
       ) AS property,
       table_id, gaming_day, currency, opener, fills, credits, "drop", closer, count_win, handle, rounds_win, earlier, ledger_win,
       adjusted, count_win - ledger_win AS variance, ledger_win / nullif("drop", 0) AS hold
FROM both_sides AS b;
COMMENT ON VIEW projection.table_days IS
    'Each table, gaming day and currency by both sides: what was counted, and what the rounds came to. Unconfirmed slips are in no figure.';
COMMENT ON COLUMN projection.table_days.property IS 'Id of the house.';
COMMENT ON COLUMN projection.table_days.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_days.gaming_day IS 'The gaming day to which it is posted.';
COMMENT ON COLUMN projection.table_days.currency IS 'Currency of the amounts.';
COMMENT ON COLUMN projection.table_days.opener IS
    'Sum of the confirmed openers, in minor units; null where there is none. Of several shifts each but the first is the closer before it.';
COMMENT ON COLUMN projection.table_days.fills IS 'Sum of the confirmed fills.';
COMMENT ON COLUMN projection.table_days.credits IS 'Sum of the confirmed credits.';
COMMENT ON COLUMN projection.table_days.drop IS 'Sum of the confirmed drop; null where none was counted.';
COMMENT ON COLUMN projection.table_days.closer IS 'Sum of the confirmed closers; null where there is none.';
COMMENT ON COLUMN projection.table_days.count_win IS
    'closer + credits + drop - opener - fills; null where the drop is missing, or there is not a closer for each opener.';
COMMENT ON COLUMN projection.table_days.handle IS 'Stakes lost and won, of the rounds of the day.';
COMMENT ON COLUMN projection.table_days.rounds_win IS 'Stakes lost less net prizes, of the rounds of the day.';
COMMENT ON COLUMN projection.table_days.earlier IS 'What corrections of earlier days, posted to this one, add to the win.';
COMMENT ON COLUMN projection.table_days.ledger_win IS 'rounds_win + earlier.';
COMMENT ON COLUMN projection.table_days.adjusted IS
    'Paid to players beside the regulation less what was taken from them; no part of the win.';
COMMENT ON COLUMN projection.table_days.variance IS 'count_win - ledger_win; null where there is no count win.';
COMMENT ON COLUMN projection.table_days.hold IS 'ledger_win / drop, a fraction; null where there is no drop.';

CREATE VIEW projection.chip_kinds AS
SELECT r.property, r.table_id, r.gaming_day, r.shift, r.currency, b.chip,
       coalesce(sum(b.stake) FILTER (WHERE b.placed_in = b.round), 0) AS staked,
       coalesce(sum(d.stake) FILTER (WHERE d.result = 'lost'), 0) AS lost,
       coalesce(sum(d.stake) FILTER (WHERE d.result = 'won'), 0) AS won,
       coalesce(sum(d.stake) FILTER (WHERE d.result = 'push'), 0) AS pushed,
       coalesce(sum(d.stake) FILTER (WHERE d.result IN ('void', 'withdrawn')), 0) AS undecided,
       coalesce(sum(d.stake) FILTER (WHERE d.result IN ('won', 'push', 'void', 'withdrawn')), 0) AS returned,
       coalesce(sum(d.net_prize), 0) AS prizes
FROM projection.bets AS b
JOIN projection.rounds AS r ON r.round = b.round
LEFT JOIN projection.results AS d ON (d.round, d.bet) = (b.round, b.bet)
GROUP BY r.property, r.table_id, r.gaming_day, r.shift, r.currency, b.chip;
COMMENT ON VIEW projection.chip_kinds IS
    'What was bet in each kind of chip and what became of it, by the round''s own gaming day and as last corrected. Stakes go back in kind; prizes are paid in cash chips.';
COMMENT ON COLUMN projection.chip_kinds.property IS 'Id of the house.';
COMMENT ON COLUMN projection.chip_kinds.table_id IS 'The table.';
COMMENT ON COLUMN projection.chip_kinds.gaming_day IS 'The gaming day of the rounds.';
COMMENT ON COLUMN projection.chip_kinds.shift IS 'The shift of the rounds; null where none was reported.';
COMMENT ON COLUMN projection.chip_kinds.currency IS 'Currency of the amounts.';
COMMENT ON COLUMN projection.chip_kinds.chip IS 'cash, non_negotiable, promotional or colour; in older logs whatever the terminal wrote.';
COMMENT ON COLUMN projection.chip_kinds.staked IS 'Stakes of the bets placed in these rounds, as they last stood, in minor units.';
COMMENT ON COLUMN projection.chip_kinds.lost IS 'Stakes that lost: chips of this kind that went to the house.';
COMMENT ON COLUMN projection.chip_kinds.won IS 'Stakes that won.';
COMMENT ON COLUMN projection.chip_kinds.pushed IS 'Stakes that neither won nor lost.';
COMMENT ON COLUMN projection.chip_kinds.undecided IS 'Stakes that went back undecided: withdrawn or void.';
COMMENT ON COLUMN projection.chip_kinds.returned IS 'won + pushed + undecided: chips of this kind that went back to their players.';
COMMENT ON COLUMN projection.chip_kinds.prizes IS 'Net prizes on these stakes, which are paid in cash chips.';
