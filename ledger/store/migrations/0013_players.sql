-- Players that a house has erased (docs/adr/0023): the log keeps their references and is never changed; nothing that is read shows
-- them. The tables of the projections are rewritten by the fold; here is what the views read in the log itself. No function does it:
-- one would act with the rights of whoever reads the view, and not with those of its owner.

CREATE VIEW ledger.players AS
SELECT
    e.notification_id AS position,
    said.body ->> 'player' AS player,
    CASE e.topic WHEN 'PlayerErased.v1' THEN 'erased' WHEN 'PlayerHeld.v1' THEN 'held' WHEN 'PlayerReleased.v1' THEN 'released' END AS what,
    said.body ->> 'shown' AS shown,
    said.body ->> 'property' AS property,
    said.body ->> 'reason' AS reason,
    said.body ->> 'by' AS decided_by,
    (said.body ->> 'received_at')::timestamptz AS decided_at,
    said.body ->> 'note' AS note
FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
-- The one stream of players, whose id is that of ledger.reports.PLAYERS_STREAM.
WHERE e.originator_id = '2b9d1f0a-7c46-5e1d-a5c3-1f6e8d40b7a2';
COMMENT ON VIEW ledger.players IS
    'What was decided about players'' references, as it is recorded: with the references themselves. report.players shows it without those that are erased.';
COMMENT ON COLUMN ledger.players.position IS 'Position of the event.';
COMMENT ON COLUMN ledger.players.player IS 'The reference.';
COMMENT ON COLUMN ledger.players.what IS 'erased, held (it may not be erased) or released (a reason for that has ended).';
COMMENT ON COLUMN ledger.players.shown IS 'erased: what is shown in its place.';
COMMENT ON COLUMN ledger.players.property IS 'The property by whose right it was decided.';
COMMENT ON COLUMN ledger.players.reason IS 'Why, by the house''s own code.';
COMMENT ON COLUMN ledger.players.decided_by IS 'Reference of the person who decided it.';
COMMENT ON COLUMN ledger.players.decided_at IS 'When the service received it.';
COMMENT ON COLUMN ledger.players.note IS 'In words, where somebody wrote some.';

CREATE VIEW report.players AS
SELECT p.position, coalesce((SELECT x.shown FROM ledger.players AS x WHERE x.player = p.player AND x.what = 'erased' ORDER BY x.position LIMIT 1), p.player) AS player, p.what, p.property, p.reason, p.decided_by, p.decided_at, p.note
FROM ledger.players AS p;
COMMENT ON VIEW report.players IS
    'What was decided about players'' references: erasures, and legal holds against them. An erased one is shown as everywhere.';
COMMENT ON COLUMN report.players.position IS 'Position of the event.';
COMMENT ON COLUMN report.players.player IS 'The reference; of one that is erased what is shown in its place.';
COMMENT ON COLUMN report.players.what IS 'erased, held (it may not be erased) or released (a reason for that has ended).';
COMMENT ON COLUMN report.players.property IS 'The property by whose right it was decided.';
COMMENT ON COLUMN report.players.reason IS 'Why, by the house''s own code.';
COMMENT ON COLUMN report.players.decided_by IS 'Reference of the person who decided it.';
COMMENT ON COLUMN report.players.decided_at IS 'When the service received it.';
COMMENT ON COLUMN report.players.note IS 'In words, where somebody wrote some.';

CREATE OR REPLACE VIEW report.corrected_bets AS
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
    coalesce((SELECT x.shown FROM ledger.players AS x WHERE x.player = (said.body #>> '{before,player}') AND x.what = 'erased' ORDER BY x.position LIMIT 1), (said.body #>> '{before,player}')) AS before_player,
    (said.body #>> '{before,spot}') AS before_spot,
    report.amount((said.body #>> '{before,stake}')::numeric, r.currency) AS before_stake,
    (said.body #>> '{before,result}') AS before_result,
    report.amount(coalesce((said.body #>> '{before,prize}')::numeric, 0), r.currency) AS before_prize,
    report.amount(coalesce((said.body #>> '{before,commission}')::numeric, 0), r.currency) AS before_commission,
    report.amount(coalesce((said.body #>> '{before,breakage}')::numeric, 0), r.currency) AS before_breakage,
    coalesce((said.body #>> '{before,edge}'), '0') AS before_edge,
    report.amount(coalesce((said.body #>> '{before,net_prize}')::numeric, 0), r.currency) AS before_net_prize,
    report.amount(coalesce((said.body #>> '{before,returned}')::numeric, 0), r.currency) AS before_returned,
    coalesce((SELECT x.shown FROM ledger.players AS x WHERE x.player = (said.body #>> '{after,player}') AND x.what = 'erased' ORDER BY x.position LIMIT 1), (said.body #>> '{after,player}')) AS after_player,
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

CREATE OR REPLACE VIEW report.adjustments AS
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
    coalesce((SELECT x.shown FROM ledger.players AS x WHERE x.player = (said.body ->> 'player') AND x.what = 'erased' ORDER BY x.position LIMIT 1), (said.body ->> 'player')) AS player,
    r.currency,
    report.amount((said.body ->> 'amount')::numeric * CASE said.body ->> 'direction' WHEN 'to_player' THEN 1 ELSE -1 END, r.currency) AS amount,
    said.body ->> 'article' AS article
FROM projection.corrections AS c JOIN projection.rounds AS r USING (round)
JOIN ledger.events AS e ON e.originator_id = c.round AND e.topic = 'PlayerAdjusted.v1'
CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
WHERE said.body ->> 'correction' = c.correction::text;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_report') THEN
        GRANT SELECT ON report.players TO ledger_report;
    END IF;
END
$$;
