"""A project for commands on existing records, which need only the record locations."""

from msgspec.structs import replace

from fabric.app.project.kept_source import or_kept
from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.request import Where
from fabric.app.settings import Settings


def open_recorded(where: Where, settings: Settings) -> Project:
    return open_project(replace(or_kept(where, settings), only_place=True), settings)
