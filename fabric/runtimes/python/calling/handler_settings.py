"""The settings of the called function, without imports."""


class HandlerSettings:
    """Function settings. `names` are exports besides `handler`; `path` is that of an HTTP trigger.

    `brought` are directories of modules in the provider's runtime.
    """

    def __init__(self, document: dict[str, object]) -> None:
        def read_text(key: str, otherwise: str = "") -> str:
            return str(document.get(key) or otherwise)

        memory, seconds = document.get("memory"), document.get("seconds")
        self.folder = read_text("folder")
        self.module = read_text("module")
        self.name = read_text("name")
        self.function = read_text("functionName")
        self.seconds = float(seconds) if isinstance(seconds, int | float) else 0.0
        self.convention = read_text("convention", "event")
        self.names = _list_texts(document.get("names"))
        self.path = read_text("path", "/")
        self.host = read_text("host", "localhost")
        # The host that has its own variables awaits nothing.
        self.awaits = not document.get("streams")
        self.memory = memory if isinstance(memory, int) else 0
        self.region = read_text("region")
        self.resource = read_text("resource")
        self.brought = _list_texts(document.get("brought"))


def _list_texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else ()
