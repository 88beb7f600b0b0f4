"""How function names begin: a verb for an effect, a noun for a value, never a participle."""

import ast
from collections.abc import Iterable, Iterator

# Verbs that names of functions in this project begin with.
_VERBS = frozenset(
    "abort accept act activate add adopt allow append apply ask assert assign attach authorize "
    "await back beat begin bind block bring broadcast build bump bundle cache call cancel carry "
    "catch change check choose claim classify clean clear close collect combine compare compile "
    "complete compress compute configure confirm connect consume convert copy correct count cover "
    "create cut decide declare decode decrypt define delete deliver deny deploy derive describe "
    "destroy detach detect diff disable discard disconnect dispatch divert divide download drain "
    "draw drop dump emit enable encode encrypt end enforce ensure enter escape estimate evaluate "
    "evict exclude execute exit expand expect expire explain export expose extend extract fail "
    "fetch fill filter find finish fit flatten flush fold follow force forget fork format forward "
    "free gather generate get give go group guard guess handle has hash hide hold identify ignore "
    "import include infer init initialize insert inspect install interpret interrupt invalidate "
    "invoke is issue join judge keep kill label launch learn leave let limit link list listen "
    "load locate lock log look lower main make map mark match measure merge migrate move must "
    "name narrow negotiate normalize note notify number observe offer omit open order pack "
    "package pad parse patch pause perform pick pin place plan poll post prepare present preview "
    "print probe process promote prompt prove provide prune publish pull push put query queue "
    "quote raise rank reach read rebuild receive reconcile record recover redact reduce refresh "
    "refuse register reject release reload remember remove rename render renew repair repeat "
    "replace replay reply report request require reserve reset resolve respond restart restore "
    "restrict resume retain retry return reuse reveal revert rewrite roll rollback rotate round "
    "route run sample save scan schedule score seal search secure select send separate serve set "
    "settle share shift shorten show shut sign simulate skip sleep sort split spread stage stamp "
    "start stop store stream strip subscribe suggest summarize swap sweep switch sync synchronize "
    "take tear tell terminate test throttle tidy tie time touch trace track transfer transform "
    "translate trim truncate try turn type unlink unlock unpack unregister unseal unset unwire "
    "unwrap update upgrade upload use validate vendor verify visit wait wake walk warn watch "
    "weigh wipe wire with withdraw wrap write yield zip".split()
)
_IRREGULAR = frozenset(
    "begun bound broken brought built chosen cut dealt done drawn driven found given gone heard "
    "held hidden kept known laid led left lost made meant met put read run said seen sent set "
    "shown shut split stood stuck taken taught thought told understood written".split()
)
_BOTH = frozenset({"cut", "let", "put", "read", "run", "set", "shut", "split", "spread"})


def function_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of all functions and methods, but for properties and dunder methods."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {ast.unparse(one).split(".")[-1] for one in node.decorator_list}
            if not node.name.startswith("__") and not marks & {"property", "cached_property"}:
                yield node.name.strip("_")


def is_verb(name: str) -> bool:
    return name.split("_")[0] in _VERBS


def is_participle(name: str) -> bool:
    first = name.split("_")[0]
    is_regular = first.endswith("ed") and len(first) > 4 and first not in _VERBS
    return (first in _IRREGULAR and first not in _BOTH) or is_regular
