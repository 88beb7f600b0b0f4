"""Check that the resources of a service on Google Cloud other than its functions still exist."""

from collections.abc import Iterator

from fabric.providers.cloud2.jobs import list_all_jobs
from fabric.providers.cloud2.release_state import CLOCKS
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.contract import DeploymentAddress
from fabric.providers.release_state import read_kept_texts


def find_missing(work: Cloud2Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    clocks = [text for name, text in texts.items() if name.startswith(CLOCKS)]
    wanted = [pair.rpartition("=")[0] for text in clocks for pair in text.split()]
    there = {one.name.rpartition("/")[2] for one in list_all_jobs(work)} if wanted else set()
    yield from (f"the scheduler job `{ident}`" for ident in wanted if ident not in there)
