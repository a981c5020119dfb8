-- What is read: tables folded from the log by the projections, which may be dropped and folded anew at any time.
--
-- Nothing here is a source of truth, and nothing here refers to the log by a foreign key. The code that fills these tables names
-- them without a schema, so the same code fills a copy of them elsewhere. Nothing in them depends on when or in what batches the
-- log was folded (positions excepted): the same log gives the same rows.
--
-- Amounts are whole minor units of the row's currency. Sums are numeric because a sum may outgrow 64 bits. Text keys are compared
-- by code point whatever the database's collation, so every order is the same everywhere.
CREATE SCHEMA projection;
COMMENT ON SCHEMA projection IS 'What is read: tables folded from the log; amounts are whole minor units of the row''s currency.';

CREATE TABLE projection.positions (
    name text PRIMARY KEY,
    position bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stopped_at timestamptz,
    stopped_by bigint,
    stop_reason text,
    CHECK ((stopped_at IS NULL) = (stopped_by IS NULL) AND (stopped_at IS NULL) = (stop_reason IS NULL))
);
COMMENT ON TABLE projection.positions IS 'How far each projection has folded the log; written in the transaction that writes its rows.';
COMMENT ON COLUMN projection.positions.name IS 'The projection.';
COMMENT ON COLUMN projection.positions.position IS 'Everything up to this position of the log is in the projection''s tables, once.';
COMMENT ON COLUMN projection.positions.updated_at IS 'When the position last moved or the projection stopped.';
COMMENT ON COLUMN projection.positions.stopped_at IS 'When the projection stopped at an event it cannot fold; null while it runs.';
COMMENT ON COLUMN projection.positions.stopped_by IS 'Position of the event at which it stopped.';
COMMENT ON COLUMN projection.positions.stop_reason IS 'Why it stopped, as text for a person.';

-- The projection «ledger»: rounds, movements, balances.

CREATE TABLE projection.rounds (
    round uuid PRIMARY KEY,
    property text NOT NULL,
    pit text NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    game text NOT NULL,
    currency text NOT NULL,
    regulation text NOT NULL,
    regulation_hash text NOT NULL,
    property_hash text NOT NULL,
    applied text,
    gaming_day date NOT NULL,
    shift text,
    dealer text,
    supervisor text,
    status text NOT NULL CHECK (status IN ('open', 'closed', 'settled')),
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    settled_at timestamptz,
    outcome text,
    shown text,
    bets bigint NOT NULL,
    stakes numeric(38, 0) NOT NULL,
    lost numeric(38, 0) NOT NULL,
    won numeric(38, 0) NOT NULL,
    pushed numeric(38, 0) NOT NULL,
    prizes numeric(38, 0) NOT NULL,
    commission numeric(38, 0) NOT NULL,
    breakage numeric(38, 0) NOT NULL,
    first_position bigint NOT NULL,
    last_position bigint NOT NULL,
    -- A settled round leaves nothing in escrow.
    CHECK (status <> 'settled' OR stakes = lost + won + pushed)
);
CREATE INDEX rounds_in_order ON projection.rounds (first_position);
CREATE INDEX rounds_of_table ON projection.rounds (table_id, first_position);
COMMENT ON TABLE projection.rounds IS 'Each round as its events so far leave it.';
COMMENT ON COLUMN projection.rounds.round IS 'The round''s id, which is its stream in the log.';
COMMENT ON COLUMN projection.rounds.property IS 'The property whose table this is.';
COMMENT ON COLUMN projection.rounds.pit IS 'The pit in which the table stood.';
COMMENT ON COLUMN projection.rounds.table_id IS 'The table.';
COMMENT ON COLUMN projection.rounds.game IS 'The game.';
COMMENT ON COLUMN projection.rounds.currency IS 'Currency of every amount of the round.';
COMMENT ON COLUMN projection.rounds.regulation IS 'Number of the order under which the round is settled, for example 30/2003.';
COMMENT ON COLUMN projection.rounds.regulation_hash IS 'SHA-256 of the regulation''s canonical content, which is in the log.';
COMMENT ON COLUMN projection.rounds.property_hash IS 'SHA-256 of the property''s configuration, which is in the log.';
COMMENT ON COLUMN projection.rounds.applied IS 'Set where the regulation is applied beyond its repeal: the sentence that reports print.';
COMMENT ON COLUMN projection.rounds.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN projection.rounds.shift IS 'The shift, where the terminal named it.';
COMMENT ON COLUMN projection.rounds.dealer IS 'Reference of the dealer.';
COMMENT ON COLUMN projection.rounds.supervisor IS 'Reference of the supervisor.';
COMMENT ON COLUMN projection.rounds.status IS 'open: bets are taken; closed: no more bets; settled: every bet is resolved.';
COMMENT ON COLUMN projection.rounds.opened_at IS 'When the service received the opening.';
COMMENT ON COLUMN projection.rounds.closed_at IS 'When the service received the close of betting.';
COMMENT ON COLUMN projection.rounds.settled_at IS 'When the service received the outcome that settled the round.';
COMMENT ON COLUMN projection.rounds.outcome IS 'The outcome in canonical form.';
COMMENT ON COLUMN projection.rounds.shown IS 'The outcome in words, as the table announces it.';
COMMENT ON COLUMN projection.rounds.bets IS 'Number of bets placed.';
COMMENT ON COLUMN projection.rounds.stakes IS 'Sum of the stakes placed.';
COMMENT ON COLUMN projection.rounds.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN projection.rounds.won IS 'Sum of the stakes that won; they went back to their players.';
COMMENT ON COLUMN projection.rounds.pushed IS 'Sum of the stakes that neither won nor lost; they went back to their players.';
COMMENT ON COLUMN projection.rounds.prizes IS 'Sum of the net prizes, after commission and breakage.';
COMMENT ON COLUMN projection.rounds.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN projection.rounds.breakage IS 'Sum of the breakage kept.';
COMMENT ON COLUMN projection.rounds.first_position IS 'Position of the event that opened the round.';
COMMENT ON COLUMN projection.rounds.last_position IS 'Position of the round''s latest event.';

CREATE TABLE projection.movements (
    position bigint NOT NULL,
    line integer NOT NULL CHECK (line > 0),
    round uuid NOT NULL,
    bet uuid NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    currency text NOT NULL,
    debit text COLLATE "C" NOT NULL,
    credit text COLLATE "C" NOT NULL,
    amount numeric(38, 0) NOT NULL CHECK (amount > 0),
    PRIMARY KEY (position, line),
    CHECK (debit <> credit)
);
COMMENT ON TABLE projection.movements IS
    'Every amount that moved, from one account to another: double entry in one row, so no movement can be out of balance.';
COMMENT ON COLUMN projection.movements.position IS 'Position of the event that moved it.';
COMMENT ON COLUMN projection.movements.line IS 'Number of the movement among those of its event, from 1.';
COMMENT ON COLUMN projection.movements.round IS 'The round.';
COMMENT ON COLUMN projection.movements.bet IS 'The bet.';
COMMENT ON COLUMN projection.movements.table_id IS 'The table.';
COMMENT ON COLUMN projection.movements.currency IS 'Currency of the amount.';
COMMENT ON COLUMN projection.movements.debit IS 'The account it left.';
COMMENT ON COLUMN projection.movements.credit IS 'The account it reached.';
COMMENT ON COLUMN projection.movements.amount IS 'The amount, in minor units; always positive.';

CREATE TABLE projection.balances (
    account text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    balance numeric(38, 0) NOT NULL,
    PRIMARY KEY (account, currency)
);
COMMENT ON TABLE projection.balances IS
    'Balance of each account that ever moved: credits less debits. Per currency they sum to zero.';
COMMENT ON COLUMN projection.balances.account IS
    'player/<reference>, escrow/<table> (stakes at risk), win/<table>, commission/<table> or breakage/<table>.';
COMMENT ON COLUMN projection.balances.currency IS 'Currency of the balance.';
COMMENT ON COLUMN projection.balances.balance IS
    'Credits less debits, in minor units: negative for a player who lost, positive for a table that won.';

-- The projection «tables»: what each table did, by gaming day.

CREATE TABLE projection.table_rounds (
    round uuid PRIMARY KEY,
    gaming_day date NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    regulation text COLLATE "C" NOT NULL,
    applied text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL
);
COMMENT ON TABLE projection.table_rounds IS
    'Under which line of the table report each round belongs: kept apart from rounds, so that this projection depends on no other.';
COMMENT ON COLUMN projection.table_rounds.round IS 'The round.';
COMMENT ON COLUMN projection.table_rounds.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN projection.table_rounds.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_rounds.game IS 'The game.';
COMMENT ON COLUMN projection.table_rounds.regulation IS 'Number of the order under which the round is settled.';
COMMENT ON COLUMN projection.table_rounds.applied IS 'The sentence that reports print where the regulation is applied beyond its repeal; else empty.';
COMMENT ON COLUMN projection.table_rounds.currency IS 'Currency of every amount of the round.';

CREATE TABLE projection.table_reports (
    gaming_day date NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    regulation text COLLATE "C" NOT NULL,
    applied text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    rounds bigint NOT NULL,
    bets bigint NOT NULL,
    lost numeric(38, 0) NOT NULL,
    won numeric(38, 0) NOT NULL,
    pushed numeric(38, 0) NOT NULL,
    prizes numeric(38, 0) NOT NULL,
    commission numeric(38, 0) NOT NULL,
    breakage numeric(38, 0) NOT NULL,
    PRIMARY KEY (gaming_day, table_id, game, regulation, applied, currency)
);
COMMENT ON TABLE projection.table_reports IS
    'What each table did in each gaming day. Handle is lost + won; win is lost - prizes (commission and breakage are in it once).';
COMMENT ON COLUMN projection.table_reports.gaming_day IS 'The house''s book day in which the rounds opened.';
COMMENT ON COLUMN projection.table_reports.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_reports.game IS 'The game.';
COMMENT ON COLUMN projection.table_reports.regulation IS 'Number of the order under which the rounds were settled.';
COMMENT ON COLUMN projection.table_reports.applied IS 'The sentence that reports print where the regulation is applied beyond its repeal; else empty.';
COMMENT ON COLUMN projection.table_reports.currency IS 'Currency of every amount of the row.';
COMMENT ON COLUMN projection.table_reports.rounds IS 'Number of rounds settled.';
COMMENT ON COLUMN projection.table_reports.bets IS 'Number of bets resolved: lost, won or pushed.';
COMMENT ON COLUMN projection.table_reports.lost IS 'Sum of the stakes that lost.';
COMMENT ON COLUMN projection.table_reports.won IS 'Sum of the stakes that won.';
COMMENT ON COLUMN projection.table_reports.pushed IS 'Sum of the stakes that neither won nor lost; not part of the handle.';
COMMENT ON COLUMN projection.table_reports.prizes IS 'Sum of the net prizes, after commission and breakage.';
COMMENT ON COLUMN projection.table_reports.commission IS 'Sum of the commission kept.';
COMMENT ON COLUMN projection.table_reports.breakage IS 'Sum of the breakage kept.';

CREATE TABLE projection.table_edges (
    gaming_day date NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    regulation text COLLATE "C" NOT NULL,
    applied text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    edge text COLLATE "C" NOT NULL,
    stakes numeric(38, 0) NOT NULL,
    PRIMARY KEY (gaming_day, table_id, game, regulation, applied, currency, edge)
);
COMMENT ON TABLE projection.table_edges IS
    'Stakes resolved by house edge: theoretical win is the sum of stakes x edge, exact because each edge is kept as a fraction.';
COMMENT ON COLUMN projection.table_edges.gaming_day IS 'The house''s book day in which the rounds opened.';
COMMENT ON COLUMN projection.table_edges.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_edges.game IS 'The game.';
COMMENT ON COLUMN projection.table_edges.regulation IS 'Number of the order under which the rounds were settled.';
COMMENT ON COLUMN projection.table_edges.applied IS 'The sentence that reports print where the regulation is applied beyond its repeal; else empty.';
COMMENT ON COLUMN projection.table_edges.currency IS 'Currency of the stakes.';
COMMENT ON COLUMN projection.table_edges.edge IS 'House edge of the bets, a fraction in lowest terms, for example 1/37.';
COMMENT ON COLUMN projection.table_edges.stakes IS
    'Sum of the stakes resolved at that edge, pushes included: an edge is what the house expects of every stake, pushed or not.';

CREATE TABLE projection.table_outcomes (
    gaming_day date NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (gaming_day, table_id, game, outcome)
);
COMMENT ON TABLE projection.table_outcomes IS 'How often each table showed each outcome.';
COMMENT ON COLUMN projection.table_outcomes.gaming_day IS 'The house''s book day in which the round opened.';
COMMENT ON COLUMN projection.table_outcomes.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_outcomes.game IS 'The game.';
COMMENT ON COLUMN projection.table_outcomes.outcome IS 'The outcome in canonical form.';
COMMENT ON COLUMN projection.table_outcomes.count IS 'Number of rounds that ended with it.';
