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
