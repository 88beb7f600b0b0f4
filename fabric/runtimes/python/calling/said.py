"""What fabric says of the function that is called; the standard library only."""

from dataclasses import dataclass

from fabric.runtimes.python.calling.json_values import Document, texts


@dataclass(frozen=True)
class Said:
    """`names` are exports besides `handler`; `path` is that of an http trigger; `brought` are
    folders of modules that the provider's runtime has."""

    folder: str
    module: str
    name: str
    function: str
    seconds: float
    convention: str = "event"
    names: tuple[str, ...] = ()
    path: str = "/"
    host: str = "localhost"
    memory: int = 0
    region: str = ""
    resource: str = ""
    brought: tuple[str, ...] = ()


def said_in(call: Document) -> Said:
    """From the document that the harness was given."""

    def text(key: str, otherwise: str = "") -> str:
        return str(call.get(key) or otherwise)

    memory = call.get("memory")
    seconds = call.get("seconds")
    return Said(
        folder=text("folder"),
        module=text("module"),
        name=text("name"),
        function=text("functionName"),
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        convention=text("convention", "event"),
        names=texts(call.get("names")),
        path=text("path", "/"),
        host=text("host", "localhost"),
        memory=memory if isinstance(memory, int) else 0,
        region=text("region"),
        resource=text("resource"),
        brought=texts(call.get("brought")),
    )
