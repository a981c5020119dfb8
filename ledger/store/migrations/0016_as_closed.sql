-- A closed day stays as it was closed, in what the house kept of prizes too: the view counted bets as they are corrected by now. What
-- is corrected later stands under the day to which it is posted, in columns of its own.

CREATE OR REPLACE VIEW report.commission_breakage AS
SELECT
    r.property,
    r.pit,
    r.table_id,
    r.game,
    r.gaming_day,
    r.shift,
    r.regulation,
    r.chance,
    r.currency,
    sum(r.own)::bigint AS paid_bets,
    sum(r.own * r.prize) AS gross_prizes,
    sum(r.own * r.commission) AS commission,
    sum(r.own * r.breakage) AS breakage,
    sum(r.own * r.net_prize) AS prizes,
    sum(r.earlier * r.prize) AS earlier_gross_prizes,
    sum(r.earlier * r.commission) AS earlier_commission,
    sum(r.earlier * r.breakage) AS earlier_breakage,
    sum(r.earlier * r.net_prize) AS earlier_prizes
FROM (
    SELECT o.property, o.pit, o.table_id, o.game, o.gaming_day, o.shift, o.regulation, split_part(b.spot, ':', 1) AS chance, o.currency,
           1 AS own, 0 AS earlier, report.amount(s.prize, o.currency) AS prize, report.amount(s.commission, o.currency) AS commission,
           report.amount(s.breakage, o.currency) AS breakage, report.amount(s.net_prize, o.currency) AS net_prize
    FROM projection.results AS s JOIN projection.bets AS b USING (round, bet) JOIN projection.rounds AS o USING (round)
    WHERE s.result = 'won'
    UNION ALL
    -- What was corrected since a day was closed is taken off it again, and stands under the day to which it is posted.
    SELECT c.property, c.pit, c.table_id, c.game, day.day, CASE WHEN day.own <> 0 THEN c.shift END, c.regulation,
           split_part(said.spot, ':', 1), c.currency, day.own, day.earlier, said.prize, said.commission, said.breakage, said.net_prize
    FROM report.corrected_bets AS c
    CROSS JOIN LATERAL (VALUES
        (1, c.before_result, c.before_spot, c.before_prize, c.before_commission, c.before_breakage, c.before_net_prize),
        (-1, c.after_result, c.after_spot, c.after_prize, c.after_commission, c.after_breakage, c.after_net_prize)
    ) AS said(sign, result, spot, prize, commission, breakage, net_prize)
    CROSS JOIN LATERAL (VALUES (c.gaming_day, said.sign, 0), (c.posted_day, 0, -said.sign)) AS day(day, own, earlier)
    WHERE c.posted_day <> c.gaming_day AND said.result = 'won'
) AS r
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, r.regulation, r.chance, r.currency
HAVING sum(r.own) <> 0 OR sum(r.earlier * r.prize) <> 0 OR sum(r.earlier * r.commission) <> 0 OR sum(r.earlier * r.breakage) <> 0;
COMMENT ON VIEW report.commission_breakage IS
    'What the house kept of prizes: prizes - commission - breakage = net prizes. Chances that paid a prize only. As in table_days, what is corrected after its day was closed is posted to the open day, as earlier.';
COMMENT ON COLUMN report.commission_breakage.earlier_gross_prizes IS 'What corrections of bets of earlier days, which were closed, add to the prizes before commission and breakage; posted to this day.';
COMMENT ON COLUMN report.commission_breakage.earlier_commission IS 'What they add to the commission.';
COMMENT ON COLUMN report.commission_breakage.earlier_breakage IS 'What they add to the breakage.';
COMMENT ON COLUMN report.commission_breakage.earlier_prizes IS 'What they add to the net prizes.';

-- Slips under every day to which something of them is posted, so that a day's slips come to what was counted of it: a slip of a closed
-- day that is cancelled later is posted back on the open one, and report.slips has it once, under the first.
CREATE VIEW report.slip_days AS
SELECT
    s.slip,
    s.kind,
    s.number,
    s.property,
    s.table_id,
    day.gaming_day,
    s.of_day,
    s.shift,
    s.currency,
    s.total,
    s.cash,
    s.vouchers,
    s.box,
    s.status,
    s.written_by,
    s.written_at,
    s.confirmed_by,
    s.confirmed_at,
    s.cancelled_by,
    s.cancelled_at,
    s.cancel_reason,
    s.reversed_by,
    s.reversed_at,
    s.reversed_day,
    s.note,
    s.cancel_note,
    s.written_position,
    s.confirmed_position,
    s.reversed_position,
    day.posted
FROM report.slips AS s CROSS JOIN LATERAL (
    SELECT s.gaming_day, CASE WHEN s.confirmed_position IS NULL OR s.reversed_day = s.gaming_day THEN 0 * s.total ELSE s.total END AS posted
    UNION ALL
    SELECT s.reversed_day, -s.total WHERE s.reversed_day <> s.gaming_day
) AS day;
COMMENT ON VIEW report.slip_days IS
    'The slips of the cage by the day to which they are posted: report.slips with a second row for one that is posted back on another day. What is posted comes to table_counts.';
COMMENT ON COLUMN report.slip_days.slip IS 'The slip''s id.';
COMMENT ON COLUMN report.slip_days.kind IS 'opener, closer, fill, credit or drop.';
COMMENT ON COLUMN report.slip_days.number IS 'Of fills and credits, as printed; a property uses each once.';
COMMENT ON COLUMN report.slip_days.property IS 'The property.';
COMMENT ON COLUMN report.slip_days.table_id IS 'The table.';
COMMENT ON COLUMN report.slip_days.gaming_day IS 'The day of this row: that to which it is posted, or posted back; of one that is not signed that which it names.';
COMMENT ON COLUMN report.slip_days.of_day IS 'The day that it is about, where that one was closed and so it is posted to another.';
COMMENT ON COLUMN report.slip_days.shift IS 'The shift, where it was reported.';
COMMENT ON COLUMN report.slip_days.currency IS 'Currency of its amounts.';
COMMENT ON COLUMN report.slip_days.total IS 'What it comes to.';
COMMENT ON COLUMN report.slip_days.cash IS 'Of a drop: banknotes.';
COMMENT ON COLUMN report.slip_days.vouchers IS 'Of a drop: vouchers for chips.';
COMMENT ON COLUMN report.slip_days.box IS 'Of a drop: the box.';
COMMENT ON COLUMN report.slip_days.status IS 'open: one person has signed it, and it has moved nothing; confirmed: it is posted; cancelling: it is posted, and its cancellation waits; cancelled: it counts for nothing.';
COMMENT ON COLUMN report.slip_days.written_by IS 'Reference of the person who wrote it.';
COMMENT ON COLUMN report.slip_days.written_at IS 'When the service received it.';
COMMENT ON COLUMN report.slip_days.confirmed_by IS 'Reference of the other person who signed it.';
COMMENT ON COLUMN report.slip_days.confirmed_at IS 'When the service received that.';
COMMENT ON COLUMN report.slip_days.cancelled_by IS 'Reference of the person who cancelled it, or asked for that.';
COMMENT ON COLUMN report.slip_days.cancelled_at IS 'When the service received that.';
COMMENT ON COLUMN report.slip_days.cancel_reason IS 'The reason''s code.';
COMMENT ON COLUMN report.slip_days.reversed_by IS 'Reference of the other person who signed the cancellation of a posted slip.';
COMMENT ON COLUMN report.slip_days.reversed_at IS 'When the service received that.';
COMMENT ON COLUMN report.slip_days.reversed_day IS 'The day to which it was posted back.';
COMMENT ON COLUMN report.slip_days.note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN report.slip_days.cancel_note IS 'The reason of its cancellation in words.';
COMMENT ON COLUMN report.slip_days.written_position IS 'Position of the event that put it on record.';
COMMENT ON COLUMN report.slip_days.confirmed_position IS 'Position of the event that posted it.';
COMMENT ON COLUMN report.slip_days.reversed_position IS 'Position of the event by which it was posted back.';
COMMENT ON COLUMN report.slip_days.posted IS 'What it adds to this day: its total, less than zero where it is posted back; 0 of one that is not signed, or is signed and posted back on one day.';

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_report') THEN
        GRANT SELECT ON report.slip_days TO ledger_report;
    END IF;
END
$$;

-- What is in question is what is at stake or was decided. The view had all that was ever taken, stakes that went back or on included.
CREATE OR REPLACE VIEW report.disputes AS
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
    report.amount(CASE WHEN h.bet IS NULL THEN r.escrow + r.lost + r.won + r.pushed ELSE coalesce((
        SELECT coalesce(s.stake, b.stake) FROM projection.bets AS b LEFT JOIN projection.results AS s USING (round, bet)
        WHERE b.round = h.round AND b.bet = h.bet AND coalesce(s.result, 'open') IN ('open', 'lost', 'won', 'push')
    ), 0) END, r.currency) AS stake,
    h.note,
    h.release_note,
    h.held_position,
    h.released_position
FROM projection.holds AS h JOIN projection.rounds AS r USING (round);
COMMENT ON COLUMN report.disputes.stake IS 'What is in question: the stake of the bet, or of the round''s bets, that is undecided or was decided; what was withdrawn, changed, voided or carried on is in it no more.';
