-- A count win is one figure, whoever is asked. A count of nothing that was cancelled counted as two in the view of reports; and on a
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
