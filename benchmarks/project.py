"""A real project with many small functions, for `fabric build` itself."""

from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.places import WORK, made, program

_HEAD = """service: many
provider:
  name: cloud1-lambda
  runtime: nodejs20.x
functions:
"""
_CODE = """import {{ total }} from "../shared/money{ending}";
import {{ reply }} from "../shared/reply{ending}";

export async function handler(event) {{
  return reply(200, {{ number: {number}, total: total(event.items ?? []) }});
}}
"""
_TYPED = """import {{ total, type Item }} from "../shared/money";
import {{ reply, type Reply }} from "../shared/reply";

interface Event {{ items?: Item[] }}

export async function handler(event: Event): Promise<Reply> {{
  return reply(200, {{ number: {number}, total: total(event.items ?? []) }});
}}
"""
_MONEY = "export const total = (items) => items.reduce((sum, one) => sum + one.price, 0);\n"
_MONEY_TYPED = """export interface Item { price: number }
export const total = (items: Item[]): number => items.reduce((sum, one) => sum + one.price, 0);
"""
_REPLY = (
    "export const reply = (code, body) => ({ statusCode: code, body: JSON.stringify(body) });\n"
)
_REPLY_TYPED = """export interface Reply { statusCode: number; body: string }
export const reply = (code: number, body: unknown): Reply =>
  ({ statusCode: code, body: JSON.stringify(body) });
"""


def javascript(count: int) -> Path:
    sources = {"shared/money.js": _MONEY, "shared/reply.js": _REPLY}
    code = {
        f"src/fn_{number}.js": _CODE.format(number=number, ending=".js") for number in range(count)
    }
    return made(WORK / "trees" / f"javascript-{count}", _writer(count, {**sources, **code}))


def typescript(count: int) -> Path:
    sources = {"shared/money.ts": _MONEY_TYPED, "shared/reply.ts": _REPLY_TYPED}
    code = {f"src/fn_{number}.ts": _TYPED.format(number=number) for number in range(count)}
    return made(WORK / "trees" / f"typescript-{count}", _writer(count, {**sources, **code}))


def _writer(count: int, files: Mapping[str, str]) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        rows = "".join(
            f"  - name: fn-{number}\n    entry: src/fn_{number}.handler\n"
            for number in range(count)
        )
        (root / "fabric.yml").write_text(_HEAD + rows)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return write


def environment() -> dict[str, str]:
    """The pinned bundler is installed once, below the benchmarks' own folder."""
    return {"FABRIC_TOOLCHAIN_DIR": str(WORK / "toolchain")}


def build_argv() -> tuple[str, ...]:
    return (program("fabric"), "build", "--json")
