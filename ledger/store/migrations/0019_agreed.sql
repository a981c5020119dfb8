-- Figures that two readers have, and have alike.

-- A count win is one figure. A count of nothing that was cancelled counted as two in the view of reports; and on a
-- day on which a closed day's count was put right, a table that had been played and not counted had a count win of the difference.

CREATE OR REPLACE VIEW report.table_counts AS
SELECT
    r.property,
    r.table_id,
    r.gaming_day,
    r.shift,
    r.currency,
    coalesce(sum(r.times) FILTER (WHERE r.kind = 'opener'), 0) AS openers,
    coalesce(sum(r.times) FILTER (WHERE r.kind = 'closer'), 0) AS closers,
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'opener'), r.currency) AS opener,
    report.amount(coalesce(sum(r.amount) FILTER (WHERE r.kind = 'fill'), 0), r.currency) AS fills,
    report.amount(coalesce(sum(r.amount) FILTER (WHERE r.kind = 'credit'), 0), r.currency) AS credits,
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'drop'), r.currency) AS "drop",
    report.amount(sum(r.amount) FILTER (WHERE r.kind = 'closer'), r.currency) AS closer
FROM projection.slip_postings AS r
GROUP BY r.property, r.table_id, r.gaming_day, r.shift, r.currency;

CREATE OR REPLACE VIEW projection.table_days AS
WITH counted AS (
    SELECT property, table_id, gaming_day, currency, sum(opener) AS opener, sum(fills) AS fills, sum(credits) AS credits,
           sum("drop") AS "drop", sum(closer) AS closer,
           coalesce(sum(closer), 0) + sum(credits) + coalesce(sum("drop"), 0) - coalesce(sum(opener), 0) - sum(fills) AS found
    FROM projection.shift_counts GROUP BY property, table_id, gaming_day, currency
), complete AS (
    SELECT property, table_id, gaming_day, currency, coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) AS openers
    FROM projection.slip_postings GROUP BY property, table_id, gaming_day, currency
    HAVING bool_or(kind IN ('opener', 'closer'))
       AND coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = coalesce(sum(times) FILTER (WHERE kind = 'closer'), 0)
       AND (bool_or(kind = 'drop') OR coalesce(sum(times) FILTER (WHERE kind = 'opener'), 0) = 0)
), played AS (
    SELECT table_id, gaming_day, currency, sum(rounds + bets) AS played, sum(lost + won) AS handle, sum(lost - prizes) AS rounds_win,
           sum(earlier) AS earlier, sum(adjusted) AS adjusted
    FROM projection.table_reports GROUP BY table_id, gaming_day, currency
), both_sides AS (
    SELECT c.property, table_id, gaming_day, currency, c.opener, coalesce(c.fills, 0) AS fills, coalesce(c.credits, 0) AS credits,
           c."drop", c.closer,
           -- Without an opener there is only what puts a closed day right: no count of a table that was played.
           CASE WHEN w.openers <> 0 OR (w.openers = 0 AND coalesce(p.played, 0) = 0) THEN c.found END AS count_win,
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
COMMENT ON COLUMN projection.table_days.count_win IS
    'closer + credits + drop - opener - fills; null where the drop is missing, or there is not a closer for each opener. Of a day on which only a closed day''s count was put right, the difference; null if the table was played.';

-- What each chance did. A correction of the spot took nothing off the chance on which the bet had lain, which kept a win or loss that no
-- bet has any more, and left a line of nothing on the closed day of the chance on which it lies now.
CREATE OR REPLACE VIEW report.chances AS
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
    -- What a bet added to the win is taken off the chance on which it lay, and added to that on which it lies.
    SELECT c.property, c.pit, c.table_id, c.game, c.posted_day, NULL, c.regulation, c.applied, split_part(said.spot, ':', 1), said.edge, c.currency,
           NULL, 0 * said.stake, 0 * said.stake, 0 * said.stake, 0 * said.stake, 0 * said.stake, 0,
           said.sign * CASE said.result WHEN 'lost' THEN said.stake WHEN 'won' THEN -said.net_prize ELSE 0 * said.stake END
    FROM report.corrected_bets AS c
    CROSS JOIN LATERAL (VALUES
        (-1, c.before_result, c.before_spot, c.before_stake, c.before_edge, c.before_net_prize),
        (1, c.after_result, c.after_spot, c.after_stake, c.after_edge, c.after_net_prize)
    ) AS said(sign, result, spot, stake, edge, net_prize)
    WHERE c.posted_day <> c.gaming_day AND said.result IN ('lost', 'won', 'push')
) AS r
GROUP BY r.property, r.pit, r.table_id, r.game, r.gaming_day, r.shift, r.regulation, r.applied, r.chance, r.edge, r.currency
HAVING sum(r.sign) <> 0 OR sum(r.earlier) <> 0;
