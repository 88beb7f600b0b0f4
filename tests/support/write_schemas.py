"""Write `schemas/` again after a change of shapes: `python -m tests.support.write_schemas`."""

from pathlib import Path

from fabric.config.schema.documents import list_schema_files

SCHEMAS = Path(__file__).parents[2] / "schemas"


def main() -> None:
    for name, text in list_schema_files():
        (SCHEMAS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
