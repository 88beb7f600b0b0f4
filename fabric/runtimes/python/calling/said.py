"""The settings of the called function, without imports."""


class Said:
    """Function settings. `names` are exports besides `handler`; `path` is that of an HTTP trigger.

    `brought` are directories of modules in the provider's runtime.
    """

    def __init__(self, document: dict[str, object]) -> None:
        def text(key: str, otherwise: str = "") -> str:
            return str(document.get(key) or otherwise)

        memory, seconds = document.get("memory"), document.get("seconds")
        self.folder = text("folder")
        self.module = text("module")
        self.name = text("name")
        self.function = text("functionName")
        self.seconds = float(seconds) if isinstance(seconds, int | float) else 0.0
        self.convention = text("convention", "event")
        self.names = _texts(document.get("names"))
        self.path = text("path", "/")
        self.host = text("host", "localhost")
        # The host that has its own variables awaits nothing.
        self.awaits = not document.get("streams")
        self.memory = memory if isinstance(memory, int) else 0
        self.region = text("region")
        self.resource = text("resource")
        self.brought = _texts(document.get("brought"))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else ()
