"""Which package a module may come from, by names alone: they differ for some that many use."""

import re
from collections.abc import Collection, Iterator

# Module: packages that bring it under a name that does not resemble it.
_OTHERWISE = {
    "attr": ("attrs",),
    "bs4": ("beautifulsoup4",),
    "Crypto": ("pycryptodome", "pycrypto"),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "faiss": ("faiss-cpu",),
    "fitz": ("pymupdf",),
    "git": ("gitpython",),
    "github": ("pygithub",),
    "google.protobuf": ("protobuf",),
    "jwt": ("pyjwt",),
    "kafka": ("kafka-python", "kafka-python-ng"),
    "markdown_it": ("markdown-it-py",),
    "mysql": ("mysql-connector-python",),
    "MySQLdb": ("mysqlclient",),
    "OpenSSL": ("pyopenssl",),
    "PIL": ("pillow",),
    "pkg_resources": ("setuptools",),
    "psycopg": ("psycopg-binary",),
    "psycopg2": ("psycopg2-binary",),
    "serial": ("pyserial",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "snowflake": ("snowflake-connector-python", "snowflake-sqlalchemy"),
    "socks": ("pysocks",),
    "tensorflow": ("tensorflow-cpu", "tensorflow-intel"),
    "tlz": ("toolz", "cytoolz"),
    "usb": ("pyusb",),
    "yaml": ("pyyaml",),
    "zmq": ("pyzmq",),
}


def may_come_from(module: str, packages: Collection[str]) -> bool:
    """Whether a package of this name, or one that is known to, may bring the module."""
    return not set(packages).isdisjoint(_candidates(module))


def _candidates(module: str) -> Iterator[str]:
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        dotted = ".".join(parts[:count])
        yield from _OTHERWISE.get(dotted, ())
        name = re.sub(r"[-_.]+", "-", dotted).strip("-").lower()
        yield from (name, f"python-{name}", f"{name}-python", f"py{name}", f"py-{name}")
        yield name.removeprefix("py")
