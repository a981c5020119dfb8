-- The registers as an auditor asks of them. A correction of a closed day is posted to an open one, and the register says to which: else
-- what stands under earlier of a day cannot be found there.

CREATE OR REPLACE VIEW report.corrections AS
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
    c.decided_position,
    CASE c.status WHEN 'approved' THEN coalesce(
        (SELECT min((convert_from(e.state, 'UTF8')::jsonb ->> 'gaming_day')::date) FROM ledger.events AS e
         WHERE e.originator_id = c.round AND e.notification_id >= c.decided_position
           AND e.topic IN ('OutcomeCorrected.v1', 'BetCorrected.v1', 'PlayerAdjusted.v1')
           AND convert_from(e.state, 'UTF8')::jsonb ->> 'correction' = c.correction::text),
        r.gaming_day) END AS posted_day
FROM projection.corrections AS c JOIN projection.rounds AS r USING (round);
COMMENT ON COLUMN report.corrections.posted_day IS 'The day to which it was posted: another than that of the round where that one was closed; null unless it was approved.';
