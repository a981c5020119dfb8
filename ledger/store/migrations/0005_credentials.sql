-- By what terminals and people prove who they are. Nothing here is an event: a replay needs none of it.

CREATE TABLE ledger.keys (
    id text COLLATE "C" PRIMARY KEY,
    terminal text COLLATE "C" NOT NULL,
    algorithm text COLLATE "C" NOT NULL CHECK (algorithm IN ('ed25519', 'hmac-sha256')),
    material bytea NOT NULL CHECK (octet_length(material) = 32),
    issued_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL,
    expires timestamptz NOT NULL CHECK (expires > not_before),
    revoked timestamptz
);
CREATE INDEX keys_terminal ON ledger.keys (terminal);
COMMENT ON TABLE ledger.keys IS
    'The keys by which terminals sign. A key is live until it expires or is revoked; a terminal has at most two live ones.';
COMMENT ON COLUMN ledger.keys.id IS 'The keyid of its signatures; no secret.';
COMMENT ON COLUMN ledger.keys.terminal IS 'The terminal that signs with it.';
COMMENT ON COLUMN ledger.keys.algorithm IS 'As RFC 9421 names it: ed25519 or hmac-sha256.';
COMMENT ON COLUMN ledger.keys.material IS
    'Of ed25519 the public key, which may be seen by anybody. Of hmac-sha256 the secret itself: whoever reads it can sign.';
COMMENT ON COLUMN ledger.keys.issued_at IS 'When it was issued.';
COMMENT ON COLUMN ledger.keys.not_before IS 'From when on its signatures hold.';
COMMENT ON COLUMN ledger.keys.expires IS 'Until when they hold; it can be brought forward, never put off.';
COMMENT ON COLUMN ledger.keys.revoked IS 'When it was revoked, where it was; that is never undone.';

CREATE TABLE ledger.tokens (
    id text COLLATE "C" PRIMARY KEY,
    person text COLLATE "C" NOT NULL,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    last_four text COLLATE "C" NOT NULL CHECK (length(last_four) = 4),
    issued_at timestamptz NOT NULL,
    expires timestamptz NOT NULL CHECK (expires > issued_at),
    revoked timestamptz
);
CREATE INDEX tokens_person ON ledger.tokens (person);
COMMENT ON TABLE ledger.tokens IS 'The bearer tokens of people. The token itself is nowhere in the database.';
COMMENT ON COLUMN ledger.tokens.id IS 'By which the token is spoken of; no secret.';
COMMENT ON COLUMN ledger.tokens.person IS 'The person, by an opaque reference.';
COMMENT ON COLUMN ledger.tokens.hash IS 'SHA-256 of the token, which holds 256 random bits: nobody finds it from the hash.';
COMMENT ON COLUMN ledger.tokens.last_four IS 'Its last four characters, by which its owner knows it in a list.';
COMMENT ON COLUMN ledger.tokens.issued_at IS 'When it was issued.';
COMMENT ON COLUMN ledger.tokens.expires IS 'Until when it is taken; it can be brought forward, never put off.';
COMMENT ON COLUMN ledger.tokens.revoked IS 'When it was revoked, where it was; that is never undone.';

-- Who could sign and when stays on record, and what was taken away does not come back.
CREATE FUNCTION ledger.refuse_revival() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - '{expires,revoked}'::text[] <> to_jsonb(OLD) - '{expires,revoked}'::text[]
        OR NEW.expires > OLD.expires OR (OLD.revoked IS NOT NULL AND NEW.revoked IS DISTINCT FROM OLD.revoked)
    THEN
        RAISE EXCEPTION 'a row of %.% can be revoked or expire earlier, nothing else; issue another', TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keys_no_revival BEFORE UPDATE ON ledger.keys FOR EACH ROW EXECUTE FUNCTION ledger.refuse_revival();
CREATE TRIGGER tokens_no_revival BEFORE UPDATE ON ledger.tokens FOR EACH ROW EXECUTE FUNCTION ledger.refuse_revival();
CREATE TRIGGER keys_kept BEFORE DELETE OR TRUNCATE ON ledger.keys FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER tokens_kept BEFORE DELETE OR TRUNCATE ON ledger.tokens FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- Two live keys let a terminal change from one to the other; a third would be one that nobody watches. Those who issue to one
-- terminal wait for each other, so that each counts what the other made.
CREATE FUNCTION ledger.refuse_third_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('ledger.keys'::regclass::oid::integer, hashtext(NEW.terminal));
    IF (SELECT count(*) FROM ledger.keys
        WHERE terminal = NEW.terminal AND revoked IS NULL AND expires > clock_timestamp()) >= 2
    THEN
        RAISE EXCEPTION 'terminal % has two live keys already', NEW.terminal
            USING ERRCODE = 'check_violation', CONSTRAINT = 'keys_two_live';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keys_two_live BEFORE INSERT ON ledger.keys FOR EACH ROW EXECUTE FUNCTION ledger.refuse_third_key();
