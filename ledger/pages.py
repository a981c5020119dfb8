"""What each code means and what to do about it: the page behind a problem's `type`, and of the command line's help."""

from __future__ import annotations

from ledger.errors import CODES


def page(code: str) -> str | None:
    """What a code means, for a person; None where there is no such code."""
    meaning = CODES.get(code)
    if meaning is None:
        return None
    again = "Yes: the very same request may succeed later." if meaning.retryable else "No: it would be refused again."
    to_do = "Wait, then do the very same again." if meaning.retryable else _PUT_RIGHT
    if meaning.early:
        again = "Yes, while what comes before it may be under way; no, once its number shows that nothing is (`retryable` tells)."
        to_do = f"Send what is missing before it, then the very same again. Where nothing is missing: {_PUT_RIGHT}"
    facts = f"What to do: {to_do}\nHTTP status: {meaning.status}\nWorth sending again: {again}\n"
    return f"{code}: {meaning.title}\n\n{PAGES[code]}\n\n{facts}"


_PUT_RIGHT = "Put right what the error names beside its code: which value it is, and in its line `help` how."


PAGES: dict[str, str] = {
    "LGR-0101": "The body could not be read as JSON (RFC 8259) in UTF-8. Nothing of it was stored. The detail names the place.",
    "LGR-0102": "A post holds at most 1 MiB. Nothing of it was stored. Send the events in smaller batches, in order.",
    "LGR-0103": (
        "An event follows CloudEvents 1.0: specversion, id (UUID), source (/terminals/<id>), type, subject (the round's "
        "UUID), time (RFC 3339 with offset) and data; sequence is optional, a string of digits."
    ),
    "LGR-0104": (
        'An amount is a JSON string of ASCII digits, minor units of its currency, above zero: MOP 100.00 is "10000". '
        "JSON numbers are refused because readers round them."
    ),
    "LGR-0105": "Currencies are named by their ISO 4217 code in capitals, such as MOP or HKD.",
    "LGR-0106": (
        "JSON lets a key stand twice, but readers disagree about which one counts. The event was not stored; the others "
        "of its batch were not touched."
    ),
    "LGR-0107": "The `type` names an event and its version, such as roundledger.BetPlaced.v1. /openapi.json lists all.",
    "LGR-0108": (
        "A field is missing, is not known, or is not of the type that /openapi.json states. Nothing is converted or guessed."
    ),
    "LGR-0109": "A batch holds at most 1,000 events. Nothing of it was stored. Send it in parts, in order.",
    "LGR-0110": (
        "Post application/cloudevents+json (one event), application/cloudevents-batch+json (an array) or application/json."
    ),
    "LGR-0111": "No resource has this path. /openapi.json lists all.",
    "LGR-0112": "The path is known but not with this method; the header Allow lists those that are.",
    "LGR-0113": "The connection stayed open, but the rest of the body did not come. Nothing was stored. Send it again.",
    "LGR-0120": "roundledger report --help lists the reports; over HTTP they are under /v1/reports/.",
    "LGR-0121": (
        "A report is of one gaming day, of a month, or from one day to another, and of a part of the house. Which filters it "
        "takes, its help says; a filter that does not concern it is refused, for it would answer another question."
    ),
    "LGR-0122": (
        "Players are known by references of the house's own making, and what is once in the log stays there. This one has the "
        "form of an identity card's number: place, date of birth and serial number, 18 characters. Where it is a number of the "
        "house's own, put letters and a hyphen before it. Shorter document numbers cannot be told from a house's own: keep them "
        "out yourself."
    ),
    "LGR-0123": (
        "The house has erased this reference, and from then on nothing new is said under it. A guest who comes back gets a "
        "new reference, which nothing ties to the old one. What was played before keeps its money, and is shown under another "
        "name."
    ),
    "LGR-0124": (
        "References that begin with erased- are what the ledger shows in the place of erased ones. Give the player a reference "
        "of another form."
    ),
    "LGR-0201": "A table plays one round at a time: record the outcome of its last round first.",
    "LGR-0202": (
        "No round with this id is known yet. A round begins with roundledger.RoundOpened.v1, whose subject is the "
        "round's id; a bet that overtook it is accepted once it has arrived."
    ),
    "LGR-0203": "A round is opened once. Each new round has a new id, made by the terminal.",
    "LGR-0204": "Betting is closed: from the bell on, no bet is changed or taken back, and no second bell rings.",
    "LGR-0205": (
        "The outcome counts only after betting was closed. Where it overtook the close, it is accepted once that is there. One "
        "that its terminal numbered before its close, in the same epoch or an earlier one, is no outcome of the round, whatever "
        "it waited for: what the table shows after the close is a new event."
    ),
    "LGR-0206": "A round has one outcome. Correcting it is an act of its own, with an approver.",
    "LGR-0207": "A terminal's round stays at the table where it was opened.",
    "LGR-0208": "All bets of a round are in the round's currency; amounts of two currencies are never added up.",
    "LGR-0209": "The id of this bet is taken in its round.",
    "LGR-0210": (
        "A bet that is placed after the bell is no bet: the chips go back to the player, and a person puts it on record. One "
        "that only arrives after it is taken where the terminal that closed betting had numbered it before. "
        "No number shows that of another terminal's bet: a person puts it on record (LateBetRecorded), and what is owed for it "
        "all the same is paid by a correction of kind ex_gratia."
    ),
    "LGR-0211": (
        "The bet was placed before the dice were thrown and arrived after. Keep it and send it again when the round is settled: "
        "it is then taken, and an approved correction settles it by the throws that it should have seen."
    ),
    "LGR-0212": (
        "A bet's id is the event id of its placing. A report that overtook its bet is accepted once the bet is there. A bet that "
        "was refused for good is none: no correction finds it."
    ),
    "LGR-0213": "The bet was withdrawn, declared void, carried on or decided before; nothing more can happen to it here.",
    "LGR-0214": (
        "Some bets stay where they are: those that a void round of cussec handed on, those of craps that have their number, and "
        "those behind which odds lie. The detail says which; the cite says by what. A bet of craps that has its number is "
        "declared void by two persons, by a correction."
    ),
    "LGR-0215": (
        "While a review is open nothing settles the round. A person releases the hold with its finding; then send the same event "
        "again. Corrections can be made all the while."
    ),
    "LGR-0216": (
        "Where a round's bets go on into the next one, the report that ends the round names the id of the next, made by the "
        "terminal; the ledger opens it in the same moment. Where they do not go on, none is named."
    ),
    "LGR-0217": (
        "Craps is reported throw by throw, with betting reopened between them; every other game has one outcome a round. Chips "
        "in disarray are a matter of roulette."
    ),
    "LGR-0218": "Betting was closed so that the dice are thrown. It opens again when that throw is on record, void or not.",
    "LGR-0219": "What makes a launch, shake or throw void is for the regulation to say; the help lists its clauses.",
    "LGR-0220": "Winning chips are put back after the outcome has decided which they are. Record the outcome first.",
    "LGR-0221": "Betting is open. What was reported comes after its close.",
    "LGR-0222": "What was reported is so already.",
    "LGR-0223": (
        "The round is over: it was void and the next round has its bets, or the house ended it and gave the stakes back. The "
        "detail names the round that followed, where one did."
    ),
    "LGR-0224": "A hold's id is the event id of its report. A release that overtook its hold is accepted once that is there.",
    "LGR-0225": "A hold is released once. A new question is a new hold.",
    "LGR-0226": "Have the correction approved first, then release the hold with the finding `corrected`, naming it.",
    "LGR-0227": "Only who has signed on to a table can sign off from it; the next who signs on in that role relieves the former.",
    "LGR-0240": (
        "What is not settled yet is not put right by this kind of correction: while betting is open the bet itself is "
        "changed, taken back or voided, and an outcome is corrected once the round is settled."
    ),
    "LGR-0241": (
        "The bets of this round went on into another one, or the house ended the round and gave the stakes back. What "
        "is wrong about a bet that was carried is corrected, or held for review, in the round that has it."
    ),
    "LGR-0242": (
        "The record says already what the correction would make it say: the same outcome, the same bet, a bet that is "
        "void. Nothing moves twice."
    ),
    "LGR-0243": (
        "A correction is made at most once, and one that was declined stays declined. What it did is undone by another "
        "correction, which another person approves as well."
    ),
    "LGR-0244": (
        "The throws of a corrected outcome have to be those of one whole round: both faces of each, in order, the line "
        "decided by the last and by none before it. And every bet on record has to have been possible under them; the "
        "first that was not is named."
    ),
    "LGR-0245": (
        "The article that carried these bets into the round says that they cannot be cancelled (31/2003 art. 3(3)), so "
        "neither a void of the bet nor a return of the round gives their stakes back."
    ),
    "LGR-0246": (
        "A return is the house's own decision, for its own reason. Where the regulation voids a launch, a shake or a "
        "throw, it also says that the stakes stay or are carried: report that void."
    ),
    "LGR-0247": (
        "What the house pays ex gratia it pays for chips that were no bet, and it names the article that says so. Where"
        " the regulation as held here has no such article, there is nothing to name."
    ),
    "LGR-0248": (
        "No correction of the round has this id: it is the event id of the proposal, and the report goes to the same "
        "round. If the proposal is still on its way, send this again after it."
    ),
    "LGR-0249": "Whoever asks for a correction does not approve it, and where two approvals are needed they are of two persons.",
    "LGR-0250": (
        "A correction is approved on what it was proposed on. Since then another correction or the table itself has changed the "
        "bet, or what decides it, so that the approval would move something else than its author saw. It can be declined, and "
        "what is still to be put right is proposed anew."
    ),
    "LGR-0251": (
        "What is paid ex gratia stands in the place of what the chips would have won: it is a whole number of the table's "
        "payable units, and no more than the highest net prize that they could have won. The chips themselves are no part of "
        "it: no bet was taken, so that to hand them back moves nothing."
    ),
    "LGR-0252": (
        "A mispay is what a dealer handed over more or less than was due on a bet, or what of that came back or was made good. "
        "At the least nothing of what was due was handed over, and the stake collected twice. At the most there was handed over, "
        "beside what was due, the stake and the highest prize that any chance of the game could have brought it. Mispays on "
        "record count with it. Where the bet itself is wrong on record, correct the bet: what was due follows."
    ),
    "LGR-0260": (
        "A slip lists its chips by denomination, each once, with the value of one chip in minor units and how many there are; a "
        "drop lists cash and vouchers. The total is the sum of the lines. A fill or a credit is over more than nothing."
    ),
    "LGR-0261": (
        "A property uses a printed number once for a fill and once for a credit, at whichever of its tables. A slip that was "
        "cancelled keeps its number, so that every number is accounted for."
    ),
    "LGR-0262": (
        "The table has no slip with this id and of this kind. A confirmation that overtook its slip is accepted once the slip "
        "has arrived. `roundledger chips slips` lists slips with their ids."
    ),
    "LGR-0263": (
        "A slip is confirmed once, while nobody has confirmed or cancelled it. One that was confirmed is cancelled by two "
        "persons: one asks, another confirms the cancellation. `roundledger chips slips` shows how each stands."
    ),
    "LGR-0264": "The chips of a table are in the table's currency, and so are its counts, fills and credits.",
    "LGR-0265": (
        "Bets are made in cash chips (`cash`, which is also meant where nothing is said), in `non_negotiable` or `promotional` "
        "chips, or in the `colour` chips of roulette. The stake is what the chips are worth, whatever their kind."
    ),
    "LGR-0270": "A gaming day can be closed once it has ended by the property's clock: its time zone and starting hour.",
    "LGR-0271": "The gaming day is closed already, as all days before it are. What belongs to it is posted to the present day.",
    "LGR-0272": (
        "A slip is about the property's present gaming day, if it names none, or about an earlier one. The day goes by the "
        "service's clock, in the property's time zone."
    ),
    "LGR-0273": "Gaming days are closed one after the other, those on which nothing happened as well. The help names the next.",
    "LGR-0274": (
        "A round belongs to the gaming day in which it opened, however late it settles, and nothing is posted to a day that is "
        "closed. Settle the round, or have it returned by a correction, and close the day then."
    ),
    "LGR-0275": (
        "A day is closed with figures that were read up to a position of the log, and something came to the day after that. "
        "Nothing was closed. Read the figures again: `roundledger day close` does."
    ),
    "LGR-0276": (
        "The first gaming day of a property is the one before that in which its first configuration was applied: a count of the "
        "evening before may still be posted, and what is earlier is a mistyped date. Since days are closed one after the other, "
        "a closing of long ago would have all days in between closed one by one."
    ),
    "LGR-0277": (
        "A day is closed once all of it is finished, or once whoever closes it has named in `despite` what is not: a count that "
        "is missing, a slip that waits for a signature, a review, numbers of a terminal that never came. What is left is listed, "
        "and nothing was closed. `roundledger day status` shows the same."
    ),
    "LGR-0280": (
        "No event of the ledger names this reference as a player's, so there is nothing to erase, and nothing that a hold "
        "would keep. Look for a mistyped letter: capitals and small ones are different."
    ),
    "LGR-0281": (
        "A duty to keep goes before an erasure until it ends: records against money laundering, a tax, a court. The help names "
        "the reasons. roundledger players release ends one; the erasure is asked for again after the last."
    ),
    "LGR-0282": (
        "The player is in a round that is not settled, or was in one that is held for review or has a correction waiting for "
        "its approval. Settle, release or decide that first: until then it has to be known whose the money is."
    ),
    "LGR-0283": "A hold is ended by the reason under which it is on record. roundledger players list shows those that stand.",
    "LGR-0301": (
        "An event id stands for one event for as long as the log lives. The same id came with other content: nothing "
        "was stored. A new event needs a new id; a retry repeats the first body."
    ),
    "LGR-0302": "The same event is being written by another request at this moment. Send it again to read its answer.",
    "LGR-0303": (
        "A terminal numbers its events, and each number stands for one of them. This number was used for another event, which is "
        "named. A terminal that lost count begins a new epoch, in which it numbers from 1 again."
    ),
    "LGR-0304": (
        "The event would be refused as the round stands now, but events that the same terminal numbered before it have not come, "
        "and they may change that. Nothing was kept: send the missing events, then this one again with the same id. Or the post "
        "said that events of an earlier epoch wait (`?earlier=waiting`): send those first. An event of a round of craps waits so "
        "for all that its terminal numbered before it in the round: one throw makes another thing of the next. So does a change "
        "or withdrawal of a bet in every game: the bell may be among what is missing, and it counts only before that."
    ),
    "LGR-0305": "No terminal of this id has sent a numbered event; or none at this table, in this epoch.",
    "LGR-0306": (
        "Each terminal and each person may make so many requests a second (`roundledger serve --rate`); those who do not prove "
        "who they are share what their address may make. Nothing of this request was read. Wait as long as Retry-After says, "
        "then send it again as it is; events that come often are better posted in batches."
    ),
    "LGR-0307": (
        "A person has put on record that the events with these numbers will not come (NumbersGivenUp), and the table went on "
        "without them. This one came after all. It is refused for good, for what followed was decided without it: what it "
        "says is put right by a correction, or reported as a new event with a number of its own."
    ),
    "LGR-0308": (
        "Only numbers are given up that are missing: below the highest that the terminal has sent in the epoch, not received "
        "themselves, and not given up before. The help names those that are missing."
    ),
    "LGR-0401": "No regulation was in force for this game at that time, and the property has not opted into a repealed one.",
    "LGR-0402": "The ledger holds no order of this number.",
    "LGR-0403": (
        "The text of the regulation that is held has no rule for this bet. Where usual odds are known, a property may turn such "
        "bets on, on record; every explanation then says that they are unverified."
    ),
    "LGR-0404": "The regulation of the round lists no such chance. The nearest are named in the help.",
    "LGR-0405": "A bet is written as its chance and, where it has one, its selection: straight:17, split:17-20, any_triple.",
    "LGR-0406": (
        "The table of this game cannot show that. Roulette shows 0 to 36; three dice 1 to 6 each, such as 2-2-2; fantan a count "
        "of buttons, or 1 to 4; craps throws, such as 6,void,8,6."
    ),
    "LGR-0407": "A file of a regulation was refused as a whole; nothing is settled by a part of one.",
    "LGR-0408": "The chance is not taken at this moment of the game; the detail says what it lacks.",
    "LGR-0409": "The outcome leaves the bet undecided.",
    "LGR-0410": "Rules are looked up for a moment with its time zone.",
    "LGR-0412": (
        "The chance exists, but not for these numbers. The help names the legal selections that are nearest: write one of "
        "them, or see what there is by `roundledger rules show ORDER`."
    ),
    "LGR-0501": (
        "The database could not be reached. To a terminal: nothing is lost, keep the events and send them again with the same "
        "ids. To the operator: the detail says whether the server does not answer, or answers and has no such database, role or "
        "password; a missing database is made with `createdb NAME`, its schema with `roundledger db init`."
    ),
    "LGR-0502": "The service found a schema older than itself and changes none by itself. Type `roundledger db init`.",
    "LGR-0503": "Another writer changed the round in between. Send the event again with the same id.",
    "LGR-0504": (
        "An event of the log could not be read, or contradicts itself or those before it, so its figures cannot be believed. "
        "The log itself is unchanged; the detail or the operator's log names the position."
    ),
    "LGR-0505": (
        "More events wait to be written than are taken, or as many streams of the feed are open as there may be. Nothing of this "
        "request was stored. Send it again after Retry-After."
    ),
    "LGR-0506": "The embedded server's programs do not run on this machine. Name a server of your own in LEDGER_DSN.",
    "LGR-0507": "The embedded server's own log, in the data directory, says why.",
    "LGR-0508": "The data directory was made by another major version of Postgres and is not touched.",
    "LGR-0509": (
        "A fault of the service, not of the request. It is in the operator's log under the number in the detail. Send "
        "the events again with the same ids: what was stored is answered as replayed."
    ),
    "LGR-0510": "The database was migrated by a newer release of this program. Use that release.",
    "LGR-0511": (
        "The tables of this ledger were made by another program than this: by one between two releases, or by hand. Nothing is "
        "done on them. Use the program that made them; or begin a new ledger, in another LEDGER_DATA_DIR or database."
    ),
    "LGR-0512": "The migration was rolled back as a whole; the database is as it was before.",
    "LGR-0513": "Make room on the disk, then start again. What was acknowledged is kept.",
    "LGR-0514": "The data directory cannot be read and written by this user. LEDGER_DATA_DIR names another.",
    "LGR-0515": "A ledger needs a database in UTF-8 that can be written and holds the tables as `roundledger db init` made them. "
    "The detail says what it refused. A server that stands by for another is read-only.",
    "LGR-0516": "The connection settings are not shown, for there may be a password in them.",
    "LGR-0517": "The role may connect but not do this. The owner of the database can grant the right.",
    "LGR-0518": "The read side had not reached the position asked for by `at_least` or `at` within two seconds. Ask again. "
    "A command does not wait: the log ends before that position, or a projection stands still.",
    "LGR-0521": "One process at a time writes a table. It gives the table back two seconds after the table's last event, or when "
    "it ends, however it ends. Post to the process that the answer names, or send the same events again in a moment.",
    "LGR-0522": "A cursor names the event that was read last. The log holds another event at that position, or none: it was "
    "restored to an earlier point. Read again from a position before the restore, and discard what was read beyond it.",
    "LGR-0530": "One process at a time rebuilds, compares or switches the projections' tables; the detail says which one does. "
    "Its right ends with the process, however that ends. What it has built stays, and the next rebuild goes on with it.",
    "LGR-0531": "`roundledger projections switch` puts tables in place that `roundledger projections rebuild` has built. None "
    "were built, or by other code than this release's, or they stand still at an event that the live ones have folded. The live "
    "tables were not touched.",
    "LGR-0532": "The switch needs the tables for a moment alone. It tries again and again, a second at most each time, so "
    "that nobody who reads is kept waiting; somebody read all the while. Nothing was changed: let the named session end and try "
    "again.",
    "LGR-0533": "Views are made anew over the new tables. What else was made over them (a materialized view, a function bound to "
    "them, a publication, a policy, a trigger, a foreign key) would stay with the tables that are replaced; so nothing was "
    "changed. Or the tables replaced by an earlier switch are still there: `roundledger projections drop old`.",
    "LGR-0523": (
        "A projection met an event that it cannot fold, and stands still before it, so that balances and reports miss what came "
        "after. Posts are taken as ever. The log names the event and the reason; install the release that can fold it, or repair "
        "the table, and start the service again: each start tries once more."
    ),
    "LGR-0524": (
        "The event was allowed, but what it comes to does not fit into the database or breaks a constraint there. It is refused "
        "for good, so that the events after it go on; the log names it. Once the reason is mended, send it as a new event."
    ),
    "LGR-0525": (
        "Positions are drawn from a sequence, and it was set back, by hand or by a restore that left it out: the next "
        "positions that it gives are taken, so events cannot be appended. Nothing is stored, and the same event can be sent "
        "again later. Stop all that writes, set the sequence to the log's last position as the help says, and have "
        "`roundledger verify` look: what was appended meanwhile at positions that were left free, readers have passed over. "
        "`roundledger doctor` names it as DR-22."
    ),
    "LGR-0519": "The server named in the settings is somebody else's to start and stop.",
    "LGR-0520": (
        "Per currency all balances sum to zero; these do not, so a table was changed by hand. `roundledger replay` names "
        "the first row that differs from the log. The log itself is not touched by this."
    ),
    "LGR-0601": "The ledger knows no property yet. Apply one with `roundledger property apply FILE`.",
    "LGR-0602": "The table is not one of the property's. Tables are declared in the property's configuration.",
    "LGR-0603": "A table deals the game that the property's configuration gives it.",
    "LGR-0604": "The property's configuration was refused; the detail names the line.",
    "LGR-0612": "No property of this id is configured. `roundledger property show` lists them.",
    "LGR-0605": "Each bet has to reach the minimum that the table has for its chance. The detail says by how much it does not.",
    "LGR-0606": (
        "What one player has on one spot of a round stays within the maximum that the table has for its chance: several bets on "
        "the same spot count together. The detail says by how much they would exceed it; the help what can still be staked there."
    ),
    "LGR-0607": (
        "The table's exposure limit bounds what the house can lose on all open bets of the round, whatever the table shows. With "
        "this bet it could lose more. A bet that does not raise the worst case is taken all the same."
    ),
    "LGR-0609": (
        "What concerns a table and no round of it has a stream of its own, whose id is made of the table's. In an older log a "
        "round can have that very id. The round stays as it is; the table needs another id in the property's configuration."
    ),
    "LGR-0608": (
        "The table's differential bounds by how much the stakes on one of two opposing spots, such as red and black, may exceed "
        "those on the other."
    ),
    "LGR-0610": (
        "Who signs on to a table is one of the property's people, with the role in which they sign on; so is the dealer or the "
        "supervisor whom an opening names, unless that person is signed on to the table; and so is whoever put winning chips "
        "back. People and their roles are declared in the property's configuration. Whoever is signed on can always sign off."
    ),
    "LGR-0611": (
        "The configuration leaves out a table that has a round open, or takes the last terminal from it: nobody could end the "
        "round, and its stakes would lie there. The detail names both. Settle the round, or have it returned by a correction, "
        "and apply the file again. Rounds that have ended stay with the property: its people still correct them."
    ),
    "LGR-0701": (
        "The beginning of an id is enough, but no round or bet of the log has one that begins so. `roundledger rounds "
        "list` shows the rounds."
    ),
    "LGR-0702": "What was typed fits several ids. Type more of it.",
    "LGR-0703": (
        "A file of outcomes has a header line and one outcome a line, in columns seq, outcome and table. The detail names "
        "the line. Nothing of the file was played."
    ),
    "LGR-0704": "The demo starts a service of its own; the lines below the message are what that service said.",
    "LGR-0705": (
        "The demo posts only what the service should accept, so this is a fault of the program or of the property in force."
    ),
    "LGR-0706": "The service that the demo started does not answer any more. What it had acknowledged is in the log.",
    "LGR-0707": (
        "The demo plays only in a ledger of its own property. Name another database in LEDGER_DSN, or another LEDGER_DATA_DIR."
    ),
    "LGR-0708": "One demo at a time plays on a database. Wait for its end.",
    "LGR-0709": "A bet is explained by its outcome, and this round has none yet.",
    "LGR-0710": "A bet on the command line is written BET=AMOUNT, the amount as a plain decimal: straight:17=100 or red=50.00.",
    "LGR-0711": (
        "The service could not listen on this host and port, mostly because another process does. Choose another --port."
    ),
    "LGR-0712": (
        "Beyond this machine's loopback address every request has to be signed or to bear a token, and no terminal has a live "
        "key. Issue the first with `roundledger keys issue TERMINAL`, then start the service again."
    ),
    "LGR-0713": (
        "A certificate and its private key are two files in PEM form that belong together; the key is not encrypted. The detail "
        "says what is wrong with them."
    ),
    "LGR-0725": (
        "`terminal run` makes outcomes up, so it ends only rounds that it opened itself. The last round of this outbox is "
        "another's: end it as the table did."
    ),
    "LGR-0732": (
        "Parquet, plots and tests of fairness need packages that are ten times as large as all the rest, so they are an extra "
        "(`analysis`). In a working copy with its .venv, `python3 dev.py run -- true` installs them there; elsewhere install the "
        "package that the detail names into the environment of roundledger."
    ),
    "LGR-0750": "A mapping is a ready one, by its name (roundledger reconcile mappings list), or a TOML file, by its path.",
    "LGR-0751": (
        "A mapping declares everything that a reading of the file rests on: the columns, the unit of amounts, the zone of "
        "times, the "
        "keys. The message names the key and what it says. docs/reference/mappings.md has each; `roundledger reconcile "
        "mappings show` "
        "prints one to begin with."
    ),
    "LGR-0752": (
        "The mapping names a column or a sheet that the file has not, or one that cannot hold what it should: money is no "
        "floating "
        "point number. See the file's own titles in the message."
    ),
    "LGR-0753": "The file is not there, may not be read, or is not in the form that its name or the mapping says.",
    "LGR-0754": (
        "Without --mapping the one ready mapping is taken whose columns the file has. Here none has them, or more than one: "
        "name it."
    ),
    "LGR-0756": (
        "The files have no row in the period. That is an error (exit code 2), for a comparison of nothing proves nothing; with "
        "--empty-is-difference it counts as a difference (1)."
    ),
    "LGR-0757": (
        "A composite key has to tell rows apart. Here so many rows share it that every pair of them would have to be looked "
        "at. Add "
        "fields to it."
    ),
    "LGR-0758": (
        "An exception is resolved by its id, of a run that was recorded with --record. roundledger reconcile list has them."
    ),
    "LGR-0759": "It is resolved already, or the reason is empty. A resolution holds for the values found, and is never changed.",
    "LGR-0760": (
        "Sorting and joining takes at most --memory, and beyond that a temporary folder (TMPDIR). One of the two was too "
        "little, or the "
        "amount of memory cannot be read. Nothing was written."
    ),
    "LGR-0770": (
        "An account is there from its first movement on. `roundledger balances` lists all; the reference page of accounts says "
        "what each kind has. Names are written as they are listed, capitals included."
    ),
    "LGR-0771": (
        "`--from` and `--until` are positions of the log; a time stands for the position of the last event that had "
        "been received by then. The end is before the beginning."
    ),
    "LGR-0772": (
        "`roundledger what-if` tries one regulation for each game. `--regulation` names one that is held, `--file` one in a "
        "file; two of a game are two questions."
    ),
    "LGR-0801": (
        "Some reports are decisions of a person: a bet declared void, chips that came too late, a hold and its release, a "
        "correction and its approval. They count only with proof of who decided, and a name that somebody typed is none: the "
        "request bears the person's token, `Authorization: Bearer rlt_...`. Nothing was stored; the same event may be sent "
        "again with the token."
    ),
    "LGR-0802": (
        "The request bears no token that is known, not expired and not revoked; which of these it is, the answer does not say. "
        "Nothing was stored. `roundledger tokens list` shows the tokens, `roundledger tokens issue PERSON` makes one."
    ),
    "LGR-0803": (
        "The request is not signed (RFC 9421) with a terminal's live key: over @method, @authority, @path and @query (or "
        "@target-uri), Content-Digest and Content-Type where there is a body, and Authorization where there is one; created "
        "within five minutes of this service's clock, which the header Date tells; and each signature once. Which of these it "
        "is, the answer does not say, but the operator's log does. Nothing was stored: keep the events and send them again, "
        "signed anew."
    ),
    "LGR-0804": (
        "The request proves who sent it, and that terminal or person may not do this: the detail says why, the help who may. A "
        "terminal acts for its own table alone. Nothing was stored, and the event's id is not used up: once the property's "
        "configuration allows it, the same event may be sent again."
    ),
    "LGR-0805": (
        "A terminal has at most two live keys, so that it can change from one to the other; a key or token that was revoked "
        "stays revoked; and only terminals and people of the property's configuration get any. The detail says which it is."
    ),
    "LGR-0720": (
        "A terminal's outbox is one SQLite file on a local disk, made for one terminal. The detail says what is wrong with this "
        "one. What was put into an outbox before is still in it."
    ),
    "LGR-0721": (
        "The disk on which the outbox lies is full. Of what was to be stored nothing was, so the terminal must not go on as if "
        "it were. What was put in before is still there and can be sent. Make room, then do it again."
    ),
    "LGR-0722": "A terminal signs with the key in a file: what `roundledger keys issue TERMINAL --out FILE` wrote.",
    "LGR-0724": (
        "A key or a token is written to a file that this command makes, for its owner alone. One that is there may be the only "
        "copy of another secret, so it is never written over. Nothing was issued."
    ),
    "LGR-0730": (
        "A webhook is an address of the public network, reached by HTTPS. `--plain` allows HTTP, and `--private` an address of "
        "this machine or of a private network; both are for where nobody else is on the way. The name is looked up anew for "
        "every message, and a message to an address that is not allowed counts as one that was not taken."
    ),
    "LGR-0731": "`roundledger webhooks list` has the ids of all.",
    "LGR-0733": (
        "`roundledger publish` needs a broker with JetStream that it reaches, the extra `nats` of this program, and that no "
        "other process publishes to the same stream. The detail says which of these it is."
    ),
    "LGR-0740": (
        "`roundledger verify --from FILE` reads what `roundledger feed > FILE` wrote: an event a line, each with its data, plain "
        "or compressed by gzip. The detail shows the line."
    ),
    "LGR-0741": (
        "In the log each event has a higher position than the one before it. A file that was sorted otherwise, or put together "
        "of two exports that overlap, is none that can be read as a log."
    ),
    "LGR-0742": (
        "`roundledger replay --resume FILE` writes into the file how many rounds were equal, for which scope, and goes on from "
        "there. A file of another scope, or one that something else wrote, says nothing about this replay."
    ),
    "LGR-0723": (
        "What a person decides (a bet declared void, chips that came too late, a hold and its release, a correction and its "
        "approval) counts by that person's token, which is stored nowhere. Had it to wait, it would be sent with the token of "
        "whoever comes next. So it is sent while its person is there, at once and by itself, and is over when it is answered."
    ),
}
"""Code → what a person should know beyond its title."""
