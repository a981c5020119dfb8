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

-- Who declared a void is a person, where one has proved to be the one, and else the terminal that reported it. What a person says without
-- a terminal names the person in the terminal's place: that is no terminal.
CREATE OR REPLACE VIEW report.voids AS
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
    coalesce(v.declared_by, said.terminal) AS declared_by,
    nullif(said.terminal, v.declared_by) AS terminal,
    v.correction,
    v.successor,
    r.currency,
    report.amount(v.stakes, r.currency) AS stakes,
    v.note
FROM projection.voids AS v JOIN projection.rounds AS r USING (round)
CROSS JOIN LATERAL (
    SELECT (SELECT convert_from(e.state, 'UTF8')::jsonb ->> 'terminal' FROM ledger.events AS e WHERE e.notification_id = v.position) AS terminal
) AS said;
COMMENT ON COLUMN report.voids.declared_by IS 'Who declared it: reference of the person, where one had proved to be the one; else the terminal that reported it.';
COMMENT ON COLUMN report.voids.terminal IS 'The terminal that reported it; null where a person did so without one.';

-- What figures rest on, by property: the regulations in the log that its rounds were played by, as they were played, and its own choices.
-- A choice is listed where it is one: not the usual value, and not what counts only with bets that are not taken.
CREATE OR REPLACE VIEW report.assumptions AS
SELECT
    a.kind,
    a.property,
    a.regulation,
    a.part,
    a.reason,
    a.approved_by
FROM (
    WITH played AS (
        SELECT DISTINCT property, regulation_hash FROM projection.rounds
    ), regulation AS (
        SELECT p.property, (said.body ->> 'content')::jsonb AS content
        FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
        LEFT JOIN played AS p ON p.regulation_hash = said.body ->> 'sha256'
        WHERE e.topic = 'DocumentRecorded.v1' AND said.body ->> 'kind' = 'regulation'
    ), part AS (
        SELECT property, content ->> 'order' AS regulation, section || coalesce(' ' || (entry ->> 'code'), '') AS part, entry
        FROM regulation
        CROSS JOIN (VALUES ('chance'), ('unverified'), ('void'), ('dates'), ('gazette'), ('payment'), ('rounding'), ('commission')) AS s(section)
        CROSS JOIN LATERAL jsonb_path_query(content -> section, '$[*]') AS entry
        WHERE section <> 'unverified' OR content ->> 'unverified_bets' = 'on'
    )
    SELECT 'assumed' AS kind, property, regulation, part || ', ' || key AS part, value AS reason, NULL AS approved_by
    FROM part CROSS JOIN LATERAL jsonb_each_text(entry -> 'assumed')
    UNION
    SELECT 'inferred', property, regulation, part || ', ' || key, value, NULL
    FROM part CROSS JOIN LATERAL jsonb_each_text(entry -> 'inferred')
    UNION
    SELECT 'unverified', property, regulation, 'chance ' || (entry ->> 'code'), 'no source of the regulation holds this bet', NULL
    FROM part WHERE part LIKE 'unverified %'
    UNION
    SELECT 'opt_in', p.property, o ->> 'regulation', 'opt-in', o ->> 'reason', o ->> 'approved_by'
    FROM report.properties AS p CROSS JOIN LATERAL jsonb_array_elements(p.content -> 'opt_ins') AS o
    UNION
    SELECT 'choice', p.property, c ->> 'regulation', said.key, said.value #>> '{}', NULL
    FROM report.properties AS p CROSS JOIN LATERAL jsonb_array_elements(p.content -> 'choices') AS c
    CROSS JOIN LATERAL jsonb_each(c - 'regulation') AS said(key, value)
    WHERE CASE WHEN said.key IN ('field_twelve', 'commission_taken') THEN c -> 'unverified_bets' = 'true' ELSE said.value NOT IN ('[]', 'false') END
) AS a;
COMMENT ON COLUMN report.assumptions.property IS 'The property that plays by it, or whose opt-in or choice it is; null of a regulation by which no round was opened. One row for each.';
