-- The stable contract for reports and BI: views that say in the trade's words what projections and log hold.
--
-- A column here keeps its name, type and meaning from one release to the next; new ones join at the end. A later migration that
-- changes a column below drops the view and makes it again. Amounts are exact decimals of the row's currency: MOP 100.00 is 100.00.
CREATE SCHEMA report;
COMMENT ON SCHEMA report IS
    'What is reported: views that keep their columns from release to release; amounts are exact decimals of the row''s currency.';

-- Documents are few among the events of a log, and several views begin with them.
CREATE INDEX events_documents ON ledger.events (notification_id) WHERE topic = 'DocumentRecorded.v1';

-- Minor units as a decimal of their currency. One expression, so that it becomes part of every query; a test holds its currencies
-- to those of ledger/money.py.
CREATE FUNCTION report.amount(minor numeric, currency text) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN currency IN ('JPY', 'KRW', 'VND') THEN minor ELSE minor * 0.01 END
$$;
COMMENT ON FUNCTION report.amount(numeric, text) IS 'Minor units as a decimal of their currency.';

CREATE VIEW report.rounds AS
SELECT
    r.round,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.status,
    r.disposition,
    r.regulation,
    r.applied,
    r.regulation_hash,
    r.property_hash,
    (SELECT convert_from(e.state, 'UTF8')::jsonb ->> 'limits' FROM ledger.events AS e WHERE e.originator_id = r.round AND e.originator_version = 1) AS limits,
    r.dealer,
    r.supervisor,
    r.opened_at,
    r.closed_at,
    r.settled_at,
    (SELECT string_agg(convert_from(e.state, 'UTF8')::jsonb ->> 'raw', ',' ORDER BY e.originator_version) FROM ledger.events AS e WHERE e.originator_id = r.round AND e.topic IN ('OutcomeRecorded.v1', 'ThrowRecorded.v1')) AS outcome_raw,
    r.outcome,
    r.shown,
    r.throws,
    r.void_launches,
    r.predecessor,
    r.successor,
    (SELECT p.round FROM projection.rounds AS p WHERE p.table_id = r.table_id AND p.first_position < r.first_position ORDER BY p.first_position DESC LIMIT 1) AS previous,
    (SELECT n.round FROM projection.rounds AS n WHERE n.table_id = r.table_id AND n.first_position > r.first_position ORDER BY n.first_position LIMIT 1) AS next,
    r.currency,
    r.bets,
    r.resolved,
    report.amount(r.stakes, r.currency) AS stakes,
    report.amount(r.carried_in, r.currency) AS carried_in,
    report.amount(r.carried_out, r.currency) AS carried_out,
    report.amount(r.returned, r.currency) AS returned,
    report.amount(r.escrow, r.currency) AS escrow,
    report.amount(r.lost + r.won, r.currency) AS handle,
    report.amount(r.lost, r.currency) AS lost,
    report.amount(r.won, r.currency) AS won,
    report.amount(r.pushed, r.currency) AS pushed,
    report.amount(r.prizes, r.currency) AS prizes,
    report.amount(r.commission, r.currency) AS commission,
    report.amount(r.breakage, r.currency) AS breakage,
    report.amount(r.lost - r.prizes, r.currency) AS win,
    report.amount(r.adjusted, r.currency) AS adjusted,
    r.holds,
    r.corrections_pending,
    r.corrections,
    r.first_position,
    r.last_position
FROM projection.rounds AS r;
COMMENT ON VIEW report.rounds IS
    'The round log: each round with all that a regulator asks of it, as its events so far leave it.';
COMMENT ON COLUMN report.rounds.round IS 'The round''s id.';
COMMENT ON COLUMN report.rounds.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.rounds.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.rounds.table_id IS 'The table.';
COMMENT ON COLUMN report.rounds.game IS 'The game.';
COMMENT ON COLUMN report.rounds.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.rounds.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.rounds.status IS 'open, closed, settled, resettled (a correction changed it) or voided (it ended without a result).';
COMMENT ON COLUMN report.rounds.disposition IS 'Of a voided round: carry, its stakes went on to the successor; return, the house gave them back.';
COMMENT ON COLUMN report.rounds.regulation IS 'Number of the order under which it is settled.';
COMMENT ON COLUMN report.rounds.applied IS 'Set where the regulation is applied beyond its repeal: the sentence to print.';
COMMENT ON COLUMN report.rounds.regulation_hash IS 'SHA-256 of the regulation''s canonical content, which is in the log.';
COMMENT ON COLUMN report.rounds.property_hash IS 'SHA-256 of the property''s configuration, which is in the log.';
COMMENT ON COLUMN report.rounds.limits IS 'The table''s limits in force at its opening, in words.';
COMMENT ON COLUMN report.rounds.dealer IS 'Reference of the dealer at its opening.';
COMMENT ON COLUMN report.rounds.supervisor IS 'Reference of the supervisor at its opening.';
COMMENT ON COLUMN report.rounds.opened_at IS 'When the service received the opening.';
COMMENT ON COLUMN report.rounds.closed_at IS 'When the service received the close of betting.';
COMMENT ON COLUMN report.rounds.settled_at IS 'When the service received the outcome or throw that settled it.';
COMMENT ON COLUMN report.rounds.outcome_raw IS 'The outcome as the terminal wrote it, before any correction; of craps each throw.';
COMMENT ON COLUMN report.rounds.outcome IS 'The outcome in canonical form, as last corrected; of craps the throws so far.';
COMMENT ON COLUMN report.rounds.shown IS 'The outcome in words, as the table announces it.';
COMMENT ON COLUMN report.rounds.throws IS 'Craps: number of throws, void ones included; else 0.';
COMMENT ON COLUMN report.rounds.void_launches IS 'Number of launches or shakes that were void.';
COMMENT ON COLUMN report.rounds.predecessor IS 'The round whose bets it took over.';
COMMENT ON COLUMN report.rounds.successor IS 'The round that took over bets of it.';
COMMENT ON COLUMN report.rounds.previous IS 'The round before it at the same table.';
COMMENT ON COLUMN report.rounds.next IS 'The round after it at the same table.';
COMMENT ON COLUMN report.rounds.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.rounds.bets IS 'Number of bets placed in it, those withdrawn or voided later included.';
COMMENT ON COLUMN report.rounds.resolved IS 'Number of bets that lost, won or were pushed.';
COMMENT ON COLUMN report.rounds.stakes IS 'Sum of the stakes that were taken in it.';
COMMENT ON COLUMN report.rounds.carried_in IS 'Sum of the stakes taken over from the predecessor.';
COMMENT ON COLUMN report.rounds.carried_out IS 'Sum of the stakes left to the successor.';
COMMENT ON COLUMN report.rounds.returned IS 'Sum of the stakes that went back undecided.';
COMMENT ON COLUMN report.rounds.escrow IS 'Sum of the stakes that are undecided.';
COMMENT ON COLUMN report.rounds.handle IS 'Stakes that lost or won; pushed stakes are not counted.';
COMMENT ON COLUMN report.rounds.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN report.rounds.won IS 'Sum of the stakes that won; they went back.';
COMMENT ON COLUMN report.rounds.pushed IS 'Sum of the stakes that neither won nor lost; they went back.';
COMMENT ON COLUMN report.rounds.prizes IS 'Sum of the net prizes, after commission and breakage.';
COMMENT ON COLUMN report.rounds.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN report.rounds.breakage IS 'Sum of the breakage kept.';
COMMENT ON COLUMN report.rounds.win IS 'Stakes lost less net prizes; commission and breakage are in it once.';
COMMENT ON COLUMN report.rounds.adjusted IS 'Paid to players beside the regulation less what was taken from them; no part of the win.';
COMMENT ON COLUMN report.rounds.holds IS 'Number of holds that are open.';
COMMENT ON COLUMN report.rounds.corrections_pending IS 'Number of corrections that wait for an approval.';
COMMENT ON COLUMN report.rounds.corrections IS 'Number of corrections that were approved.';
COMMENT ON COLUMN report.rounds.first_position IS 'Position of the event that opened it.';
COMMENT ON COLUMN report.rounds.last_position IS 'Position of its latest event.';

CREATE VIEW report.bets AS
SELECT
    b.bet,
    b.round,
    b.placed_in,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.regulation,
    r.regulation_hash,
    b.player,
    b.seat,
    b.spot,
    split_part(b.spot, ':', 1) AS chance,
    CASE WHEN said.body ->> 'spot' = b.spot THEN translate(said.body ->> 'numbers', '[] ', '') END AS numbers,
    r.currency,
    report.amount(coalesce(s.stake, b.stake), r.currency) AS stake,
    b.chip,
    b.late,
    b.locked,
    coalesce(s.result, 'open') AS result,
    s.odds,
    s.prize_exact,
    report.amount(s.prize, r.currency) AS prize,
    report.amount(s.commission, r.currency) AS commission,
    report.amount(s.breakage, r.currency) AS breakage,
    report.amount(s.net_prize, r.currency) AS net_prize,
    report.amount(s.returned, r.currency) AS returned,
    report.amount(CASE s.result WHEN 'lost' THEN s.stake WHEN 'won' THEN -s.net_prize WHEN 'push' THEN 0 END, r.currency) AS house_result,
    s.edge,
    s.article,
    b.corrections,
    said.body ->> 'terminal' AS terminal,
    coalesce((said.body ->> 'epoch')::bigint, 0) AS terminal_epoch,
    (said.body ->> 'sequence')::bigint AS terminal_sequence,
    (said.body ->> 'cause')::uuid AS event_id,
    (said.body ->> 'occurred_at')::timestamptz AS occurred_at,
    (said.body ->> 'received_at')::timestamptz AS received_at,
    b.position,
    s.resolved_position
FROM projection.bets AS b JOIN projection.rounds AS r USING (round) LEFT JOIN projection.results AS s USING (round, bet)
LEFT JOIN ledger.events AS e ON e.notification_id = b.position
CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said;
COMMENT ON VIEW report.bets IS
    'The bet log: each bet in each round in which it lay, with what became of it. A carried bet has a row in every round of its chain, with the result carried in all but the last.';
COMMENT ON COLUMN report.bets.bet IS 'The bet''s id, which it keeps in every round.';
COMMENT ON COLUMN report.bets.round IS 'The round in which it lies or lay.';
COMMENT ON COLUMN report.bets.placed_in IS 'The round in which it was placed.';
COMMENT ON COLUMN report.bets.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.bets.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.bets.table_id IS 'The table.';
COMMENT ON COLUMN report.bets.game IS 'The game.';
COMMENT ON COLUMN report.bets.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.bets.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.bets.regulation IS 'Number of the order under which it is settled.';
COMMENT ON COLUMN report.bets.regulation_hash IS 'SHA-256 of the regulation''s canonical content, which is in the log.';
COMMENT ON COLUMN report.bets.player IS 'Reference of the player, as last corrected.';
COMMENT ON COLUMN report.bets.seat IS 'Number of the player''s place, where the terminal gave one.';
COMMENT ON COLUMN report.bets.spot IS 'Bet notation in canonical form, as last changed, moved by a throw, or corrected.';
COMMENT ON COLUMN report.bets.chance IS 'Code of the chance.';
COMMENT ON COLUMN report.bets.numbers IS 'The numbers that the spot covers, as they were placed; null where the bet has moved since, or was carried.';
COMMENT ON COLUMN report.bets.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.bets.stake IS 'The stake with which it was decided; of an open bet that as it stands.';
COMMENT ON COLUMN report.bets.chip IS 'Kind of chip.';
COMMENT ON COLUMN report.bets.late IS 'Whether it was received after betting closed, though placed before.';
COMMENT ON COLUMN report.bets.locked IS 'Whether it was carried here and can be withdrawn, changed or returned no more.';
COMMENT ON COLUMN report.bets.result IS 'open, lost, won, push, void (the stake went back undecided), withdrawn, or carried (it lies in the successor).';
COMMENT ON COLUMN report.bets.odds IS 'Prize for each unit staked, a fraction.';
COMMENT ON COLUMN report.bets.prize_exact IS 'Stake x odds as a fraction of minor units.';
COMMENT ON COLUMN report.bets.prize IS 'The exact prize, rounded down to the minor unit.';
COMMENT ON COLUMN report.bets.commission IS 'What the house keeps of the prize.';
COMMENT ON COLUMN report.bets.breakage IS 'What rounding leaves with the house.';
COMMENT ON COLUMN report.bets.net_prize IS 'What the player gets besides the stake.';
COMMENT ON COLUMN report.bets.returned IS 'What the player gets in all, the stake included where it goes back.';
COMMENT ON COLUMN report.bets.house_result IS 'What the bet left with the house: the stake lost, or the net prize with a minus; null of a bet that was not decided.';
COMMENT ON COLUMN report.bets.edge IS 'House edge of the spot under the regulation, a fraction.';
COMMENT ON COLUMN report.bets.article IS 'Order and articles by which it was decided.';
COMMENT ON COLUMN report.bets.corrections IS 'How often it was corrected.';
COMMENT ON COLUMN report.bets.terminal IS 'The terminal that reported it; of a carried bet, what carried it.';
COMMENT ON COLUMN report.bets.terminal_epoch IS 'The terminal''s count of its restarts.';
COMMENT ON COLUMN report.bets.terminal_sequence IS 'The terminal''s own number of the report, where it numbers them.';
COMMENT ON COLUMN report.bets.event_id IS 'The report''s event id, which is the key of every retry.';
COMMENT ON COLUMN report.bets.occurred_at IS 'When it happened, by the terminal''s clock.';
COMMENT ON COLUMN report.bets.received_at IS 'When the service received it.';
COMMENT ON COLUMN report.bets.position IS 'Position of the event by which it came into this round.';
COMMENT ON COLUMN report.bets.resolved_position IS 'Position of the event that made the result what it is.';

CREATE VIEW report.slips AS
SELECT
    r.slip,
    r.kind,
    r.number,
    r.property,
    r.table_id,
    r.gaming_day,
    r.of_day,
    r.shift,
    r.currency,
    report.amount(r.total, r.currency) AS total,
    report.amount(r.cash, r.currency) AS cash,
    report.amount(r.vouchers, r.currency) AS vouchers,
    r.box,
    r.status,
    r.written_by,
    r.written_at,
    r.confirmed_by,
    r.confirmed_at,
    r.cancelled_by,
    r.cancelled_at,
    r.cancel_reason,
    r.reversed_by,
    r.reversed_at,
    r.reversed_day,
    r.note,
    r.cancel_note,
    r.written_position,
    r.confirmed_position,
    r.reversed_position
FROM (
    SELECT slip, kind, property, table_id, gaming_day, of_day, shift, currency, total, note, status, written_by, written_at, written_position, confirmed_by, confirmed_at, confirmed_position, cancelled_by, cancelled_at, cancelled_position, cancel_reason, cancel_note, reversed_by, reversed_at, reversed_position, reversed_day, NULL::bigint AS number, NULL AS box, NULL::numeric AS cash, NULL::numeric AS vouchers FROM projection.counts
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, of_day, shift, currency, total, note, status, written_by, written_at, written_position, confirmed_by, confirmed_at, confirmed_position, cancelled_by, cancelled_at, cancelled_position, cancel_reason, cancel_note, reversed_by, reversed_at, reversed_position, reversed_day, number, NULL, NULL, NULL FROM projection.slips
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, of_day, shift, currency, total, note, status, written_by, written_at, written_position, confirmed_by, confirmed_at, confirmed_position, cancelled_by, cancelled_at, cancelled_position, cancel_reason, cancel_note, reversed_by, reversed_at, reversed_position, reversed_day, NULL, box, cash, vouchers FROM projection.drops
) AS r;
COMMENT ON VIEW report.slips IS
    'Every slip of the cage''s side of the tables: openers, closers, fills, credits and drops, cancelled ones included.';
COMMENT ON COLUMN report.slips.slip IS 'The slip''s id.';
COMMENT ON COLUMN report.slips.kind IS 'opener, closer, fill, credit or drop.';
COMMENT ON COLUMN report.slips.number IS 'Of fills and credits, as printed; a property uses each once.';
COMMENT ON COLUMN report.slips.property IS 'The property.';
COMMENT ON COLUMN report.slips.table_id IS 'The table.';
COMMENT ON COLUMN report.slips.gaming_day IS 'The day to which it is posted, or will be.';
COMMENT ON COLUMN report.slips.of_day IS 'The day that it is about, where that one was closed and so it is posted to another.';
COMMENT ON COLUMN report.slips.shift IS 'The shift, where it was reported.';
COMMENT ON COLUMN report.slips.currency IS 'Currency of its amounts.';
COMMENT ON COLUMN report.slips.total IS 'What it comes to.';
COMMENT ON COLUMN report.slips.cash IS 'Of a drop: banknotes.';
COMMENT ON COLUMN report.slips.vouchers IS 'Of a drop: vouchers for chips.';
COMMENT ON COLUMN report.slips.box IS 'Of a drop: the box.';
COMMENT ON COLUMN report.slips.status IS 'open: one person has signed it, and it has moved nothing; confirmed: it is posted; cancelling: it is posted, and its cancellation waits; cancelled: it counts for nothing.';
COMMENT ON COLUMN report.slips.written_by IS 'Reference of the person who wrote it.';
COMMENT ON COLUMN report.slips.written_at IS 'When the service received it.';
COMMENT ON COLUMN report.slips.confirmed_by IS 'Reference of the other person who signed it.';
COMMENT ON COLUMN report.slips.confirmed_at IS 'When the service received that.';
COMMENT ON COLUMN report.slips.cancelled_by IS 'Reference of the person who cancelled it, or asked for that.';
COMMENT ON COLUMN report.slips.cancelled_at IS 'When the service received that.';
COMMENT ON COLUMN report.slips.cancel_reason IS 'The reason''s code.';
COMMENT ON COLUMN report.slips.reversed_by IS 'Reference of the other person who signed the cancellation of a posted slip.';
COMMENT ON COLUMN report.slips.reversed_at IS 'When the service received that.';
COMMENT ON COLUMN report.slips.reversed_day IS 'The day to which it was posted back.';
COMMENT ON COLUMN report.slips.note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN report.slips.cancel_note IS 'The reason of its cancellation in words.';
COMMENT ON COLUMN report.slips.written_position IS 'Position of the event that put it on record.';
COMMENT ON COLUMN report.slips.confirmed_position IS 'Position of the event that posted it.';
COMMENT ON COLUMN report.slips.reversed_position IS 'Position of the event by which it was posted back.';

CREATE VIEW report.days AS
SELECT
    r.property,
    r.gaming_day,
    r.closed_by,
    r.closed_at,
    r.as_of,
    r.figures,
    r.despite,
    r.note,
    r.position
FROM projection.days AS r;
COMMENT ON VIEW report.days IS
    'The gaming days that are closed; what comes to one later is posted to an open day.';
COMMENT ON COLUMN report.days.property IS 'The property.';
COMMENT ON COLUMN report.days.gaming_day IS 'The day.';
COMMENT ON COLUMN report.days.closed_by IS 'Reference of the person who closed it.';
COMMENT ON COLUMN report.days.closed_at IS 'When the service received that.';
COMMENT ON COLUMN report.days.as_of IS 'Position up to which its figures were read; nothing came to it after that.';
COMMENT ON COLUMN report.days.figures IS 'SHA-256 of its figures in canonical form.';
COMMENT ON COLUMN report.days.despite IS 'What was unfinished and acknowledged, by code.';
COMMENT ON COLUMN report.days.note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN report.days.position IS 'Position of the event that closed it.';

CREATE VIEW report.movements AS
SELECT
    v.position,
    v.line,
    v.round,
    v.bet,
    v.slip,
    coalesce(r.property, l.property) AS property,
    r.pit,
    v.table_id,
    r.game,
    coalesce(r.gaming_day, CASE WHEN v.position = l.reversed_position THEN l.reversed_day ELSE l.gaming_day END) AS gaming_day,
    coalesce(r.shift, l.shift) AS shift,
    v.currency,
    v.debit,
    v.credit,
    report.amount(v.amount, v.currency) AS amount
FROM projection.movements AS v LEFT JOIN projection.rounds AS r USING (round) LEFT JOIN report.slips AS l USING (slip);
COMMENT ON VIEW report.movements IS
    'Every amount that moved, from one account to another.';
COMMENT ON COLUMN report.movements.position IS 'Position of the event that moved it.';
COMMENT ON COLUMN report.movements.line IS 'Number of the movement among those of its event, from 1.';
COMMENT ON COLUMN report.movements.round IS 'The round; null of what a slip moves.';
COMMENT ON COLUMN report.movements.bet IS 'The bet; null of a payment ex gratia and of what a slip moves.';
COMMENT ON COLUMN report.movements.slip IS 'The slip of the cage; null of what a round moves.';
COMMENT ON COLUMN report.movements.property IS 'The property.';
COMMENT ON COLUMN report.movements.pit IS 'The pit in which the table stood; null of what a slip moves.';
COMMENT ON COLUMN report.movements.table_id IS 'The table.';
COMMENT ON COLUMN report.movements.game IS 'The game; null of what a slip moves.';
COMMENT ON COLUMN report.movements.gaming_day IS 'The day of the round; of a slip the day to which it is posted.';
COMMENT ON COLUMN report.movements.shift IS 'The shift, where it was named.';
COMMENT ON COLUMN report.movements.currency IS 'Currency of the amount.';
COMMENT ON COLUMN report.movements.debit IS 'The account it left.';
COMMENT ON COLUMN report.movements.credit IS 'The account it reached.';
COMMENT ON COLUMN report.movements.amount IS 'The amount; always positive.';

CREATE VIEW report.postings AS
SELECT
    v.position,
    v.line,
    leg.leg,
    v.round,
    v.bet,
    v.slip,
    coalesce(r.property, l.property) AS property,
    r.pit,
    v.table_id,
    r.game,
    coalesce(r.gaming_day, CASE WHEN v.position = l.reversed_position THEN l.reversed_day ELSE l.gaming_day END) AS gaming_day,
    coalesce(r.shift, l.shift) AS shift,
    leg.account,
    v.currency,
    report.amount(leg.amount, v.currency) AS amount
FROM projection.movements AS v LEFT JOIN projection.rounds AS r USING (round) LEFT JOIN report.slips AS l USING (slip)
CROSS JOIN LATERAL (VALUES ('debit', v.debit, -v.amount), ('credit', v.credit, v.amount)) AS leg(leg, account, amount);
COMMENT ON VIEW report.postings IS
    'Both legs of every movement; per currency, and per event, they sum to zero.';
COMMENT ON COLUMN report.postings.position IS 'Position of the event that moved it.';
COMMENT ON COLUMN report.postings.line IS 'Number of the movement among those of its event, from 1.';
COMMENT ON COLUMN report.postings.leg IS 'debit or credit.';
COMMENT ON COLUMN report.postings.round IS 'The round; null of what a slip moves.';
COMMENT ON COLUMN report.postings.bet IS 'The bet; null of a payment ex gratia and of what a slip moves.';
COMMENT ON COLUMN report.postings.slip IS 'The slip of the cage; null of what a round moves.';
COMMENT ON COLUMN report.postings.property IS 'The property.';
COMMENT ON COLUMN report.postings.pit IS 'The pit in which the table stood; null of what a slip moves.';
COMMENT ON COLUMN report.postings.table_id IS 'The table.';
COMMENT ON COLUMN report.postings.game IS 'The game; null of what a slip moves.';
COMMENT ON COLUMN report.postings.gaming_day IS 'The day of the round; of a slip the day to which it is posted.';
COMMENT ON COLUMN report.postings.shift IS 'The shift, where it was named.';
COMMENT ON COLUMN report.postings.account IS 'The account that is posted to.';
COMMENT ON COLUMN report.postings.currency IS 'Currency of the amount.';
COMMENT ON COLUMN report.postings.amount IS 'Positive for a credit, negative for a debit.';

CREATE VIEW report.balances AS
SELECT
    r.account,
    split_part(r.account, '/', 1) AS kind,
    substr(r.account, strpos(r.account, '/') + 1) AS holder,
    r.currency,
    report.amount(r.balance, r.currency) AS balance
FROM projection.balances AS r;
COMMENT ON VIEW report.balances IS
    'Balance of each account that ever moved. Per currency they sum to zero.';
COMMENT ON COLUMN report.balances.account IS 'player/<reference>; of a table escrow, win, commission, breakage, mispay, ex_gratia, float, tray or drop, as in escrow/<table>; cage/<property>.';
COMMENT ON COLUMN report.balances.kind IS 'What stands before the stroke.';
COMMENT ON COLUMN report.balances.holder IS 'What stands after it: the player''s reference, or the table.';
COMMENT ON COLUMN report.balances.currency IS 'Currency of the balance.';
COMMENT ON COLUMN report.balances.balance IS 'Credits less debits: negative for a player who lost, positive for a table that won.';

CREATE VIEW report.corrected_bets AS
SELECT
    e.notification_id AS position,
    c.correction,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    coalesce((said.body ->> 'gaming_day')::date, r.gaming_day) AS posted_day,
    r.regulation,
    r.applied,
    c.round,
    (said.body ->> 'bet')::uuid AS bet,
    r.currency,
    (said.body #>> '{before,player}') AS before_player,
    (said.body #>> '{before,spot}') AS before_spot,
    report.amount((said.body #>> '{before,stake}')::numeric, r.currency) AS before_stake,
    (said.body #>> '{before,result}') AS before_result,
    report.amount(coalesce((said.body #>> '{before,prize}')::numeric, 0), r.currency) AS before_prize,
    report.amount(coalesce((said.body #>> '{before,commission}')::numeric, 0), r.currency) AS before_commission,
    report.amount(coalesce((said.body #>> '{before,breakage}')::numeric, 0), r.currency) AS before_breakage,
    coalesce((said.body #>> '{before,edge}'), '0') AS before_edge,
    report.amount(coalesce((said.body #>> '{before,net_prize}')::numeric, 0), r.currency) AS before_net_prize,
    report.amount(coalesce((said.body #>> '{before,returned}')::numeric, 0), r.currency) AS before_returned,
    (said.body #>> '{after,player}') AS after_player,
    (said.body #>> '{after,spot}') AS after_spot,
    report.amount((said.body #>> '{after,stake}')::numeric, r.currency) AS after_stake,
    (said.body #>> '{after,result}') AS after_result,
    report.amount(coalesce((said.body #>> '{after,prize}')::numeric, 0), r.currency) AS after_prize,
    report.amount(coalesce((said.body #>> '{after,commission}')::numeric, 0), r.currency) AS after_commission,
    report.amount(coalesce((said.body #>> '{after,breakage}')::numeric, 0), r.currency) AS after_breakage,
    coalesce((said.body #>> '{after,edge}'), '0') AS after_edge,
    report.amount(coalesce((said.body #>> '{after,net_prize}')::numeric, 0), r.currency) AS after_net_prize,
    report.amount(coalesce((said.body #>> '{after,returned}')::numeric, 0), r.currency) AS after_returned,
    report.amount((CASE said.body #>> '{after,result}' WHEN 'lost' THEN (said.body #>> '{after,stake}')::numeric WHEN 'won' THEN -(coalesce(said.body #>> '{after,net_prize}', '0'))::numeric ELSE 0 END) - (CASE said.body #>> '{before,result}' WHEN 'lost' THEN (said.body #>> '{before,stake}')::numeric WHEN 'won' THEN -(coalesce(said.body #>> '{before,net_prize}', '0'))::numeric ELSE 0 END), r.currency) AS difference
FROM projection.corrections AS c JOIN projection.rounds AS r USING (round)
JOIN ledger.events AS e ON e.originator_id = c.round AND e.topic = 'BetCorrected.v1'
CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
WHERE said.body ->> 'correction' = c.correction::text;
COMMENT ON VIEW report.corrected_bets IS
    'What each correction made of each bet: before, after, and the difference. A line for every re-settlement.';
COMMENT ON COLUMN report.corrected_bets.position IS 'Position of the event.';
COMMENT ON COLUMN report.corrected_bets.correction IS 'The correction.';
COMMENT ON COLUMN report.corrected_bets.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.corrected_bets.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.corrected_bets.table_id IS 'The table.';
COMMENT ON COLUMN report.corrected_bets.game IS 'The game.';
COMMENT ON COLUMN report.corrected_bets.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.corrected_bets.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.corrected_bets.posted_day IS 'The day to which it is posted: another than that of the round where that one was closed.';
COMMENT ON COLUMN report.corrected_bets.regulation IS 'Number of the order under which the rounds are settled.';
COMMENT ON COLUMN report.corrected_bets.applied IS 'Set where the regulation is applied beyond its repeal: the sentence to print.';
COMMENT ON COLUMN report.corrected_bets.round IS 'The round.';
COMMENT ON COLUMN report.corrected_bets.bet IS 'The bet.';
COMMENT ON COLUMN report.corrected_bets.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.corrected_bets.before_player IS 'Player until then.';
COMMENT ON COLUMN report.corrected_bets.before_spot IS 'Spot until then.';
COMMENT ON COLUMN report.corrected_bets.before_stake IS 'Stake until then.';
COMMENT ON COLUMN report.corrected_bets.before_result IS 'Result until then: open, lost, won, push or void.';
COMMENT ON COLUMN report.corrected_bets.before_prize IS 'Gross prize until then.';
COMMENT ON COLUMN report.corrected_bets.before_commission IS 'Commission until then.';
COMMENT ON COLUMN report.corrected_bets.before_breakage IS 'Breakage until then.';
COMMENT ON COLUMN report.corrected_bets.before_edge IS 'House edge until then; 0 of a bet that was not decided.';
COMMENT ON COLUMN report.corrected_bets.before_net_prize IS 'Net prize until then.';
COMMENT ON COLUMN report.corrected_bets.before_returned IS 'What the player got in all until then.';
COMMENT ON COLUMN report.corrected_bets.after_player IS 'Player from then on.';
COMMENT ON COLUMN report.corrected_bets.after_spot IS 'Spot from then on.';
COMMENT ON COLUMN report.corrected_bets.after_stake IS 'Stake from then on.';
COMMENT ON COLUMN report.corrected_bets.after_result IS 'Result from then on: open, lost, won, push or void.';
COMMENT ON COLUMN report.corrected_bets.after_prize IS 'Gross prize from then on.';
COMMENT ON COLUMN report.corrected_bets.after_commission IS 'Commission from then on.';
COMMENT ON COLUMN report.corrected_bets.after_breakage IS 'Breakage from then on.';
COMMENT ON COLUMN report.corrected_bets.after_edge IS 'House edge from then on; 0 of a bet that was not decided.';
COMMENT ON COLUMN report.corrected_bets.after_net_prize IS 'Net prize from then on.';
COMMENT ON COLUMN report.corrected_bets.after_returned IS 'What the player got in all from then on.';
COMMENT ON COLUMN report.corrected_bets.difference IS 'What the bet leaves with the house by this, more than before: stakes lost less net prizes.';

CREATE VIEW report.adjustments AS
SELECT
    e.notification_id AS position,
    c.correction,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    coalesce((said.body ->> 'gaming_day')::date, r.gaming_day) AS posted_day,
    r.regulation,
    r.applied,
    c.round,
    (said.body ->> 'bet')::uuid AS bet,
    said.body ->> 'kind' AS kind,
    said.body ->> 'player' AS player,
    r.currency,
    report.amount((said.body ->> 'amount')::numeric * CASE said.body ->> 'direction' WHEN 'to_player' THEN 1 ELSE -1 END, r.currency) AS amount,
    said.body ->> 'article' AS article
FROM projection.corrections AS c JOIN projection.rounds AS r USING (round)
JOIN ledger.events AS e ON e.originator_id = c.round AND e.topic = 'PlayerAdjusted.v1'
CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
WHERE said.body ->> 'correction' = c.correction::text;
COMMENT ON VIEW report.adjustments IS
    'What moved beside what the regulation gives: mispays put right, payments ex gratia.';
COMMENT ON COLUMN report.adjustments.position IS 'Position of the event.';
COMMENT ON COLUMN report.adjustments.correction IS 'The correction.';
COMMENT ON COLUMN report.adjustments.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.adjustments.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.adjustments.table_id IS 'The table.';
COMMENT ON COLUMN report.adjustments.game IS 'The game.';
COMMENT ON COLUMN report.adjustments.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.adjustments.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.adjustments.posted_day IS 'The day to which it is posted: another than that of the round where that one was closed.';
COMMENT ON COLUMN report.adjustments.regulation IS 'Number of the order under which the rounds are settled.';
COMMENT ON COLUMN report.adjustments.applied IS 'Set where the regulation is applied beyond its repeal: the sentence to print.';
COMMENT ON COLUMN report.adjustments.round IS 'The round.';
COMMENT ON COLUMN report.adjustments.bet IS 'The bet; null of a payment ex gratia.';
COMMENT ON COLUMN report.adjustments.kind IS 'mispay or ex_gratia.';
COMMENT ON COLUMN report.adjustments.player IS 'Reference of the player.';
COMMENT ON COLUMN report.adjustments.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.adjustments.amount IS 'Paid to the player; negative where it was taken.';
COMMENT ON COLUMN report.adjustments.article IS 'ex_gratia: order and article that say that there was no bet to pay.';

CREATE VIEW report.table_days AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.regulation,
    r.applied,
    r.currency,
    sum(r.rounds)::bigint AS rounds,
    sum(r.bets)::bigint AS bets,
    sum(r.lost + r.won) AS handle,
    sum(r.lost) AS lost,
    sum(r.won) AS won,
    sum(r.pushed) AS pushed,
    sum(r.prizes) AS prizes,
    sum(r.commission) AS commission,
    sum(r.breakage) AS breakage,
    sum(r.lost - r.prizes) AS rounds_win,
    sum(r.earlier) AS earlier,
    sum(r.lost - r.prizes + r.earlier) AS win,
    sum(r.adjusted) AS adjusted,
    sum(r.escrow) AS escrow
FROM (
    SELECT o.property, o.pit, o.table_id, o.game, o.gaming_day, o.shift, o.regulation, o.applied, o.currency, (o.settled_at IS NOT NULL)::int AS rounds,
           o.resolved AS bets, report.amount(o.lost, o.currency) AS lost, report.amount(o.won, o.currency) AS won,
           report.amount(o.pushed, o.currency) AS pushed, report.amount(o.prizes, o.currency) AS prizes,
           report.amount(o.commission, o.currency) AS commission, report.amount(o.breakage, o.currency) AS breakage,
           report.amount(0, o.currency) AS earlier, report.amount(o.adjusted, o.currency) AS adjusted, report.amount(o.escrow, o.currency) AS escrow
    FROM projection.rounds AS o
    UNION ALL
    -- A closed day stays as it was: what was corrected since is taken off it again ...
    SELECT property, pit, table_id, game, gaming_day, shift, regulation, applied, currency, 0,
           (before_result IN ('lost', 'won', 'push'))::int - (after_result IN ('lost', 'won', 'push'))::int, CASE before_result WHEN 'lost' THEN before_stake ELSE 0 END - CASE after_result WHEN 'lost' THEN after_stake ELSE 0 END, CASE before_result WHEN 'won' THEN before_stake ELSE 0 END - CASE after_result WHEN 'won' THEN after_stake ELSE 0 END, CASE before_result WHEN 'push' THEN before_stake ELSE 0 END - CASE after_result WHEN 'push' THEN after_stake ELSE 0 END,
           CASE before_result WHEN 'won' THEN before_net_prize ELSE 0 END - CASE after_result WHEN 'won' THEN after_net_prize ELSE 0 END, CASE before_result WHEN 'won' THEN before_commission ELSE 0 END - CASE after_result WHEN 'won' THEN after_commission ELSE 0 END, CASE before_result WHEN 'won' THEN before_breakage ELSE 0 END - CASE after_result WHEN 'won' THEN after_breakage ELSE 0 END, 0 * difference, 0 * difference, 0 * difference
    FROM report.corrected_bets WHERE posted_day <> gaming_day
    UNION ALL
    -- ... and what it adds to the win stands under the day to which it is posted.
    SELECT property, pit, table_id, game, posted_day, NULL, regulation, applied, currency, 0, 0, 0 * difference, 0 * difference, 0 * difference,
           0 * difference, 0 * difference, 0 * difference, difference, 0 * difference, 0 * difference
    FROM report.corrected_bets WHERE posted_day <> gaming_day
    UNION ALL
    SELECT property, pit, table_id, game, day.day, CASE WHEN day.sign < 0 THEN shift END, regulation, applied, currency, 0, 0,
           0 * amount, 0 * amount, 0 * amount, 0 * amount, 0 * amount, 0 * amount, 0 * amount, day.sign * amount, 0 * amount
    FROM report.adjustments CROSS JOIN LATERAL (VALUES (gaming_day, -1), (posted_day, 1)) AS day(day, sign)
    WHERE posted_day <> gaming_day
) AS r
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, r.regulation, r.applied, r.currency;
COMMENT ON VIEW report.table_days IS
    'What each table did in each gaming day and shift, by the ledger: the ledger''s side of the master game report. What is corrected while the day of its round is open counts under that day; later it is posted to the open day, as earlier.';
COMMENT ON COLUMN report.table_days.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.table_days.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.table_days.table_id IS 'The table.';
COMMENT ON COLUMN report.table_days.game IS 'The game.';
COMMENT ON COLUMN report.table_days.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.table_days.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.table_days.regulation IS 'Number of the order under which the rounds are settled.';
COMMENT ON COLUMN report.table_days.applied IS 'Set where the regulation is applied beyond its repeal: the sentence to print.';
COMMENT ON COLUMN report.table_days.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.table_days.rounds IS 'Number of rounds settled; one that the house took back afterwards stays counted.';
COMMENT ON COLUMN report.table_days.bets IS 'Number of bets that lost, won or were pushed.';
COMMENT ON COLUMN report.table_days.handle IS 'Stakes that lost or won; pushed stakes are not counted.';
COMMENT ON COLUMN report.table_days.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN report.table_days.won IS 'Sum of the stakes that won.';
COMMENT ON COLUMN report.table_days.pushed IS 'Sum of the stakes that neither won nor lost.';
COMMENT ON COLUMN report.table_days.prizes IS 'Sum of the net prizes, after commission and breakage.';
COMMENT ON COLUMN report.table_days.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN report.table_days.breakage IS 'Sum of the breakage kept.';
COMMENT ON COLUMN report.table_days.rounds_win IS 'Stakes lost less net prizes; commission and breakage are in it once.';
COMMENT ON COLUMN report.table_days.earlier IS 'What corrections of rounds of earlier days, which were closed, add to the win; posted to this day.';
COMMENT ON COLUMN report.table_days.win IS 'Ledger win: rounds_win + earlier.';
COMMENT ON COLUMN report.table_days.adjusted IS 'Paid to players beside the regulation less what was taken from them; no part of the win.';
COMMENT ON COLUMN report.table_days.escrow IS 'Stakes still undecided.';

CREATE VIEW report.chances AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.regulation,
    r.applied,
    r.chance,
    r.edge,
    r.currency,
    coalesce(sum(r.sign), 0)::bigint AS bets,
    coalesce(sum(r.sign) FILTER (WHERE r.result = 'lost'), 0)::bigint AS lost_bets,
    coalesce(sum(r.sign) FILTER (WHERE r.result = 'won'), 0)::bigint AS won_bets,
    coalesce(sum(r.sign) FILTER (WHERE r.result = 'push'), 0)::bigint AS pushed_bets,
    coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'lost'), 0 * max(r.stake)) + coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'won'), 0 * max(r.stake)) AS handle,
    coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'lost'), 0 * max(r.stake)) AS lost,
    coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'won'), 0 * max(r.stake)) AS won,
    coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'push'), 0 * max(r.stake)) AS pushed,
    sum(r.sign * r.prize) AS gross_prizes,
    sum(r.sign * r.commission) AS commission,
    sum(r.sign * r.breakage) AS breakage,
    sum(r.sign * r.net_prize) AS prizes,
    sum(r.earlier) AS earlier,
    coalesce(sum(r.sign * r.stake) FILTER (WHERE r.result = 'lost'), 0 * max(r.stake)) - sum(r.sign * r.net_prize) + sum(r.earlier) AS win,
    round(coalesce(sum(r.sign * r.stake), 0) * split_part(r.edge, '/', 1)::numeric * 1.00000000000000000000 / coalesce(nullif(split_part(r.edge, '/', 2), '')::numeric, 1), 6) AS theoretical_win
FROM (
    SELECT o.property, o.pit, o.table_id, o.game, o.gaming_day, o.shift, o.regulation, o.applied, split_part(b.spot, ':', 1) AS chance, s.edge,
           o.currency, s.result, report.amount(s.stake, o.currency) AS stake, report.amount(s.prize, o.currency) AS prize,
           report.amount(s.commission, o.currency) AS commission, report.amount(s.breakage, o.currency) AS breakage,
           report.amount(s.net_prize, o.currency) AS net_prize, 1 AS sign, report.amount(0, o.currency) AS earlier
    FROM projection.results AS s JOIN projection.bets AS b USING (round, bet) JOIN projection.rounds AS o USING (round)
    WHERE s.result IN ('lost', 'won', 'push')
    UNION ALL
    SELECT property, pit, table_id, game, gaming_day, shift, regulation, applied, split_part(after_spot, ':', 1), after_edge, currency, after_result, after_stake, after_prize, after_commission, after_breakage, after_net_prize, -1, 0 * difference FROM report.corrected_bets WHERE posted_day <> gaming_day AND after_result IN ('lost', 'won', 'push')
    UNION ALL
    SELECT property, pit, table_id, game, gaming_day, shift, regulation, applied, split_part(before_spot, ':', 1), before_edge, currency, before_result, before_stake, before_prize, before_commission, before_breakage, before_net_prize, 1, 0 * difference FROM report.corrected_bets WHERE posted_day <> gaming_day AND before_result IN ('lost', 'won', 'push')
    UNION ALL
    SELECT property, pit, table_id, game, posted_day, NULL, regulation, applied, split_part(after_spot, ':', 1), CASE after_edge WHEN '0' THEN before_edge ELSE after_edge END,
           currency, NULL, 0 * difference, 0 * difference, 0 * difference, 0 * difference, 0 * difference, 0, difference
    FROM report.corrected_bets WHERE posted_day <> gaming_day
) AS r
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, r.regulation, r.applied, r.chance, r.edge, r.currency;
COMMENT ON VIEW report.chances IS
    'What each chance did, by table, gaming day, shift and house edge. As in table_days, what is corrected after its day was closed is posted to the open day, as earlier.';
COMMENT ON COLUMN report.chances.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.chances.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.chances.table_id IS 'The table.';
COMMENT ON COLUMN report.chances.game IS 'The game.';
COMMENT ON COLUMN report.chances.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.chances.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.chances.regulation IS 'Number of the order under which the rounds are settled.';
COMMENT ON COLUMN report.chances.applied IS 'Set where the regulation is applied beyond its repeal: the sentence to print.';
COMMENT ON COLUMN report.chances.chance IS 'Code of the chance.';
COMMENT ON COLUMN report.chances.edge IS 'House edge of its bets, a fraction.';
COMMENT ON COLUMN report.chances.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.chances.bets IS 'Number of bets that lost, won or were pushed.';
COMMENT ON COLUMN report.chances.lost_bets IS 'How many lost.';
COMMENT ON COLUMN report.chances.won_bets IS 'How many won.';
COMMENT ON COLUMN report.chances.pushed_bets IS 'How many neither won nor lost.';
COMMENT ON COLUMN report.chances.handle IS 'Stakes that lost or won.';
COMMENT ON COLUMN report.chances.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN report.chances.won IS 'Sum of the stakes that won.';
COMMENT ON COLUMN report.chances.pushed IS 'Sum of the stakes that neither won nor lost.';
COMMENT ON COLUMN report.chances.gross_prizes IS 'Sum of the prizes before commission and breakage.';
COMMENT ON COLUMN report.chances.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN report.chances.breakage IS 'Sum of the breakage kept.';
COMMENT ON COLUMN report.chances.prizes IS 'Sum of the net prizes.';
COMMENT ON COLUMN report.chances.earlier IS 'What corrections of bets of earlier days, which were closed, add to the win; posted to this day.';
COMMENT ON COLUMN report.chances.win IS 'Stakes lost less net prizes, and earlier.';
COMMENT ON COLUMN report.chances.theoretical_win IS 'Stakes, pushed ones included, x house edge; rounded to six decimals.';

CREATE VIEW report.commission_breakage AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.regulation,
    split_part(b.spot, ':', 1) AS chance,
    r.currency,
    count(*) AS paid_bets,
    report.amount(sum(s.prize), r.currency) AS gross_prizes,
    report.amount(sum(s.commission), r.currency) AS commission,
    report.amount(sum(s.breakage), r.currency) AS breakage,
    report.amount(sum(s.net_prize), r.currency) AS prizes
FROM projection.results AS s JOIN projection.bets AS b USING (round, bet) JOIN projection.rounds AS r USING (round) WHERE s.result = 'won'
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, r.regulation, split_part(b.spot, ':', 1), r.currency;
COMMENT ON VIEW report.commission_breakage IS
    'What the house kept of prizes: prizes - commission - breakage = net prizes. Chances that paid a prize only.';
COMMENT ON COLUMN report.commission_breakage.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.commission_breakage.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.commission_breakage.table_id IS 'The table.';
COMMENT ON COLUMN report.commission_breakage.game IS 'The game.';
COMMENT ON COLUMN report.commission_breakage.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.commission_breakage.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.commission_breakage.regulation IS 'Number of the order under which the rounds are settled.';
COMMENT ON COLUMN report.commission_breakage.chance IS 'Code of the chance.';
COMMENT ON COLUMN report.commission_breakage.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.commission_breakage.paid_bets IS 'Number of bets that won.';
COMMENT ON COLUMN report.commission_breakage.gross_prizes IS 'Sum of the prizes before commission and breakage.';
COMMENT ON COLUMN report.commission_breakage.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN report.commission_breakage.breakage IS 'Sum of the breakage kept: exact prizes less what could be paid.';
COMMENT ON COLUMN report.commission_breakage.prizes IS 'Sum of the net prizes paid.';

CREATE VIEW report.voids AS
SELECT
    v.position,
    v.declared_at,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    v.round,
    v.what,
    v.number,
    v.bet,
    v.reason,
    v.article,
    v.disposition,
    v.declared_by,
    (SELECT convert_from(e.state, 'UTF8')::jsonb ->> 'terminal' FROM ledger.events AS e WHERE e.notification_id = v.position) AS terminal,
    v.correction,
    v.successor,
    r.currency,
    report.amount(v.stakes, r.currency) AS stakes,
    v.note
FROM projection.voids AS v JOIN projection.rounds AS r USING (round);
COMMENT ON VIEW report.voids IS
    'The register of voids: launches, shakes, throws and single bets that were declared void, and rounds that the house ended.';
COMMENT ON COLUMN report.voids.position IS 'Position of the event.';
COMMENT ON COLUMN report.voids.declared_at IS 'When the service received it.';
COMMENT ON COLUMN report.voids.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.voids.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.voids.table_id IS 'The table.';
COMMENT ON COLUMN report.voids.game IS 'The game.';
COMMENT ON COLUMN report.voids.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.voids.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.voids.round IS 'The round.';
COMMENT ON COLUMN report.voids.what IS 'round: a launch or shake, or the whole round; throw: of craps; bet: one bet.';
COMMENT ON COLUMN report.voids.number IS 'Of launches and shakes, how many of the round have been void by now; of a throw its number in the round.';
COMMENT ON COLUMN report.voids.bet IS 'The bet, of a single one.';
COMMENT ON COLUMN report.voids.reason IS 'Code of the regulation''s void clause, or of the house''s reason.';
COMMENT ON COLUMN report.voids.article IS 'Order and article of the clause; null where no regulation has one.';
COMMENT ON COLUMN report.voids.disposition IS 'stand: the stakes stay as they are; carry: the successor has them; return: they went back.';
COMMENT ON COLUMN report.voids.declared_by IS 'Who decided: reference of the person who declared it, where one had proved to be the one.';
COMMENT ON COLUMN report.voids.terminal IS 'The terminal that reported it.';
COMMENT ON COLUMN report.voids.correction IS 'The correction by which the house ended the round.';
COMMENT ON COLUMN report.voids.successor IS 'The round that has the bets now.';
COMMENT ON COLUMN report.voids.currency IS 'Currency of the stakes.';
COMMENT ON COLUMN report.voids.stakes IS 'Sum of the stakes that were carried or went back by it.';
COMMENT ON COLUMN report.voids.note IS 'In words, where somebody wrote some.';

CREATE VIEW report.corrections AS
SELECT
    c.correction,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    c.round,
    c.bet,
    c.kind,
    c.reason,
    c.status,
    (SELECT convert_from(e.state, 'UTF8')::jsonb ->> 'was' FROM ledger.events AS e WHERE e.originator_id = c.round AND e.topic = 'OutcomeCorrected.v1' AND convert_from(e.state, 'UTF8')::jsonb ->> 'correction' = c.correction::text) AS outcome_before,
    c.outcome,
    c.player,
    c.spot,
    r.currency,
    report.amount(c.stake, r.currency) AS stake,
    report.amount(c.amount, r.currency) AS amount,
    c.direction,
    (SELECT count(*) FROM ledger.events AS e WHERE e.originator_id = c.round AND e.topic = 'BetCorrected.v1' AND convert_from(e.state, 'UTF8')::jsonb ->> 'correction' = c.correction::text) AS bets_changed,
    report.amount((SELECT coalesce(sum(CASE WHEN split_part(x.credit, '/', 1) = 'player' THEN x.amount ELSE 0 END - CASE WHEN split_part(x.debit, '/', 1) = 'player' THEN x.amount ELSE 0 END), 0)
     FROM projection.movements AS x JOIN ledger.events AS e ON e.notification_id = x.position
     WHERE x.round = c.round AND x.position >= c.decided_position AND c.status = 'approved'
       AND e.topic IN ('BetCorrected.v1', 'PlayerAdjusted.v1', 'RoundVoided.v1') AND convert_from(e.state, 'UTF8')::jsonb ->> 'correction' = c.correction::text), r.currency) AS to_players,
    c.article,
    c.hold,
    c.proposed_by,
    c.proposed_at,
    c.approvals_needed,
    c.approvals,
    c.approved_by,
    c.seconded_by,
    c.declined_by,
    c.decided_at,
    c.note,
    c.decline_note,
    c.proposed_position,
    c.decided_position
FROM projection.corrections AS c JOIN projection.rounds AS r USING (round);
COMMENT ON VIEW report.corrections IS
    'The register of corrections: who asked for what and why, who else approved or declined it, and what it moved.';
COMMENT ON COLUMN report.corrections.correction IS 'The correction''s id.';
COMMENT ON COLUMN report.corrections.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.corrections.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.corrections.table_id IS 'The table.';
COMMENT ON COLUMN report.corrections.game IS 'The game.';
COMMENT ON COLUMN report.corrections.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.corrections.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.corrections.round IS 'The round that is corrected.';
COMMENT ON COLUMN report.corrections.bet IS 'The bet, where it concerns one.';
COMMENT ON COLUMN report.corrections.kind IS 'outcome, bet, bet_void, late_bet, return, mispay or ex_gratia.';
COMMENT ON COLUMN report.corrections.reason IS 'The reason''s code.';
COMMENT ON COLUMN report.corrections.status IS 'proposed: it waits; approved: it has taken effect; declined: it never will.';
COMMENT ON COLUMN report.corrections.outcome_before IS 'outcome: what was on record until then.';
COMMENT ON COLUMN report.corrections.outcome IS 'outcome: what the table showed indeed.';
COMMENT ON COLUMN report.corrections.player IS 'bet: whose it is indeed; ex_gratia: who is paid.';
COMMENT ON COLUMN report.corrections.spot IS 'bet: where it lay indeed; ex_gratia: where the chips lay.';
COMMENT ON COLUMN report.corrections.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.corrections.stake IS 'bet: what was staked indeed.';
COMMENT ON COLUMN report.corrections.amount IS 'mispay, ex_gratia: the amount.';
COMMENT ON COLUMN report.corrections.direction IS 'mispay: to_player or from_player.';
COMMENT ON COLUMN report.corrections.bets_changed IS 'Number of bets of which something changed by it; each is in corrected_bets.';
COMMENT ON COLUMN report.corrections.to_players IS 'What players got by it less what they gave, the difference that moved.';
COMMENT ON COLUMN report.corrections.article IS 'ex_gratia: order and article that say that there was no bet to pay.';
COMMENT ON COLUMN report.corrections.hold IS 'The hold whose review led to it, where one did.';
COMMENT ON COLUMN report.corrections.proposed_by IS 'Reference of its author.';
COMMENT ON COLUMN report.corrections.proposed_at IS 'When the service received the proposal.';
COMMENT ON COLUMN report.corrections.approvals_needed IS 'How many other persons have to approve.';
COMMENT ON COLUMN report.corrections.approvals IS 'How many have approved.';
COMMENT ON COLUMN report.corrections.approved_by IS 'Reference of the first who approved.';
COMMENT ON COLUMN report.corrections.seconded_by IS 'Reference of the second, where two are needed.';
COMMENT ON COLUMN report.corrections.declined_by IS 'Reference of who declined or withdrew it.';
COMMENT ON COLUMN report.corrections.decided_at IS 'When the service received the last approval, or that it was declined.';
COMMENT ON COLUMN report.corrections.note IS 'In words, where the author wrote some.';
COMMENT ON COLUMN report.corrections.decline_note IS 'In words, where somebody wrote some when it was declined.';
COMMENT ON COLUMN report.corrections.proposed_position IS 'Position of the event that proposed it.';
COMMENT ON COLUMN report.corrections.decided_position IS 'Position of the event that decided it.';

CREATE VIEW report.disputes AS
SELECT
    h.hold,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    h.round,
    h.bet,
    h.reason,
    h.held_by,
    h.held_at,
    h.finding,
    h.correction,
    h.released_by,
    h.released_at,
    r.currency,
    report.amount(CASE WHEN h.bet IS NULL THEN r.stakes + r.carried_in ELSE (SELECT b.stake FROM projection.bets AS b WHERE b.round = h.round AND b.bet = h.bet) END, r.currency) AS stake,
    h.note,
    h.release_note,
    h.held_position,
    h.released_position
FROM projection.holds AS h JOIN projection.rounds AS r USING (round);
COMMENT ON VIEW report.disputes IS
    'Reviews of rounds and bets: disputes and others, with their finding once they were released.';
COMMENT ON COLUMN report.disputes.hold IS 'The hold''s id.';
COMMENT ON COLUMN report.disputes.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.disputes.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.disputes.table_id IS 'The table.';
COMMENT ON COLUMN report.disputes.game IS 'The game.';
COMMENT ON COLUMN report.disputes.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.disputes.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.disputes.round IS 'The round.';
COMMENT ON COLUMN report.disputes.bet IS 'The bet, where one is in question and not the round.';
COMMENT ON COLUMN report.disputes.reason IS 'The reason''s code.';
COMMENT ON COLUMN report.disputes.held_by IS 'Reference of the person who held it.';
COMMENT ON COLUMN report.disputes.held_at IS 'When the service received the hold.';
COMMENT ON COLUMN report.disputes.finding IS 'stands or corrected; null while the hold is open.';
COMMENT ON COLUMN report.disputes.correction IS 'The correction to which the finding led.';
COMMENT ON COLUMN report.disputes.released_by IS 'Reference of the person who released it.';
COMMENT ON COLUMN report.disputes.released_at IS 'When the service received the release.';
COMMENT ON COLUMN report.disputes.currency IS 'Currency of the stake.';
COMMENT ON COLUMN report.disputes.stake IS 'What is in question: the bet''s stake, or the stakes of the round.';
COMMENT ON COLUMN report.disputes.note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN report.disputes.release_note IS 'In words, where somebody wrote some at the release.';
COMMENT ON COLUMN report.disputes.held_position IS 'Position of the event that opened the hold.';
COMMENT ON COLUMN report.disputes.released_position IS 'Position of the event that released it.';

CREATE VIEW report.late_bets AS
SELECT
    l.position,
    l.received_at,
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    l.round,
    l.treatment,
    l.bet,
    l.player,
    l.seat,
    l.spot,
    r.currency,
    report.amount(l.stake, r.currency) AS stake,
    l.result,
    l.article,
    l.recorded_by,
    l.note
FROM (
    SELECT v.position, v.recorded_at AS received_at, v.round, 'given_back' AS treatment, NULL::uuid AS bet, v.player, v.seat, v.spot, v.stake,
           NULL AS result, v.article, v.recorded_by, v.note
    FROM projection.late_bets AS v
    UNION ALL
    SELECT b.position, (convert_from(e.state, 'UTF8')::jsonb ->> 'received_at')::timestamptz, b.round, 'received_late', b.bet, b.player,
           b.seat, b.spot, b.stake, coalesce(s.result, 'open'), NULL, convert_from(e.state, 'UTF8')::jsonb ->> 'by', NULL
    FROM projection.bets AS b LEFT JOIN projection.results AS s USING (round, bet)
    JOIN ledger.events AS e ON e.notification_id = b.position AND e.topic = 'BetPlaced.v1'
    WHERE b.late
) AS l JOIN projection.rounds AS r USING (round);
COMMENT ON VIEW report.late_bets IS
    'What came after the bell: chips given back (refused, no bet), and bets received late (accepted, for they were placed in time).';
COMMENT ON COLUMN report.late_bets.position IS 'Position of the event.';
COMMENT ON COLUMN report.late_bets.received_at IS 'When the service received it.';
COMMENT ON COLUMN report.late_bets.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.late_bets.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.late_bets.table_id IS 'The table.';
COMMENT ON COLUMN report.late_bets.game IS 'The game.';
COMMENT ON COLUMN report.late_bets.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.late_bets.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.late_bets.round IS 'The round.';
COMMENT ON COLUMN report.late_bets.treatment IS 'given_back: no bet, and no money moved; received_late: a bet, placed before the bell by its terminal''s numbers.';
COMMENT ON COLUMN report.late_bets.bet IS 'The bet, of one received late.';
COMMENT ON COLUMN report.late_bets.player IS 'Reference of the player.';
COMMENT ON COLUMN report.late_bets.seat IS 'Number of the player''s place, where the terminal gave one.';
COMMENT ON COLUMN report.late_bets.spot IS 'Where the chips were put.';
COMMENT ON COLUMN report.late_bets.currency IS 'Currency of the stake.';
COMMENT ON COLUMN report.late_bets.stake IS 'Their value.';
COMMENT ON COLUMN report.late_bets.result IS 'What became of a bet received late; open while it waits for its correction.';
COMMENT ON COLUMN report.late_bets.article IS 'Order and article that bar bets after the close, of chips given back.';
COMMENT ON COLUMN report.late_bets.recorded_by IS 'Reference of the person who recorded it, where one had proved to be the one.';
COMMENT ON COLUMN report.late_bets.note IS 'In words, where somebody wrote some.';

CREATE VIEW report.launches AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    count(*) AS rounds,
    count(*) FILTER (WHERE r.settled_at IS NOT NULL) AS settled,
    count(*) FILTER (WHERE r.status = 'voided') AS voided,
    sum(n.launches)::bigint AS launches,
    sum(n.void)::bigint AS void_launches,
    sum(n.launches - n.void)::bigint AS results
FROM projection.rounds AS r
CROSS JOIN LATERAL (
    SELECT CASE WHEN r.game = 'craps' THEN r.throws ELSE r.void_launches + (r.outcome IS NOT NULL)::int END AS launches,
           CASE WHEN r.game = 'craps' THEN (SELECT count(*) FROM unnest(string_to_array(r.outcome, ',')) AS t(t) WHERE t = 'void')
                ELSE r.void_launches END AS void
) AS n
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift;
COMMENT ON VIEW report.launches IS
    'Launches, shakes, counts and throws beside rounds: how many of them gave a result.';
COMMENT ON COLUMN report.launches.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.launches.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.launches.table_id IS 'The table.';
COMMENT ON COLUMN report.launches.game IS 'The game.';
COMMENT ON COLUMN report.launches.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.launches.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.launches.rounds IS 'Rounds opened.';
COMMENT ON COLUMN report.launches.settled IS 'Rounds settled.';
COMMENT ON COLUMN report.launches.voided IS 'Rounds that ended without a result.';
COMMENT ON COLUMN report.launches.launches IS 'Launches of the ball, shakes, counts or throws, void ones included.';
COMMENT ON COLUMN report.launches.void_launches IS 'Those that were void.';
COMMENT ON COLUMN report.launches.results IS 'Those that gave a result.';

CREATE VIEW report.properties AS
SELECT
    r.property,
    r.content ->> 'name' AS property_name,
    r.content ->> 'zone' AS zone,
    r.content ->> 'gaming_day_start' AS gaming_day_start,
    r.sha256,
    r.content
FROM (
    SELECT DISTINCT ON (said.body ->> 'name') said.body ->> 'name' AS property, said.body ->> 'sha256' AS sha256,
           (said.body ->> 'content')::jsonb AS content
    FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
    WHERE e.topic = 'DocumentRecorded.v1' AND said.body ->> 'kind' = 'property'
    ORDER BY said.body ->> 'name', e.notification_id DESC
) AS r;
COMMENT ON VIEW report.properties IS
    'The configuration in force of each property: the last that the log has.';
COMMENT ON COLUMN report.properties.property IS 'The property''s id.';
COMMENT ON COLUMN report.properties.property_name IS 'Its name.';
COMMENT ON COLUMN report.properties.zone IS 'Name of its time zone.';
COMMENT ON COLUMN report.properties.gaming_day_start IS 'Local time at which its gaming day begins; the day is named by the date on which it starts.';
COMMENT ON COLUMN report.properties.sha256 IS 'Hash of the configuration, which rounds name as property_hash.';
COMMENT ON COLUMN report.properties.content IS 'The whole configuration.';

CREATE VIEW report.tables AS
SELECT
    r.property,
    r.property_name,
    r.zone,
    r.gaming_day_start,
    t.t ->> 'pit' AS pit,
    (t.t ->> 'id') COLLATE "C" AS table_id,
    t.t ->> 'game' AS game,
    t.t ->> 'currency' AS currency,
    (t.t ->> 'payable_unit')::numeric AS payable_unit,
    t.t -> 'terminals' AS terminals
FROM report.properties AS r CROSS JOIN LATERAL jsonb_array_elements(r.content -> 'tables') AS t(t);
COMMENT ON VIEW report.tables IS
    'The tables of the properties as configured now.';
COMMENT ON COLUMN report.tables.property IS 'The property''s id.';
COMMENT ON COLUMN report.tables.property_name IS 'The property''s name.';
COMMENT ON COLUMN report.tables.zone IS 'Name of its time zone.';
COMMENT ON COLUMN report.tables.gaming_day_start IS 'Local time at which its gaming day begins.';
COMMENT ON COLUMN report.tables.pit IS 'The pit.';
COMMENT ON COLUMN report.tables.table_id IS 'The table.';
COMMENT ON COLUMN report.tables.game IS 'The game that it deals.';
COMMENT ON COLUMN report.tables.currency IS 'Its currency.';
COMMENT ON COLUMN report.tables.payable_unit IS 'The smallest amount that it pays out.';
COMMENT ON COLUMN report.tables.terminals IS 'Ids of its terminals.';

CREATE VIEW report.terminal_gaps AS
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
    g.highest
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
    )
    SELECT terminal, epoch, table_id, upper(received) - 1 AS highest,
           unnest(int8multirange(int8range(1, upper(received))) - received) AS gap
    FROM standing WHERE NOT isempty(received)
) AS g LEFT JOIN report.tables AS r ON r.table_id = g.table_id;
COMMENT ON VIEW report.terminal_gaps IS
    'Numbers that a terminal has used in one of its epochs and of which the ledger has received nothing: one row a gap.';
COMMENT ON COLUMN report.terminal_gaps.terminal IS 'The terminal.';
COMMENT ON COLUMN report.terminal_gaps.epoch IS 'Its count of its restarts; numbers begin anew with each.';
COMMENT ON COLUMN report.terminal_gaps.property IS 'The property, where the table is configured now.';
COMMENT ON COLUMN report.terminal_gaps.pit IS 'The pit, where the table is configured now.';
COMMENT ON COLUMN report.terminal_gaps.table_id IS 'The table of which it last reported.';
COMMENT ON COLUMN report.terminal_gaps.game IS 'The game, where the table is configured now.';
COMMENT ON COLUMN report.terminal_gaps.missing_from IS 'The first number that is missing.';
COMMENT ON COLUMN report.terminal_gaps.missing_to IS 'The last one.';
COMMENT ON COLUMN report.terminal_gaps.missing IS 'How many are missing.';
COMMENT ON COLUMN report.terminal_gaps.highest IS 'The highest number that was received in the epoch.';

CREATE VIEW report.assumptions AS
SELECT
    a.kind,
    a.property,
    a.regulation,
    a.part,
    a.reason,
    a.approved_by
FROM (
    WITH regulation AS (
        SELECT (said.body ->> 'content')::jsonb AS content
        FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
        WHERE e.topic = 'DocumentRecorded.v1' AND said.body ->> 'kind' = 'regulation'
    ), part AS (
        SELECT content ->> 'order' AS regulation, section || coalesce(' ' || (entry ->> 'code'), '') AS part, entry
        FROM regulation
        CROSS JOIN (VALUES ('chance'), ('unverified'), ('void'), ('dates'), ('gazette'), ('payment'), ('rounding'), ('commission')) AS s(section)
        CROSS JOIN LATERAL jsonb_path_query(content -> section, '$[*]') AS entry
        WHERE section <> 'unverified' OR content ->> 'unverified_bets' = 'on'
    )
    SELECT 'assumed' AS kind, NULL AS property, regulation, part || ', ' || key AS part, value AS reason, NULL AS approved_by
    FROM part CROSS JOIN LATERAL jsonb_each_text(entry -> 'assumed')
    UNION
    SELECT 'inferred', NULL, regulation, part || ', ' || key, value, NULL
    FROM part CROSS JOIN LATERAL jsonb_each_text(entry -> 'inferred')
    UNION
    SELECT 'unverified', NULL, regulation, 'chance ' || (entry ->> 'code'), 'no source of the regulation holds this bet', NULL
    FROM part WHERE part LIKE 'unverified %'
    UNION
    SELECT 'opt_in', p.property, o ->> 'regulation', 'opt-in', o ->> 'reason', o ->> 'approved_by'
    FROM report.properties AS p CROSS JOIN LATERAL jsonb_array_elements(p.content -> 'opt_ins') AS o
    UNION
    SELECT 'choice', p.property, c ->> 'regulation', said.key, said.value::text, NULL
    FROM report.properties AS p CROSS JOIN LATERAL jsonb_array_elements(p.content -> 'choices') AS c
    CROSS JOIN LATERAL jsonb_each(c - 'regulation') AS said(key, value)
) AS a;
COMMENT ON VIEW report.assumptions IS
    'What figures rest on beyond the texts of regulations: what the data assume or infer, bets without rule text, and what each property decided.';
COMMENT ON COLUMN report.assumptions.kind IS 'assumed, inferred, unverified (a bet without rule text is taken), opt_in (applied beyond its repeal) or choice (of a property).';
COMMENT ON COLUMN report.assumptions.property IS 'The property, of its opt-ins and choices.';
COMMENT ON COLUMN report.assumptions.regulation IS 'Number of the order.';
COMMENT ON COLUMN report.assumptions.part IS 'The part of the regulation''s data, or what was chosen.';
COMMENT ON COLUMN report.assumptions.reason IS 'Why, or what was chosen.';
COMMENT ON COLUMN report.assumptions.approved_by IS 'opt_in: who decided.';

CREATE VIEW report.ggr_months AS
SELECT
    r.property,
    date_trunc('month', r.gaming_day)::date AS month,
    r.game,
    r.currency,
    sum(r.rounds)::bigint AS rounds,
    sum(r.bets)::bigint AS bets,
    sum(r.handle) AS handle,
    sum(r.lost) AS lost,
    sum(r.prizes + r.commission + r.breakage) AS gross_prizes,
    sum(r.commission) AS commission,
    sum(r.breakage) AS breakage,
    sum(r.prizes) AS prizes,
    sum(r.earlier) AS earlier,
    sum(r.win) AS ggr,
    sum(r.adjusted) AS adjusted
FROM report.table_days AS r
GROUP BY r.property, date_trunc('month', r.gaming_day)::date, r.game, r.currency;
COMMENT ON VIEW report.ggr_months IS
    'Gross gaming revenue by month, game and currency: ggr = lost - prizes + earlier, where prizes = gross prizes - commission - breakage.';
COMMENT ON COLUMN report.ggr_months.property IS 'The property.';
COMMENT ON COLUMN report.ggr_months.month IS 'First day of the month of the gaming days.';
COMMENT ON COLUMN report.ggr_months.game IS 'The game.';
COMMENT ON COLUMN report.ggr_months.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.ggr_months.rounds IS 'Number of rounds settled.';
COMMENT ON COLUMN report.ggr_months.bets IS 'Number of bets that lost, won or were pushed.';
COMMENT ON COLUMN report.ggr_months.handle IS 'Stakes that lost or won.';
COMMENT ON COLUMN report.ggr_months.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN report.ggr_months.gross_prizes IS 'Sum of the prizes before commission and breakage.';
COMMENT ON COLUMN report.ggr_months.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN report.ggr_months.breakage IS 'Sum of the breakage kept.';
COMMENT ON COLUMN report.ggr_months.prizes IS 'Sum of the net prizes.';
COMMENT ON COLUMN report.ggr_months.earlier IS 'What corrections of rounds of days that were closed add to the revenue; posted to a day of this month.';
COMMENT ON COLUMN report.ggr_months.ggr IS 'Gross gaming revenue: stakes lost less net prizes, and earlier; commission and breakage are in it once.';
COMMENT ON COLUMN report.ggr_months.adjusted IS 'Paid to players beside the regulation less what was taken from them; no part of the revenue.';

CREATE VIEW report.table_counts AS
SELECT
    r.property,
    r.table_id,
    r.gaming_day,
    r.shift,
    r.currency,
    count(*) FILTER (WHERE r.kind = 'opener' AND r.amount >= 0) - count(*) FILTER (WHERE r.kind = 'opener' AND r.amount < 0) AS openers,
    count(*) FILTER (WHERE r.kind = 'closer' AND r.amount >= 0) - count(*) FILTER (WHERE r.kind = 'closer' AND r.amount < 0) AS closers,
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'opener'), r.currency) AS opener,
    report.amount(coalesce(sum(r.amount) FILTER (WHERE r.kind = 'fill'), 0), r.currency) AS fills,
    report.amount(coalesce(sum(r.amount) FILTER (WHERE r.kind = 'credit'), 0), r.currency) AS credits,
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'drop'), r.currency) AS "drop",
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'closer'), r.currency) AS closer
FROM projection.slip_postings AS r
GROUP BY r.property, r.table_id, r.gaming_day, r.shift, r.currency;
COMMENT ON VIEW report.table_counts IS
    'What the cage''s side says of each table, gaming day and shift: count win = closer + credits + drop - opener - fills. Confirmed slips only.';
COMMENT ON COLUMN report.table_counts.property IS 'The property.';
COMMENT ON COLUMN report.table_counts.table_id IS 'The table.';
COMMENT ON COLUMN report.table_counts.gaming_day IS 'The day to which it is posted.';
COMMENT ON COLUMN report.table_counts.shift IS 'The shift, where it was reported.';
COMMENT ON COLUMN report.table_counts.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.table_counts.openers IS 'Number of openers; those posted back are taken off.';
COMMENT ON COLUMN report.table_counts.closers IS 'Number of closers; those posted back are taken off.';
COMMENT ON COLUMN report.table_counts.opener IS 'Sum of the openers; null where there is none. With several shifts each is counted, and so is each closer.';
COMMENT ON COLUMN report.table_counts.fills IS 'Sum of the fills.';
COMMENT ON COLUMN report.table_counts.credits IS 'Sum of the credits.';
COMMENT ON COLUMN report.table_counts."drop" IS 'Sum of the drop; null where none was counted.';
COMMENT ON COLUMN report.table_counts.closer IS 'Sum of the closers; null where there is none.';

CREATE VIEW report.player_days AS
SELECT
    r.property,
    r.gaming_day,
    b.player,
    r.currency,
    count(*) AS bets,
    report.amount(sum(coalesce(s.stake, b.stake)), r.currency) AS staked,
    report.amount(max(coalesce(s.stake, b.stake)), r.currency) AS largest_stake,
    report.amount(coalesce(sum(s.stake) FILTER (WHERE s.result = 'lost'), 0), r.currency) AS lost,
    report.amount(coalesce(sum(s.net_prize), 0), r.currency) AS prizes,
    report.amount(coalesce(sum(s.returned), 0), r.currency) AS returned,
    count(DISTINCT r.table_id) AS tables
FROM projection.bets AS b JOIN projection.rounds AS r USING (round) LEFT JOIN projection.results AS s USING (round, bet)
WHERE coalesce(s.result, 'open') NOT IN ('carried', 'withdrawn', 'void')
GROUP BY r.property, r.gaming_day, b.player, r.currency;
COMMENT ON VIEW report.player_days IS
    'What each player reference staked and won in each gaming day, by currency; amounts of two currencies are never added.';
COMMENT ON COLUMN report.player_days.property IS 'The property.';
COMMENT ON COLUMN report.player_days.gaming_day IS 'The house''s book day in which the rounds opened.';
COMMENT ON COLUMN report.player_days.player IS 'Reference of the player, as last corrected.';
COMMENT ON COLUMN report.player_days.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN report.player_days.bets IS 'Bets, but those withdrawn or voided; a carried bet counts where it lies in the end.';
COMMENT ON COLUMN report.player_days.staked IS 'Sum of their stakes.';
COMMENT ON COLUMN report.player_days.largest_stake IS 'The largest of them.';
COMMENT ON COLUMN report.player_days.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN report.player_days.prizes IS 'Sum of the net prizes.';
COMMENT ON COLUMN report.player_days.returned IS 'What was paid out in all, stakes included.';
COMMENT ON COLUMN report.player_days.tables IS 'At how many tables.';

CREATE VIEW report.outcomes AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    shown.outcome COLLATE "C" AS outcome,
    count(*) AS times
FROM projection.rounds AS r CROSS JOIN LATERAL unnest(string_to_array(r.outcome, ',')) AS shown(outcome)
WHERE shown.outcome <> 'void'
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, shown.outcome COLLATE "C";
COMMENT ON VIEW report.outcomes IS
    'How often each table showed each outcome, as last corrected; of craps each throw by itself, void ones left out.';
COMMENT ON COLUMN report.outcomes.property IS 'The property whose table this is.';
COMMENT ON COLUMN report.outcomes.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN report.outcomes.table_id IS 'The table.';
COMMENT ON COLUMN report.outcomes.game IS 'The game.';
COMMENT ON COLUMN report.outcomes.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN report.outcomes.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN report.outcomes.outcome IS 'The outcome in canonical form.';
COMMENT ON COLUMN report.outcomes.times IS 'How often.';

CREATE VIEW report.state AS
SELECT
    r.name AS projection,
    r.position,
    r.updated_at,
    r.stopped_at,
    r.stop_reason
FROM projection.positions AS r;
COMMENT ON VIEW report.state IS
    'How far the figures of this schema go.';
COMMENT ON COLUMN report.state.projection IS 'ledger: rounds, bets and money; others are told in the documentation.';
COMMENT ON COLUMN report.state.position IS 'Everything up to this position of the log is in the figures.';
COMMENT ON COLUMN report.state.updated_at IS 'When it last moved, or stopped.';
COMMENT ON COLUMN report.state.stopped_at IS 'When it stopped at an event that it cannot fold; null while it runs.';
COMMENT ON COLUMN report.state.stop_reason IS 'Why it stopped.';

-- Who may read this and nothing else. A login is granted it: GRANT ledger_report TO somebody. Roles belong to the whole server: one
-- may be there from another database, and whoever migrates may lack the right to make one (the operator then does, and runs the two
-- GRANTs below).
DO $$
BEGIN
    BEGIN
        CREATE ROLE ledger_report NOLOGIN;
    EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN RAISE NOTICE 'the role ledger_report is not there, and this role may not make it';
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_report') THEN
        GRANT USAGE ON SCHEMA report TO ledger_report;
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO ledger_report;
    END IF;
END $$;
