"""Secrets from plugins, for references such as `vault://team/token` in a config."""

from collections.abc import Mapping

from fabric.model.problems import FabricError, Problem
from fabric.model.secrecy import REDACTED
from fabric.model.secret import Secret


class ManagedSecrets:
    """The secrets for one load of one config: each reference is fetched once and not stored.

    If secrets are not to be read, only the presence of a plugin is checked.
    """

    def __init__(
        self, bound: Mapping[str, str], process: Mapping[str, str], *, reads: bool
    ) -> None:
        """`bound` are the variables of bindings: the process environment over the `.env` files."""
        self._filed = Secret({one: bound[one] for one in bound if one not in process})
        self._process = Secret(process)
        self._reads = reads
        self._known: dict[tuple[str, str], Secret[str] | FabricError] = {}

    @property
    def were_asked(self) -> bool:
        return bool(self._known)

    def read(self, scheme: str, reference: str) -> str:
        key = (scheme, reference)
        if key not in self._known:
            self._known[key] = self._fetch_secret(scheme, reference)
        found = self._known[key]
        if isinstance(found, FabricError):
            raise found
        return found.reveal()

    def _fetch_secret(self, scheme: str, reference: str) -> Secret[str] | FabricError:
        from fabric.system import plugins  # few configs name one

        try:
            if not self._reads:
                plugins.find_plugin(scheme)
                return Secret(REDACTED)
            variables = plugins.PluginVariables(self._process.reveal(), self._filed.reveal())
            return Secret(plugins.read_secret(scheme, reference, variables))
        except FabricError as error:
            return _convert_plugin_error(error)


def _convert_plugin_error(error: FabricError) -> FabricError:
    """Convert a plugin error. A missing plugin is a config error; a failing plugin is not."""
    first = error.first
    if first.code not in ("plugin/unknown", "plugin/other-kind"):
        return error
    return FabricError(Problem("config/secret-plugin", first.message, first.hint))
