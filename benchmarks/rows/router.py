"""`fabric router simulate` of a million requests beside the same of a hundred."""

from collections.abc import Sequence

from benchmarks.places import WORK, program
from benchmarks.rounds import Side, Timing, alternate
from benchmarks.row import Options, Result, Row, beside, ms, shown

# After the sum of all weights the order begins anew: a million costs what a hundred do.
BOUND = 1.1
# The whole command, however slow the machine is.
_SECONDS = 1.5
_MANY = 1_000_000
_FOLDER = WORK / "routed"
_CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions: [{name: hello, entry: src/hello.js}]
providerOverrides:
  main: {name: cloud1-lambda}
  spare: {name: cloud2-functions}
  third: {name: edge1-workers}
fabric: {targets: [main, spare, third]}
extensions: {router: {hostname: api.example.com}}
"""


def _simulating(requests: int) -> Side:
    words = ("router", "simulate", "--requests", str(requests), "--json")
    return Side(f"{requests} requests", (program("fabric"), *words), _FOLDER)


def _run(options: Options) -> Sequence[Result]:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    (_FOLDER / "fabric.yml").write_text(_CONFIG)
    sides = [_simulating(100), _simulating(_MANY)]
    few, many = shown(alternate(sides, options.rounds * 3))
    claim = "`router simulate` of 1,000,000 requests / of 100"
    return [beside(claim, many, few, BOUND), _whole(many)]


def _whole(many: Timing) -> Result:
    low, high = many.spread
    ours = f"{ms(many.median)} ({ms(low)}..{ms(high)})"
    ratio = many.median / _SECONDS
    return Result(f"`router simulate --requests {_MANY}`", ours, ms(_SECONDS), ratio, 1.0)


ROWS = (Row("router", "requests spread by weight, without a call", _run),)
