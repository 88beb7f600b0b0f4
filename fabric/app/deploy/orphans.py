"""Records that the config has moved away from: live still, and in no plan any more."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.app.project.placement import Placement
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RecordRef
from fabric.state.contract import ref_of
from fabric.state.records.transaction import peek
from fabric.state.store import RecordStore

# From here on one look at everything costs a store less than a look for each service.
_MANY = 16


def left_behind(world: DeployScope) -> tuple[Problem, ...]:
    """Warns of what is live of services whose own record is not there, under a label that their
    config does not name."""
    fresh = [post for ref, post in sorted(world.posts.items()) if world.book.record(ref) is None]
    return tuple(
        _warning(ref, world.desk.options(post.ref, ref.provider))
        for post, ref in _elsewhere(fresh, world)
        if ref.provider not in (post.provider, *post.labels)
        and _is_live(world.book.shelf(post.ref), ref)
    )


def _is_live(shelf: RecordStore, ref: RecordRef) -> bool:
    """A record that cannot be read may be of something live: who deploys elsewhere is told."""
    try:
        return peek(shelf, ref) is not None
    except FabricError:
        return True


def _warning(ref: RecordRef, options: str) -> Problem:
    message = (
        f"`{ref.service}` ({ref.stage}) is live at `{ref.provider}` still, which its config does "
        "not name any more: a deploy elsewhere leaves it there"
    )
    return Problem("deploy/left-behind", message, hint=f"`fabric remove {options}` takes it away")


def _elsewhere(posts: list[Placement], world: DeployScope) -> Iterator[tuple[Placement, RecordRef]]:
    """Records of the same service and stage under another label, cheaply listed."""
    by_store: dict[int, list[Placement]] = defaultdict(list)
    shelves: dict[int, RecordStore] = {}
    for post in posts:
        shelf = world.book.shelf(post.ref)
        shelves[id(shelf.stores)] = shelf
        by_store[id(shelf.stores)].append(post)
    for store, together in by_store.items():
        owners = {(post.service, post.stage): post for post in together}
        for key in _keys(shelves[store], together):
            ref = ref_of(key)
            if ref is not None and (ref.service, ref.stage) in owners:
                yield owners[ref.service, ref.stage], ref


def _keys(shelf: RecordStore, posts: list[Placement]) -> Iterable[str]:
    if len(posts) > _MANY:
        return shelf.stores.state.list("")
    return [
        key for post in posts for key in shelf.stores.state.list(f"{post.service}/{post.stage}/")
    ]
