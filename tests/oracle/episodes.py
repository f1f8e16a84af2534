"""What clients do to a virtual deployment: short stories, each of which exercises some clauses, and aimless walks."""

from collections.abc import Callable

from tests.oracle.world import Call, Connection, World

Episode = Callable[[World], None]


def _some(world: World, call: Call, count: int) -> None:
    for _ in range(count):
        world.emit(call)
    world.read_all(call.chain[-1])


def _call(world: World, session: str, count: int, pace_ms: int | None = None) -> Call:
    call = world.call(session, count, pace_ms)
    assert call is not None
    return call


def cut_and_resume(world: World) -> None:
    """A call cut somewhere, and resumed while it goes on."""
    session = world.session()
    call = _call(world, session, 8)
    for _ in range(world.rng.randrange(1, 4)):
        _some(world, call, world.rng.randrange(3))
        world.cut(call.chain[-1], noticed=world.rng.random() < 0.5)
        if not call.ids:
            break
        for _ in range(world.rng.randrange(3)):
            world.emit(call)
        call.chain.append(world.get(session, call.ids[-1]))
        world.tick(150)
    world.follow(call)
    world.ping(session)
    world.delete(session)
    world.ping(session)


def resume_a_finished_call(world: World) -> None:
    """From every id, the newest included."""
    session = world.session()
    call = _call(world, session, 4)
    world.follow(call)
    for name in [*call.ids, call.ids[-1]]:
        view = world.get(session, name)
        world.quiet(view)
        world.cut(view)
    world.delete(session)


def bad_cursors(world: World) -> None:
    """Malformed, ahead, of another stream, of another session."""
    session, other = world.session(), world.session()
    call, second = _call(world, session, 3), _call(world, session, 2)
    foreign = _call(world, other, 2)
    for one in (call, second, foreign):
        world.follow(one)
    tag = world.tags[session]
    highest = max(int(name.rsplit(".", 1)[1]) for name in [*call.ids, *second.ids])
    cursors = [
        "", "x", f"{tag}.2.+3", f"{tag}.{call.stream}.{highest + 1}", f"{tag}.{call.stream}.{highest + 99_999}",
        f"{tag}.{call.stream}.{second.ids[-1].rsplit('.', 1)[1]}", foreign.ids[0], foreign.ids[-1],
    ]  # fmt: skip
    for cursor in world.rng.sample(cursors, 5):
        view = world.get(session, cursor)
        world.quiet(view)
        world.cut(view)
        if world.ping(session).status == 404:
            return
    world.delete(session)
    world.delete(other)


def two_calls(world: World) -> None:
    """Two calls at once beside a listener, both cut and resumed."""
    session = world.session()
    listener = world.get(session)
    calls = [_call(world, session, 5), _call(world, session, 5)]
    for _ in range(3):
        world.push(session)
        for call in calls:
            world.emit(call)
        world.read_all(listener)
    for call in calls:
        world.read_all(call.post)
        world.cut(call.post)
        call.chain.append(world.get(session, call.ids[-1]))
    for call in calls:
        world.follow(call)
    world.quiet(listener)
    world.cut(listener)
    world.delete(session)


def take_over(world: World) -> None:
    """A running call resumed beside its old connection, which is read too."""
    session = world.session()
    call = _call(world, session, 9)
    _some(world, call, 3)
    call.chain.append(world.get(session, call.ids[-1]))
    world.tick(1_200)
    for _ in range(3):
        world.emit(call)
        world.read_all(call.chain[-1])
        world.read_all(call.post)
    world.quiet(call.chain[-1])
    world.read_all(call.post)
    world.follow(call)
    world.read_all(call.post)
    world.cut(call.post)
    world.delete(session)


def stop_reading(world: World) -> None:
    """A reader that stops for long or for a while, while another call goes on."""
    session = world.session()
    slow = _call(world, session, 30, pace_ms=0)
    _some(world, slow, 2)
    world.pause(slow.post)
    for _ in range(20):
        world.emit(slow)
    other = _call(world, session, world.rng.choice([3, 25]))
    for _ in range(40):
        world.emit(other)
        world.read_all(other.post)
    if not other.answered and not other.post.over:
        world.quiet(other.post)
    if world.rng.random() < 0.5:
        world.tick(2_500)
    world.read_on(slow.post)
    world.quiet(slow.post)
    world.follow(other)
    world.follow(slow)
    world.delete(session)


def stall(world: World) -> None:
    """A reader that stops for longer than its budget, with nothing else going on."""
    session = world.session()
    slow = _call(world, session, 30, pace_ms=0)
    _some(world, slow, 2)
    world.pause(slow.post)
    for _ in range(30):
        world.emit(slow)
    world.tick(2_500)
    world.read_on(slow.post)
    world.quiet(slow.post)
    world.follow(slow)
    world.delete(session)


def overflow(world: World) -> None:
    """More than the window holds, then old cursors, one on either side of the mark, and later again."""
    session = world.session()
    call = _call(world, session, 24)
    world.follow(call)
    ids = list(dict.fromkeys(call.ids))
    for name in [ids[index] for index in (0, -18, -17, -16, -1) if -len(ids) <= index < len(ids)]:
        view = world.get(session, name)
        world.quiet(view) if world.rng.random() < 0.2 else world.read_all(view)
        world.cut(view)
    world.tick(world.policy.window_ms + 1_500)
    for name in ids[-2:]:
        view = world.get(session, name)
        world.read_all(view)
        world.cut(view)
    world.delete(session)


def stay_away(world: World) -> None:
    """Nothing is open, and the client comes back after half its budget, and after all of it."""
    session = world.session()
    call = _call(world, session, 2)
    world.follow(call)
    world.tick(world.declared.absence_ms // 2)
    world.ping(session)
    world.tick(world.declared.absence_ms + 1_500)
    world.ping(session)


def delete_beside_views(world: World) -> None:
    """DELETE with a listener and a running call; then the old cursors, here and elsewhere."""
    session, other = world.session(), world.session()
    listener = world.get(session)
    call = _call(world, session, 9)
    _some(world, call, 4)
    world.delete(session)
    for view in (listener, call.post):
        world.read_all(view)
        world.quiet(view)
        world.cut(view)
    world.ping(session)
    for name in (session, other):
        world.read_all(world.get(name, call.ids[-2]))
    world.delete(other)


def listen(world: World) -> None:
    """Listeners one after another and beside each other, with pushes; the first is resumed."""
    session = world.session()
    world.push(session)
    first = world.get(session)
    world.push(session)
    world.read_all(first)
    world.cut(first)
    for _ in range(2):
        world.push(session)
    resumed = world.get(session, first.ids[-1])
    world.tick(200)
    world.push(session)
    world.read_all(resumed)
    second = world.get(session)
    for _ in range(3):
        world.push(session)
    for view in (resumed, second):
        world.quiet(view)
        world.cut(view)
    world.delete(session)


def strangers(world: World) -> None:
    """Sessions that never were, and requests without one."""
    world.session()
    for name in ("never-issued", None):
        world.ping(name)
        world.get(name)


def walk(world: World) -> None:
    """Anything, in any order."""
    sessions = [world.session(), world.session()]
    for _ in range(60):
        session = world.rng.choice(sessions)
        views = [one for one in world.connections.values() if one.session == session and not one.over]
        some: Connection | None = world.rng.choice(views) if views else None
        calls = [call for call in world.calls if call.session == session]
        match world.rng.randrange(14):
            case 0:
                world.call(session, world.rng.randrange(1, 25))
            case 1 | 2 | 3 | 4 if calls:
                call = world.rng.choice(calls)
                for _ in range(world.rng.randrange(8)):
                    world.emit(call)
            case 5 if calls:
                call = world.rng.choice(calls)
                if call.ids:
                    call.chain.append(world.get(session, world.rng.choice([call.ids[-1], *call.ids])))
            case 6 | 7 if some is not None:
                world.read_all(some)
            case 8 if some is not None:
                for _ in range(world.rng.randrange(4)):
                    world.read(some)
            case 9 if some is not None:
                world.cut(some, noticed=world.rng.random() < 0.5)
            case 10 if some is not None:
                (world.pause if world.rng.random() < 0.5 else world.read_on)(some)
            case 11:
                world.tick(world.rng.choice([1, 10, 300, 1_200, 4_000]))
            case 12:
                world.push(session)
                if world.rng.random() < 0.3:
                    world.get(session)
            case 13 if world.rng.random() < 0.2:
                world.delete(session)
            case _:
                world.ping(session)
        for connection in world.connections.values():
            if connection.unnoticed and world.rng.random() < 0.2:
                world.notice(connection)
    for call in world.calls:
        if not call.answered:
            world.follow(call)


EPISODES: list[Episode] = [
    cut_and_resume,
    resume_a_finished_call,
    bad_cursors,
    two_calls,
    take_over,
    stop_reading,
    stall,
    overflow,
    stay_away,
    delete_beside_views,
    listen,
    strangers,
]
