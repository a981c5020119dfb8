-- The whole life of a round in what is read: bets one by one, voids, carried bets, holds, corrections, and who worked where.
--
-- All that was folded before is folded anew, since the log alone has what the new columns and tables hold.
TRUNCATE projection.rounds, projection.movements, projection.balances, projection.table_rounds, projection.table_reports,
    projection.table_edges, projection.table_outcomes;
DELETE FROM projection.positions;

-- The projection «ledger».

DO $$
DECLARE
    named text;
BEGIN
    FOR named IN SELECT conname FROM pg_constraint WHERE conrelid = 'projection.rounds'::regclass AND contype = 'c' LOOP
        EXECUTE format('ALTER TABLE projection.rounds DROP CONSTRAINT %I', named);
    END LOOP;
END $$;
ALTER TABLE projection.rounds
    ADD disposition text CHECK (disposition IN ('carry', 'return')),
    ADD predecessor uuid,
    ADD successor uuid,
    ADD throws bigint NOT NULL,
    ADD void_launches bigint NOT NULL,
    ADD resolved bigint NOT NULL,
    ADD carried_in numeric(38, 0) NOT NULL,
    ADD carried_out numeric(38, 0) NOT NULL,
    ADD returned numeric(38, 0) NOT NULL,
    ADD escrow numeric(38, 0) NOT NULL CHECK (escrow >= 0),
    ADD adjusted numeric(38, 0) NOT NULL,
    ADD holds bigint NOT NULL CHECK (holds >= 0),
    ADD corrections_pending bigint NOT NULL CHECK (corrections_pending >= 0),
    ADD corrections bigint NOT NULL,
    ADD CHECK (status IN ('open', 'closed', 'settled', 'resettled', 'voided')),
    ADD CHECK ((status = 'voided') = (disposition IS NOT NULL)),
    -- No stake is lost sight of, at whatever moment of the round.
    ADD CHECK (stakes + carried_in = lost + won + pushed + returned + carried_out + escrow);
CREATE INDEX rounds_of_day ON projection.rounds (gaming_day, table_id);
COMMENT ON COLUMN projection.rounds.status IS
    'open: bets are taken; closed: no more bets; settled: every bet is resolved; resettled: a correction changed that; voided: it ended without a result.';
COMMENT ON COLUMN projection.rounds.settled_at IS 'When the service received the outcome or throw that settled the round.';
COMMENT ON COLUMN projection.rounds.outcome IS
    'The outcome in canonical form, as last corrected; of craps the throws so far, joined by commas.';
COMMENT ON COLUMN projection.rounds.bets IS 'Number of bets placed in this round, those withdrawn or voided later included.';
COMMENT ON COLUMN projection.rounds.stakes IS
    'Sum of the stakes that were taken: bets placed in this round and what bets were raised by; as last corrected.';
COMMENT ON COLUMN projection.rounds.lost IS 'Sum of the stakes that lost, as last corrected; so are the sums that follow.';
COMMENT ON COLUMN projection.rounds.disposition IS
    'Of a voided round: carry, its stakes went on to the successor; return, the house gave them back. Null of any other.';
COMMENT ON COLUMN projection.rounds.predecessor IS 'The round whose bets this one took over.';
COMMENT ON COLUMN projection.rounds.successor IS 'The round that took over bets of this one.';
COMMENT ON COLUMN projection.rounds.throws IS 'Craps: number of throws, void ones included; else 0.';
COMMENT ON COLUMN projection.rounds.void_launches IS 'Number of launches or shakes that were void.';
COMMENT ON COLUMN projection.rounds.resolved IS 'Number of bets that lost, won or were pushed.';
COMMENT ON COLUMN projection.rounds.carried_in IS 'Sum of the stakes taken over from the predecessor; they stay in escrow.';
COMMENT ON COLUMN projection.rounds.carried_out IS 'Sum of the stakes left to the successor; they stay in escrow.';
COMMENT ON COLUMN projection.rounds.returned IS
    'Sum of the stakes that went back undecided: withdrawn, lowered, voided, or given back by the house.';
COMMENT ON COLUMN projection.rounds.escrow IS
    'Sum of the stakes that are undecided; of a round that has ended, those of bets received late that wait for their correction.';
COMMENT ON COLUMN projection.rounds.adjusted IS
    'Paid to players beside the regulation less what was taken from them: mispays put right, payments ex gratia.';
COMMENT ON COLUMN projection.rounds.holds IS 'Number of holds that are open.';
COMMENT ON COLUMN projection.rounds.corrections_pending IS 'Number of corrections that wait for an approval.';
COMMENT ON COLUMN projection.rounds.corrections IS 'Number of corrections that were approved.';

ALTER TABLE projection.movements ALTER bet DROP NOT NULL;
COMMENT ON COLUMN projection.movements.bet IS 'The bet; null of a payment ex gratia, which is made where there was none.';
COMMENT ON COLUMN projection.balances.account IS
    'player/<reference>, or of a table: escrow (stakes at risk), win, commission, breakage, mispay or ex_gratia, as in escrow/<table>.';

CREATE TABLE projection.bets (
    round uuid NOT NULL,
    bet uuid NOT NULL,
    placed_in uuid NOT NULL,
    position bigint NOT NULL,
    player text NOT NULL,
    seat bigint,
    spot text NOT NULL,
    chip text NOT NULL,
    late boolean NOT NULL,
    locked boolean NOT NULL,
    stake bigint NOT NULL,
    corrections bigint NOT NULL,
    PRIMARY KEY (round, bet)
);
COMMENT ON TABLE projection.bets IS
    'Each bet that was placed, in each round in which it lay: one that was carried has a row in every round of the chain. What became of it is in results. Table, currency and day are those of the round.';
COMMENT ON COLUMN projection.bets.round IS 'The round in which it lies or lay.';
COMMENT ON COLUMN projection.bets.bet IS 'The bet''s id, which it keeps in every round.';
COMMENT ON COLUMN projection.bets.placed_in IS 'The round in which it was placed.';
COMMENT ON COLUMN projection.bets.position IS 'Position of the event by which it came into this round: placed, or carried.';
COMMENT ON COLUMN projection.bets.player IS 'Reference of the player, as last corrected.';
COMMENT ON COLUMN projection.bets.seat IS 'Number of the player''s place, where the terminal gave one.';
COMMENT ON COLUMN projection.bets.spot IS 'Bet notation in canonical form, as last changed, moved by a throw, or corrected.';
COMMENT ON COLUMN projection.bets.chip IS 'Kind of chip.';
COMMENT ON COLUMN projection.bets.late IS 'Whether it was received after betting closed, though placed before.';
COMMENT ON COLUMN projection.bets.locked IS 'Whether it was carried here and can be withdrawn, changed or returned no more.';
COMMENT ON COLUMN projection.bets.stake IS 'Stake in minor units, as last changed or corrected.';
COMMENT ON COLUMN projection.bets.corrections IS 'How often it was corrected.';

CREATE TABLE projection.results (
    round uuid NOT NULL,
    bet uuid NOT NULL,
    stake bigint NOT NULL,
    result text NOT NULL CHECK (result IN ('lost', 'won', 'push', 'void', 'withdrawn', 'carried')),
    odds text NOT NULL,
    prize_exact text NOT NULL,
    prize bigint NOT NULL,
    commission bigint NOT NULL,
    breakage bigint NOT NULL,
    net_prize bigint NOT NULL,
    returned bigint NOT NULL,
    edge text NOT NULL,
    article text,
    resolved_position bigint NOT NULL,
    PRIMARY KEY (round, bet),
    CHECK (prize = net_prize + commission + breakage),
    CHECK (returned = net_prize + CASE WHEN result IN ('won', 'push', 'void', 'withdrawn') THEN stake ELSE 0 END)
);
COMMENT ON TABLE projection.results IS
    'What became of each bet, in each round in which it lay, as last corrected; a bet that has no row here is undecided.';
COMMENT ON COLUMN projection.results.round IS 'The round in which it lay.';
COMMENT ON COLUMN projection.results.bet IS 'The bet''s id.';
COMMENT ON COLUMN projection.results.stake IS 'Stake in minor units with which it was decided.';
COMMENT ON COLUMN projection.results.result IS
    'lost, won, push: by the outcome; void: the stake went back undecided; withdrawn: by its player; carried: it lies in the successor now.';
COMMENT ON COLUMN projection.results.odds IS 'Prize for each unit staked, a fraction; 0 where nothing was paid.';
COMMENT ON COLUMN projection.results.prize_exact IS 'Stake x odds in minor units, a fraction; 0 where nothing was paid.';
COMMENT ON COLUMN projection.results.prize IS 'The exact prize, rounded down to a whole minor unit.';
COMMENT ON COLUMN projection.results.commission IS 'What the house keeps of the prize.';
COMMENT ON COLUMN projection.results.breakage IS 'What rounding leaves with the house.';
COMMENT ON COLUMN projection.results.net_prize IS 'What the player gets besides the stake.';
COMMENT ON COLUMN projection.results.returned IS 'What the player gets in all: of a winner stake and net prize, of a push or an undecided bet the stake.';
COMMENT ON COLUMN projection.results.edge IS 'House edge of the spot under the regulation, a fraction; 0 where nothing was decided.';
COMMENT ON COLUMN projection.results.article IS 'Order and articles by which it was decided.';
COMMENT ON COLUMN projection.results.resolved_position IS 'Position of the event that made the result what it is.';

CREATE TABLE projection.holds (
    hold uuid PRIMARY KEY,
    round uuid NOT NULL,
    bet uuid,
    reason text NOT NULL,
    note text,
    held_by text,
    held_at timestamptz NOT NULL,
    held_position bigint NOT NULL,
    finding text,
    correction uuid,
    release_note text,
    released_by text,
    released_at timestamptz,
    released_position bigint,
    CHECK ((finding IS NULL) = (released_position IS NULL))
);
CREATE INDEX holds_of_round ON projection.holds (round);
CREATE INDEX holds_in_order ON projection.holds (held_position);
COMMENT ON TABLE projection.holds IS 'Each review of a round or of one of its bets, with its finding once it was released.';
COMMENT ON COLUMN projection.holds.hold IS 'The hold''s id.';
COMMENT ON COLUMN projection.holds.round IS 'The round.';
COMMENT ON COLUMN projection.holds.bet IS 'The bet, where one is in question and not the round.';
COMMENT ON COLUMN projection.holds.reason IS 'The reason''s code.';
COMMENT ON COLUMN projection.holds.note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN projection.holds.held_by IS 'Reference of the person who held it.';
COMMENT ON COLUMN projection.holds.held_at IS 'When the service received the hold.';
COMMENT ON COLUMN projection.holds.held_position IS 'Position of the event that opened the hold.';
COMMENT ON COLUMN projection.holds.finding IS 'stands or corrected; null while the hold is open.';
COMMENT ON COLUMN projection.holds.correction IS 'The correction to which the finding led, where it led to one.';
COMMENT ON COLUMN projection.holds.release_note IS 'In words, where somebody wrote some at the release.';
COMMENT ON COLUMN projection.holds.released_by IS 'Reference of the person who released it.';
COMMENT ON COLUMN projection.holds.released_at IS 'When the service received the release.';
COMMENT ON COLUMN projection.holds.released_position IS 'Position of the event that released it.';

CREATE TABLE projection.corrections (
    correction uuid PRIMARY KEY,
    round uuid NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    note text,
    hold uuid,
    outcome text,
    bet uuid,
    player text,
    spot text,
    stake bigint,
    amount bigint,
    direction text,
    currency text NOT NULL,
    article text,
    proposed_by text NOT NULL,
    proposed_at timestamptz NOT NULL,
    proposed_position bigint NOT NULL,
    approvals_needed bigint NOT NULL CHECK (approvals_needed > 0),
    approvals bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('proposed', 'approved', 'declined')),
    approved_by text CHECK (approved_by <> proposed_by),
    seconded_by text CHECK (seconded_by NOT IN (proposed_by, approved_by)),
    declined_by text,
    decline_note text,
    decided_at timestamptz,
    decided_position bigint,
    CHECK ((status = 'approved') = (approvals = approvals_needed)),
    CHECK ((status = 'proposed') = (decided_position IS NULL))
);
CREATE INDEX corrections_of_round ON projection.corrections (round);
CREATE INDEX corrections_in_order ON projection.corrections (proposed_position);
COMMENT ON TABLE projection.corrections IS 'Each correction from its proposal to its decision: who asked for what, and who else approved or declined it.';
COMMENT ON COLUMN projection.corrections.correction IS 'The correction''s id.';
COMMENT ON COLUMN projection.corrections.round IS 'The round that is corrected.';
COMMENT ON COLUMN projection.corrections.kind IS 'outcome, bet, bet_void, late_bet, return, mispay or ex_gratia.';
COMMENT ON COLUMN projection.corrections.reason IS 'The reason''s code.';
COMMENT ON COLUMN projection.corrections.note IS 'In words, where the author wrote some.';
COMMENT ON COLUMN projection.corrections.hold IS 'The hold whose review led to it, where one did.';
COMMENT ON COLUMN projection.corrections.outcome IS 'outcome: what the table showed indeed.';
COMMENT ON COLUMN projection.corrections.bet IS 'The bet, where it concerns one.';
COMMENT ON COLUMN projection.corrections.player IS 'bet: whose it is indeed; ex_gratia: who is paid.';
COMMENT ON COLUMN projection.corrections.spot IS 'bet: where it lay indeed; ex_gratia: where the chips lay.';
COMMENT ON COLUMN projection.corrections.stake IS 'bet: what was staked indeed, minor units.';
COMMENT ON COLUMN projection.corrections.amount IS 'mispay, ex_gratia: minor units.';
COMMENT ON COLUMN projection.corrections.direction IS 'mispay: to_player or from_player.';
COMMENT ON COLUMN projection.corrections.currency IS 'Currency of its amounts, which is that of the round.';
COMMENT ON COLUMN projection.corrections.article IS 'ex_gratia: order and article that say that there was no bet to pay.';
COMMENT ON COLUMN projection.corrections.proposed_by IS 'Reference of its author.';
COMMENT ON COLUMN projection.corrections.proposed_at IS 'When the service received the proposal.';
COMMENT ON COLUMN projection.corrections.proposed_position IS 'Position of the event that proposed it.';
COMMENT ON COLUMN projection.corrections.approvals_needed IS 'How many other persons have to approve.';
COMMENT ON COLUMN projection.corrections.approvals IS 'How many have approved.';
COMMENT ON COLUMN projection.corrections.status IS 'proposed: it waits; approved: it has taken effect; declined: it never will.';
COMMENT ON COLUMN projection.corrections.approved_by IS 'Reference of the first who approved.';
COMMENT ON COLUMN projection.corrections.seconded_by IS 'Reference of the second, where two are needed.';
COMMENT ON COLUMN projection.corrections.declined_by IS 'Reference of who declined it; of its author, where that one withdrew it.';
COMMENT ON COLUMN projection.corrections.decline_note IS 'In words, where somebody wrote some.';
COMMENT ON COLUMN projection.corrections.decided_at IS 'When the service received the last approval, or that it was declined.';
COMMENT ON COLUMN projection.corrections.decided_position IS 'Position of the event that decided it.';

CREATE TABLE projection.voids (
    position bigint PRIMARY KEY,
    round uuid NOT NULL,
    what text NOT NULL CHECK (what IN ('round', 'throw', 'bet')),
    disposition text NOT NULL CHECK (disposition IN ('stand', 'carry', 'return')),
    bet uuid,
    number bigint,
    reason text NOT NULL,
    article text,
    successor uuid,
    stakes numeric(38, 0) NOT NULL,
    currency text NOT NULL,
    correction uuid,
    declared_by text,
    declared_at timestamptz NOT NULL,
    note text
);
CREATE INDEX voids_of_round ON projection.voids (round);
COMMENT ON TABLE projection.voids IS 'Everything that was declared void: launches, shakes, throws, single bets, and rounds that the house ended.';
COMMENT ON COLUMN projection.voids.position IS 'Position of the event.';
COMMENT ON COLUMN projection.voids.round IS 'The round.';
COMMENT ON COLUMN projection.voids.what IS 'round: a launch or shake, or the whole round; throw: of craps; bet: one bet.';
COMMENT ON COLUMN projection.voids.disposition IS 'stand: the stakes stay as they are; carry: the successor has them; return: they went back.';
COMMENT ON COLUMN projection.voids.bet IS 'The bet, of a single one.';
COMMENT ON COLUMN projection.voids.number IS 'Of launches and shakes, how many of the round have been void by now; of a throw its number in the round.';
COMMENT ON COLUMN projection.voids.reason IS 'Code of the regulation''s void clause, or of the house''s reason.';
COMMENT ON COLUMN projection.voids.article IS 'Order and article of the clause; null where no regulation has one.';
COMMENT ON COLUMN projection.voids.successor IS 'The round that has the bets now.';
COMMENT ON COLUMN projection.voids.stakes IS 'Sum of the stakes that were carried or went back by this event, minor units.';
COMMENT ON COLUMN projection.voids.currency IS 'Currency of the stakes, which is that of the round.';
COMMENT ON COLUMN projection.voids.correction IS 'The correction by which the house ended the round.';
COMMENT ON COLUMN projection.voids.declared_by IS 'Reference of the person who declared it, where one had proved to be the one.';
COMMENT ON COLUMN projection.voids.declared_at IS 'When the service received it.';
COMMENT ON COLUMN projection.voids.note IS 'In words, where somebody wrote some.';

CREATE TABLE projection.late_bets (
    position bigint PRIMARY KEY,
    round uuid NOT NULL,
    player text NOT NULL,
    seat bigint,
    spot text NOT NULL,
    stake bigint NOT NULL,
    currency text NOT NULL,
    article text NOT NULL,
    recorded_by text,
    recorded_at timestamptz NOT NULL,
    note text
);
CREATE INDEX late_bets_of_round ON projection.late_bets (round);
COMMENT ON TABLE projection.late_bets IS 'Chips placed after betting closed and given back: never bets, and no money moved.';
COMMENT ON COLUMN projection.late_bets.position IS 'Position of the event.';
COMMENT ON COLUMN projection.late_bets.round IS 'The round.';
COMMENT ON COLUMN projection.late_bets.player IS 'Reference of the player.';
COMMENT ON COLUMN projection.late_bets.seat IS 'Number of the player''s place, where the terminal gave one.';
COMMENT ON COLUMN projection.late_bets.spot IS 'Where the chips were put.';
COMMENT ON COLUMN projection.late_bets.stake IS 'Their value in minor units.';
COMMENT ON COLUMN projection.late_bets.currency IS 'Currency of the stake.';
COMMENT ON COLUMN projection.late_bets.article IS 'Order and article that bar bets after the close.';
COMMENT ON COLUMN projection.late_bets.recorded_by IS 'Reference of the person who recorded it, where one had proved to be the one.';
COMMENT ON COLUMN projection.late_bets.recorded_at IS 'When the service received it.';
COMMENT ON COLUMN projection.late_bets.note IS 'In words, where somebody wrote some.';

CREATE TABLE projection.table_staff (
    from_position bigint PRIMARY KEY,
    table_id text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    person text NOT NULL,
    from_at timestamptz NOT NULL,
    to_position bigint,
    to_at timestamptz,
    CHECK (to_position > from_position)
);
CREATE INDEX table_staff_of_table ON projection.table_staff (table_id, role, from_position);
CREATE UNIQUE INDEX table_staff_in_post ON projection.table_staff (table_id, role) WHERE to_position IS NULL;
COMMENT ON TABLE projection.table_staff IS 'Who worked at which table, from which position of the log to which.';
COMMENT ON COLUMN projection.table_staff.from_position IS 'Position of the event by which the person came.';
COMMENT ON COLUMN projection.table_staff.table_id IS 'The table.';
COMMENT ON COLUMN projection.table_staff.role IS 'dealer or supervisor; each table has one of each at most.';
COMMENT ON COLUMN projection.table_staff.person IS 'Reference of the person.';
COMMENT ON COLUMN projection.table_staff.from_at IS 'When the service received that the person came.';
COMMENT ON COLUMN projection.table_staff.to_position IS 'Position of the event by which the person left or was relieved; null of whoever is there.';
COMMENT ON COLUMN projection.table_staff.to_at IS 'When the service received that.';

-- The projection «tables».

ALTER TABLE projection.table_reports
    ADD adjusted numeric(38, 0) NOT NULL;
COMMENT ON COLUMN projection.table_reports.gaming_day IS
    'The house''s book day in which the rounds opened; what is corrected later is counted under the day of its round.';
COMMENT ON COLUMN projection.table_reports.adjusted IS
    'Paid to players beside the regulation less what was taken from them: mispays put right, payments ex gratia. No part of win.';
COMMENT ON COLUMN projection.table_reports.rounds IS 'Number of rounds settled; one that the house took back afterwards stays counted.';
COMMENT ON TABLE projection.table_outcomes IS 'How often each table showed each outcome, as last corrected; of craps each throw by itself, void ones left out.';
COMMENT ON COLUMN projection.table_outcomes.count IS 'Number of rounds that ended with it; of craps, number of throws.';
