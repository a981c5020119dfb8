"""The library's own cases against our recorder, and an ordinary application of the library on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import Aggregate, DomainEventProtocol, event
from eventsourcing.persistence import IntegrityError, OperationalError, StoredEvent, Tracking
from eventsourcing.popo import POPOTrackingRecorder
from eventsourcing.projection import ApplicationSubscription, Projection, ProjectionRunner
from eventsourcing.tests.persistence import ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase

from ledger.store import persistence
from ledger.store.recorder import LedgerFactory, LedgerRecorder
from tests.support import house


class _OnALedger:
    """Gives a case the recorder on a database of its own. Nothing else of the cases is changed or left out."""

    _factory: LedgerFactory

    @pytest.fixture(autouse=True)
    def _database(self, dsn: str) -> Iterator[None]:
        self._factory = LedgerFactory(dsn)
        yield
        self._factory.close()

    def create_recorder(self) -> LedgerRecorder:
        recorder = self._factory.application_recorder()
        assert isinstance(recorder, LedgerRecorder)
        return recorder


class TestApplicationRecorder(_OnALedger, ApplicationRecorderTestCase[Any]):
    def test_insert_subscribe(self) -> None:
        """The library runs this one for the recorders that have subscriptions."""
        self.optional_test_insert_subscribe()


class TestOrder(_OnALedger, NonInterleavingNotificationIDsBaseCase):
    def test(self) -> None:
        """Two groups at once, forty times: one run proves little. Our readers do not depend on it (see ledger.store.log)."""
        for _ in range(40):
            super().test()


def stored(stream: UUID, versions: int) -> list[StoredEvent]:
    return [StoredEvent(stream, version, "topic", b"{}") for version in range(1, versions + 1)]


def test_a_group_s_lock_ends_with_its_draw_and_not_with_its_transaction(dsn: str) -> None:
    with psycopg.connect(dsn) as slow, psycopg.connect(dsn) as quick:
        quick.execute("SET lock_timeout = '5s'")
        first = slow.execute("SELECT ledger.next_positions(3)").fetchone()
        second = quick.execute("SELECT ledger.next_positions(2)").fetchone()
        assert (first, second) == (([1, 2, 3],), ([4, 5],))
        assert slow.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL").fetchone() == (True,)


@pytest.mark.parametrize("number", [0, 1, 2, 500])
def test_as_many_positions_as_asked_for(dsn: str, number: int) -> None:
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT ledger.next_positions(%s)", (number,)).fetchone() == (list(range(1, number + 1)),)


def test_the_library_s_reading_waits_for_an_older_writer_and_then_skips_nothing(dsn: str) -> None:
    """B31 through the library's own door: neither a page, nor the last id, nor a subscription passes what is still written."""
    factory = LedgerFactory(dsn)
    recorder = factory.application_recorder()
    with psycopg.connect(dsn) as slow:
        slow.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, 1, 'late', '')", (uuid4(),)
        )
        recorder.insert_events(stored(uuid4(), 2))
        seen: list[int] = []
        with recorder.subscribe() as subscription:

            def follow() -> None:
                for notification in subscription:
                    seen.append(notification.id)
                    if len(seen) == 3:
                        return

            follower = threading.Thread(target=follow)
            follower.start()
            follower.join(0.3)
            assert seen == [], "passed an event that is still being written"
            slow.commit()
            follower.join(10)
            assert seen == [1, 2, 3]
    assert [n.id for n in recorder.select_notifications(None, 10)] == [1, 2, 3]
    assert recorder.max_notification_id() == 3
    factory.close()


def test_a_subscription_to_one_topic_looks_at_the_others_once(dsn: str) -> None:
    factory = LedgerFactory(dsn)
    recorder = factory.application_recorder()
    recorder.insert_events([*stored(uuid4(), 1200), StoredEvent(uuid4(), 1, "rare", b"")])
    with recorder.subscribe(topics=["rare"]) as subscription:
        assert next(subscription).id == 1201
        recorder.insert_events([*stored(uuid4(), 5), StoredEvent(uuid4(), 1, "rare", b"")])
        assert next(subscription).id == 1207
    factory.close()


def test_a_subscription_whose_connection_is_lost_says_so(dsn: str) -> None:
    factory = LedgerFactory(dsn)
    recorder = factory.application_recorder()
    recorder.insert_events(stored(uuid4(), 1))
    with recorder.subscribe() as subscription, psycopg.connect(dsn, autocommit=True) as other:
        assert next(subscription).id == 1
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        while other.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall():
            time.sleep(0.01)  # a backend ends some time after it was told to
        with pytest.raises(OperationalError):
            next(subscription)
    with recorder.subscribe(gt=1) as subscription:
        recorder.insert_events(stored(uuid4(), 1))
        assert next(subscription).id == 2
    factory.close()


# An ordinary application: the aggregate of the library's own documentation, its stock mapper, our recorder.


class Dog(Aggregate):
    @event("Registered")
    def __init__(self, name: str) -> None:
        self.name = name
        self.tricks: list[str] = []

    @event("TrickAdded")
    def add_trick(self, trick: str) -> None:
        self.tricks.append(trick)


class DogSchool(Application[UUID]):
    is_snapshotting_enabled = True

    def register_dog(self, name: str) -> UUID:
        dog = Dog(name)
        self.save(dog)
        return dog.id

    def add_trick(self, dog_id: UUID, trick: str) -> None:
        dog: Dog = self.repository.get(dog_id)
        dog.add_trick(trick)
        self.save(dog)

    def tricks(self, dog_id: UUID, version: int | None = None) -> list[str]:
        dog: Dog = self.repository.get(dog_id, version=version)
        return dog.tricks


class Tricks(POPOTrackingRecorder):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def one_more(self, tracking: Tracking) -> None:
        with self._database_lock:
            self._assert_tracking_uniqueness(tracking)
            self._insert_tracking(tracking)
            self.count += 1


class CountTricks(Projection[Tricks]):
    name = "counttricks"

    @singledispatchmethod
    def process_event(self, domain_event: DomainEventProtocol[UUID], tracking: Tracking) -> None:
        self.view.insert_tracking(tracking)

    @process_event.register
    def added(self, domain_event: Dog.TrickAdded, tracking: Tracking) -> None:  # type: ignore[name-defined]
        self.view.one_more(tracking)


@pytest.fixture
def env(dsn: str) -> dict[str, str]:
    return {"PERSISTENCE_MODULE": persistence.__name__, "LEDGER_DSN": dsn}


def test_an_ordinary_application_runs_on_this_log(env: dict[str, str]) -> None:
    with DogSchool(env) as school:
        dog_id = school.register_dog("Fido")
        for trick in ("roll over", "fetch ball", "play dead"):
            school.add_trick(dog_id, trick)
        assert school.tricks(dog_id) == ["roll over", "fetch ball", "play dead"]
        assert school.tricks(dog_id, version=2) == ["roll over"]
        school.take_snapshot(dog_id)
        school.add_trick(dog_id, "sit")
        assert school.tricks(dog_id)[-1] == "sit"
        with pytest.raises(AggregateNotFoundError):
            school.repository.get(uuid4())

        section = school.notification_log["1,10"]
        assert [item.originator_version for item in section.items] == [1, 2, 3, 4, 5]

        mine: Dog = school.repository.get(dog_id)
        yours: Dog = school.repository.get(dog_id)
        mine.add_trick("beg")
        yours.add_trick("bark")
        school.save(mine)
        with pytest.raises(IntegrityError):
            school.save(yours)
        with ApplicationSubscription(school) as events:
            assert [type(next(events)[0]).__name__ for _ in range(3)] == ["Registered", "TrickAdded", "TrickAdded"]
    with DogSchool(env) as again:
        assert again.tricks(dog_id)[-1] == "beg"


def test_the_library_s_projection_runner_follows_it(env: dict[str, str]) -> None:
    env["COUNTTRICKS_PERSISTENCE_MODULE"] = "eventsourcing.popo"
    with (
        ProjectionRunner(application_class=DogSchool, projection_class=CountTricks, view_class=Tricks, env=env) as runner,
        DogSchool(env) as school,
    ):
        dog_id = school.register_dog("Rex")
        for trick in ("sit", "stay"):
            school.add_trick(dog_id, trick)
        runner.wait(school.recorder.max_notification_id(), timeout=10)
        assert runner.projection.view.count == 2


def test_the_ledger_s_own_application_can_be_subscribed_to(dsn: str) -> None:
    rounds = house(dsn)
    with ApplicationSubscription(rounds) as events:
        recorded, tracking = next(events)
    assert tracking.notification_id == 1
    assert recorded.originator_version == 1
    rounds.close()


def test_without_a_connection_string_the_factory_says_which_is_missing() -> None:
    with pytest.raises(OSError, match="LEDGER_DSN"):
        persistence.Factory({})
