-- Reconciliation: what was found beside which files, run by run, and what persons resolved. No event, and nothing that events need:
-- a replay knows none of it. Rows are written once and never changed; a state is read from them.
CREATE SCHEMA reconciliation;
COMMENT ON SCHEMA reconciliation IS
    'What `roundledger reconcile --record` found beside which files, and what persons resolved of it. Append-only.';

CREATE TABLE reconciliation.runs (
    run bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    recorded_by text NOT NULL DEFAULT session_user,
    scope text COLLATE "C" NOT NULL,
    as_of_position bigint NOT NULL,
    files jsonb NOT NULL,
    summary jsonb NOT NULL
);
COMMENT ON TABLE reconciliation.runs IS 'Each run that was recorded.';
COMMENT ON COLUMN reconciliation.runs.run IS 'Its number.';
COMMENT ON COLUMN reconciliation.runs.recorded_at IS 'When it was recorded.';
COMMENT ON COLUMN reconciliation.runs.recorded_by IS 'The database''s user that recorded it.';
COMMENT ON COLUMN reconciliation.runs.scope IS 'Mappings, period and filters: runs of one scope follow each other.';
COMMENT ON COLUMN reconciliation.runs.as_of_position IS 'Up to which position the log was in the figures.';
COMMENT ON COLUMN reconciliation.runs.files IS 'Each file: name, sha256, mapping and its sha256, lines.';
COMMENT ON COLUMN reconciliation.runs.summary IS 'Reason code → number of exceptions.';

CREATE TABLE reconciliation.findings (
    run bigint NOT NULL REFERENCES reconciliation.runs,
    exception text COLLATE "C" NOT NULL,
    found text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    what text,
    field text,
    in_file text,
    in_ledger text,
    currency text,
    difference numeric(38, 0),
    rows bigint NOT NULL,
    file text,
    lines text,
    table_id text,
    gaming_day date,
    positions text,
    detail text,
    next text,
    PRIMARY KEY (run, exception)
);
CREATE INDEX findings_exception ON reconciliation.findings (exception, run);
COMMENT ON TABLE reconciliation.findings IS 'Each exception of each run.';
COMMENT ON COLUMN reconciliation.findings.run IS 'The run.';
COMMENT ON COLUMN reconciliation.findings.exception IS 'The exception''s id: a hash of what it is about, the same in each run.';
COMMENT ON COLUMN reconciliation.findings.found IS 'A hash of both values: another value is another finding about the same.';
COMMENT ON COLUMN reconciliation.findings.reason IS 'The reason code.';
COMMENT ON COLUMN reconciliation.findings.what IS 'What it is about, in words.';
COMMENT ON COLUMN reconciliation.findings.field IS 'The field that differs.';
COMMENT ON COLUMN reconciliation.findings.in_file IS 'The file''s value.';
COMMENT ON COLUMN reconciliation.findings.in_ledger IS 'The ledger''s value.';
COMMENT ON COLUMN reconciliation.findings.currency IS 'Currency of the difference.';
COMMENT ON COLUMN reconciliation.findings.difference IS 'File less ledger, in minor units.';
COMMENT ON COLUMN reconciliation.findings.rows IS 'How many rows it speaks of.';
COMMENT ON COLUMN reconciliation.findings.file IS 'Name of the file.';
COMMENT ON COLUMN reconciliation.findings.lines IS 'Its lines.';
COMMENT ON COLUMN reconciliation.findings.table_id IS 'The table.';
COMMENT ON COLUMN reconciliation.findings.gaming_day IS 'The gaming day.';
COMMENT ON COLUMN reconciliation.findings.positions IS 'Positions of the ledger''s events.';
COMMENT ON COLUMN reconciliation.findings.detail IS 'More, in words.';
COMMENT ON COLUMN reconciliation.findings.next IS 'The command to type next.';

CREATE TABLE reconciliation.resolutions (
    resolution bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    exception text COLLATE "C" NOT NULL,
    found text COLLATE "C" NOT NULL,
    why text NOT NULL CHECK (why <> ''),
    resolved_by text NOT NULL,
    resolved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT resolutions_once UNIQUE (exception, found)
);
COMMENT ON TABLE reconciliation.resolutions IS 'What persons resolved. It holds for the values that were found then and for no others.';
COMMENT ON COLUMN reconciliation.resolutions.resolution IS 'Its number.';
COMMENT ON COLUMN reconciliation.resolutions.exception IS 'The exception''s id.';
COMMENT ON COLUMN reconciliation.resolutions.found IS 'The hash of both values, as findings has it.';
COMMENT ON COLUMN reconciliation.resolutions.why IS 'Why, in words.';
COMMENT ON COLUMN reconciliation.resolutions.resolved_by IS 'The person, by their token.';
COMMENT ON COLUMN reconciliation.resolutions.resolved_at IS 'When.';

CREATE TRIGGER runs_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation.runs
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER findings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation.findings
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER resolutions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation.resolutions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE VIEW reconciliation.exceptions AS
SELECT
    f.exception,
    CASE
        WHEN r.exception IS NOT NULL THEN 'resolved'
        WHEN f.run < (SELECT max(n.run) FROM reconciliation.runs AS n WHERE n.scope = u.scope) THEN 'gone'
        WHEN s.first_run < f.run THEN 'still open'
        ELSE 'new'
    END AS state,
    f.reason, f.what, f.field, f.in_file, f.in_ledger, f.currency, f.difference, f.rows, f.file, f.lines, f.table_id, f.gaming_day,
    f.positions, f.detail, f.next, s.first_run, s.first_seen, f.run AS last_run, u.recorded_at AS last_seen, s.times,
    r.resolved_by, r.resolved_at, r.why, f.found
FROM (
    SELECT exception, min(run) AS first_run, max(run) AS last_run, min(n.recorded_at) AS first_seen, count(*) AS times
    FROM reconciliation.findings JOIN reconciliation.runs AS n USING (run) GROUP BY exception
) AS s
JOIN reconciliation.findings AS f ON (f.exception, f.run) = (s.exception, s.last_run)
JOIN reconciliation.runs AS u ON u.run = f.run
LEFT JOIN reconciliation.resolutions AS r ON (r.exception, r.found) = (f.exception, f.found);
COMMENT ON VIEW reconciliation.exceptions IS 'Each exception as it was found last, with its state.';
COMMENT ON COLUMN reconciliation.exceptions.exception IS 'The exception''s id.';
COMMENT ON COLUMN reconciliation.exceptions.state IS 'new, still open (an earlier run had it), resolved (a person said so, of these values) or gone (the latest run of its scope had it no more).';
COMMENT ON COLUMN reconciliation.exceptions.reason IS 'The reason code.';
COMMENT ON COLUMN reconciliation.exceptions.what IS 'What it is about, in words.';
COMMENT ON COLUMN reconciliation.exceptions.field IS 'The field that differs.';
COMMENT ON COLUMN reconciliation.exceptions.in_file IS 'The file''s value.';
COMMENT ON COLUMN reconciliation.exceptions.in_ledger IS 'The ledger''s value.';
COMMENT ON COLUMN reconciliation.exceptions.currency IS 'Currency of the difference.';
COMMENT ON COLUMN reconciliation.exceptions.difference IS 'File less ledger, in minor units.';
COMMENT ON COLUMN reconciliation.exceptions.rows IS 'How many rows it speaks of.';
COMMENT ON COLUMN reconciliation.exceptions.file IS 'Name of the file.';
COMMENT ON COLUMN reconciliation.exceptions.lines IS 'Its lines.';
COMMENT ON COLUMN reconciliation.exceptions.table_id IS 'The table.';
COMMENT ON COLUMN reconciliation.exceptions.gaming_day IS 'The gaming day.';
COMMENT ON COLUMN reconciliation.exceptions.positions IS 'Positions of the ledger''s events.';
COMMENT ON COLUMN reconciliation.exceptions.detail IS 'More, in words.';
COMMENT ON COLUMN reconciliation.exceptions.next IS 'The command to type next.';
COMMENT ON COLUMN reconciliation.exceptions.first_run IS 'The first run that had it.';
COMMENT ON COLUMN reconciliation.exceptions.first_seen IS 'When that was recorded.';
COMMENT ON COLUMN reconciliation.exceptions.last_run IS 'The last run that had it.';
COMMENT ON COLUMN reconciliation.exceptions.last_seen IS 'When that was recorded.';
COMMENT ON COLUMN reconciliation.exceptions.times IS 'In how many recorded runs it was.';
COMMENT ON COLUMN reconciliation.exceptions.resolved_by IS 'Who resolved it.';
COMMENT ON COLUMN reconciliation.exceptions.resolved_at IS 'When.';
COMMENT ON COLUMN reconciliation.exceptions.why IS 'Why.';
COMMENT ON COLUMN reconciliation.exceptions.found IS 'The hash of both values.';
