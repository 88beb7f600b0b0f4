"""What a compose file lists, for people and scripts."""

from fabric.app.files import COMPOSE_NAME
from fabric.app.project import named_services
from fabric.app.settings import Settings
from fabric.model.report import Report
from fabric.views.style import Style


def list_services(file: str, settings: Settings, style: Style) -> Report:
    services = named_services(file or COMPOSE_NAME, settings)
    rows = [
        {"name": one.name, "config": one.config, "dependsOn": list(one.depends_on)}
        for one in services
    ]
    width = max((len(one.name) for one in services), default=0)
    lines = [
        f"{style.strong(one.name.ljust(width))}  {one.config}"
        + style.dim(f"  needs {', '.join(one.depends_on)}" if one.depends_on else "")
        for one in services
    ]
    return Report("compose list", {"services": rows}, text="\n".join(lines))
