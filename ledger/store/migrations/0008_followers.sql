-- Who is sent the feed, and how far each has come. Nothing here is an event: a replay needs none of it.

CREATE TABLE ledger.webhooks (
    id text COLLATE "C" PRIMARY KEY,
    url text NOT NULL,
    types text[] NOT NULL,
    tables text[] NOT NULL,
    properties text[] NOT NULL,
    plain boolean NOT NULL,
    private boolean NOT NULL,
    secret bytea NOT NULL CHECK (octet_length(secret) = 32),
    added_at timestamptz NOT NULL,
    cursor text NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    retry_at timestamptz,
    failure text,
    stopped text,
    delivered bigint NOT NULL DEFAULT 0,
    delivered_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE ledger.webhooks IS 'Addresses to which the events of the log are sent, one after the other.';
COMMENT ON COLUMN ledger.webhooks.id IS 'By which it is spoken of.';
COMMENT ON COLUMN ledger.webhooks.url IS 'Where each event is posted.';
COMMENT ON COLUMN ledger.webhooks.types IS 'Types of the events that are sent; all where it is empty.';
COMMENT ON COLUMN ledger.webhooks.tables IS 'Tables whose events are sent; all where it is empty.';
COMMENT ON COLUMN ledger.webhooks.properties IS 'Properties whose events are sent; all where it is empty.';
COMMENT ON COLUMN ledger.webhooks.plain IS 'Whether it may be sent to without TLS.';
COMMENT ON COLUMN ledger.webhooks.private IS 'Whether it may lie on this machine or in a private network.';
COMMENT ON COLUMN ledger.webhooks.secret IS
    'With which each message is signed (HMAC-SHA256). The secret itself: whoever reads it can sign.';
COMMENT ON COLUMN ledger.webhooks.added_at IS 'When it was added.';
COMMENT ON COLUMN ledger.webhooks.cursor IS 'The event that was dealt with last, or a position: see ledger/store/log.py.';
COMMENT ON COLUMN ledger.webhooks.epoch IS 'Raised by each process that takes it over, and at each change; one with an older epoch writes nothing.';
COMMENT ON COLUMN ledger.webhooks.failures IS 'How often the next event was sent without success.';
COMMENT ON COLUMN ledger.webhooks.retry_at IS 'When it is sent again, where it failed.';
COMMENT ON COLUMN ledger.webhooks.failure IS 'Why it failed last, where it did since the last success.';
COMMENT ON COLUMN ledger.webhooks.stopped IS 'Why nothing is sent any more until somebody says so, where that is so.';
COMMENT ON COLUMN ledger.webhooks.delivered IS 'Events that were delivered.';
COMMENT ON COLUMN ledger.webhooks.delivered_at IS 'When the last one was.';

CREATE TABLE ledger.dead_letters (
    webhook text COLLATE "C" NOT NULL REFERENCES ledger.webhooks ON DELETE CASCADE,
    position bigint NOT NULL,
    type text NOT NULL,
    tries integer NOT NULL,
    failure text NOT NULL,
    died_at timestamptz NOT NULL,
    again boolean NOT NULL DEFAULT false,
    PRIMARY KEY (webhook, position)
);
COMMENT ON TABLE ledger.dead_letters IS 'Events that a webhook did not take in all the tries there are.';
COMMENT ON COLUMN ledger.dead_letters.webhook IS 'The webhook.';
COMMENT ON COLUMN ledger.dead_letters.position IS 'The event''s position in the log.';
COMMENT ON COLUMN ledger.dead_letters.type IS 'The event''s type.';
COMMENT ON COLUMN ledger.dead_letters.tries IS 'How often it was sent.';
COMMENT ON COLUMN ledger.dead_letters.failure IS 'Why it failed last.';
COMMENT ON COLUMN ledger.dead_letters.died_at IS 'When it was sent last.';
COMMENT ON COLUMN ledger.dead_letters.again IS 'Whether it is to be sent once more.';

CREATE TABLE ledger.publishers (
    name text COLLATE "C" PRIMARY KEY,
    cursor text NOT NULL,
    moved_at timestamptz NOT NULL
);
COMMENT ON TABLE ledger.publishers IS 'How far the log was published to each broker.';
COMMENT ON COLUMN ledger.publishers.name IS 'The broker''s kind and stream.';
COMMENT ON COLUMN ledger.publishers.cursor IS 'The event that was published last: see ledger/store/log.py.';
COMMENT ON COLUMN ledger.publishers.moved_at IS 'When it was.';
