"""A project for commands on existing records, which need only the record locations."""

from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.project.stored_source import use_kept_config
from fabric.app.request import Where
from fabric.app.settings import Settings


def open_recorded(where: Where, settings: Settings) -> Project:
    return open_project(use_kept_config(where, settings).for_records(), settings)
