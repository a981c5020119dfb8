"""Which server is used, and what is said of one that does not answer; a password is in none of it."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from ledger.errors import Refusal
from ledger.store import migrate, server

SECRET = "k9-hunter2"


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LEDGER_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def test_ledger_dsn_wins_over_libpq(bare_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "nowhere.invalid")
    monkeypatch.setenv("LEDGER_DSN", bare_dsn)
    with server.server() as found, server.postgres() as dsn:
        assert found.origin == "LEDGER_DSN"
        assert found.dsn == dsn
        with psycopg.connect(dsn) as connection:
            assert connection.info.dbname == conninfo.conninfo_to_dict(bare_dsn)["dbname"]


def test_libpq_variables_win_over_the_embedded_server(bare_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = conninfo.conninfo_to_dict(bare_dsn)
    for variable, name in (("PGHOST", "host"), ("PGPORT", "port"), ("PGUSER", "user"), ("PGDATABASE", "dbname")):
        monkeypatch.setenv(variable, str(parts[name]))
    with server.server() as found, psycopg.connect(found.dsn) as connection:
        assert found.origin == "PGHOST"
        assert connection.info.dbname == parts["dbname"]


def test_a_service_file_is_followed(bare_dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = conninfo.conninfo_to_dict(bare_dsn)
    (tmp_path / "services").write_text("[casino]\n" + "".join(f"{name}={text}\n" for name, text in parts.items()))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSERVICE", "casino")
    with server.server() as found, psycopg.connect(found.dsn) as connection:
        assert found.origin == "PGSERVICE"
        assert connection.info.dbname == parts["dbname"]


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_text_is_utf_8_whatever_libpq_s_variables_say(bare_dsn: str, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    monkeypatch.setenv("LEDGER_DSN", bare_dsn)
    migrate.init(server.named().dsn)  # type: ignore[union-attr]
    with server.server() as found:
        migrate.require_current(found.dsn)
        with psycopg.connect(found.dsn) as connection:
            assert connection.execute("SELECT %s || '孤丁'", ("ímpar ",)).fetchone() == ("ímpar 孤丁",)
        assert "client_encoding" not in server.url(found.dsn)


@pytest.mark.parametrize("name", ["PGUSER", "PGPORT", "PGPASSWORD", "PGSSLMODE", "PGAPPNAME"])
def test_a_variable_that_names_no_server_leads_nowhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "6543")
    monkeypatch.setenv("LEDGER_DSN", "")
    assert server.named() is None


def test_without_any_setting_the_embedded_server_runs_and_ignores_libpq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGUSER", "somebody")
    with server.server() as found, psycopg.connect(found.dsn) as connection:
        assert found.origin == "embedded"
        assert (connection.info.user, connection.info.dbname) == ("ledger", "ledger")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(found.dsn)


def test_an_unreachable_server_is_refused_without_the_password(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", f"postgresql://cage:{SECRET}@127.0.0.1:{closed_port}/ledger")
    with pytest.raises(Refusal) as refused, server.server():
        pytest.fail("nobody listens there")
    assert refused.value.code == "LGR-0501"
    assert refused.value.meaning.retryable
    assert f"cage@127.0.0.1:{closed_port}/ledger" in refused.value.render()
    assert SECRET not in refused.value.render()


def test_a_missing_database_is_refused_with_the_way_to_make_it(bare_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = conninfo.conninfo_to_dict(bare_dsn)
    monkeypatch.setenv("LEDGER_DSN", conninfo.make_conninfo(bare_dsn, dbname="the house"))
    with pytest.raises(Refusal, match="LGR-0501") as refused, server.server():
        pytest.fail("there is no such database")
    where = f"-h {parts['host']} -p {parts['port']} -U {parts['user']}"
    assert refused.value.help == f"create it: createdb {where} 'the house', then: roundledger db init"


@pytest.mark.parametrize(
    ("reason", "helped"),
    [
        ('FATAL:  role "cage" does not exist', "createuser -h db.example cage"),
        ('FATAL:  password authentication failed for user "cage"', "PGPASSFILE"),
        ("fe_sendauth: no password supplied", "PGPASSFILE"),
        ("connection refused", "start that server"),
    ],
)
def test_the_help_fits_the_reason(reason: str, helped: str) -> None:
    refusal = server.unreachable(f"host=db.example user=cage password={SECRET}", psycopg.OperationalError(reason))
    assert helped in (refusal.help or "")
    assert SECRET not in refusal.render()


def test_a_silent_server_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("LEDGER_DSN", f"host=127.0.0.1 port={silent.getsockname()[1]} password={SECRET} connect_timeout=2")
        begun = time.monotonic()
        with pytest.raises(Refusal, match="LGR-0501") as refused, server.server():
            pytest.fail("it never answers")
        assert time.monotonic() - begun < 5
        assert SECRET not in refused.value.render()


def test_a_timeout_is_set_unless_the_settings_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", "host=db.example")
    named = server.named()
    assert named
    assert conninfo.conninfo_to_dict(named.dsn)["connect_timeout"] == str(server.CONNECT_TIMEOUT)
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "30")
    named = server.named()
    assert named
    assert "connect_timeout" not in conninfo.conninfo_to_dict(named.dsn)


@pytest.mark.parametrize("text", [f"host=db {SECRET}", f"{SECRET}=1", f"postgresql://a:{SECRET}@[::1/x"])
def test_senseless_settings_are_refused_without_being_repeated(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", text)
    with pytest.raises(Refusal, match="LGR-0516") as refused:
        server.named()
    assert SECRET not in refused.value.render()
    assert refused.value.__cause__ is None


def test_a_server_that_goes_away_in_the_middle_is_refused(dsn: str) -> None:
    def work() -> None:
        with server.session(dsn) as connection:
            with psycopg.connect(dsn, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
            connection.execute("SELECT 1")

    with pytest.raises(Refusal, match="LGR-0501"):
        work()


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("host=db.example port=5433 user=cage password=x dbname=ledger", "postgresql://cage@db.example:5433/ledger"),
        ("postgresql://cage:x@[::1]/ledger?sslmode=require&sslpassword=y", "postgresql://cage@[::1]/ledger?sslmode=require"),
        ("host='/var/run/a b' user=u@x dbname=d/e", "postgresql://u%40x@/d%2Fe?host=%2Fvar%2Frun%2Fa%20b"),
        ("host=a,b port=1,2 dbname=d", "postgresql:///d?host=a%2Cb&port=1%2C2"),
        ("", "postgresql:///"),
    ],
)
def test_the_url_says_the_same_without_secrets(dsn: str, shown: str) -> None:
    assert server.url(dsn) == shown
    kept = {name: text for name, text in conninfo.conninfo_to_dict(dsn).items() if not name.endswith("password")}
    assert conninfo.conninfo_to_dict(shown) == kept


def test_the_data_directory_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert server.default_data_dir() == tmp_path / "data"
    monkeypatch.delenv("LEDGER_DATA_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert server.default_data_dir() == tmp_path / ".local/share/roundledger"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert server.default_data_dir() == tmp_path / ".local/share/roundledger"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert server.default_data_dir() == tmp_path / "xdg/roundledger"
    monkeypatch.setattr("sys.platform", "darwin")
    assert server.default_data_dir() == tmp_path / "Library/Application Support/roundledger"
