"""New price lists: tells which files came in."""

from pyshared.records import object_keys


def handler(event, context):
    return {"imported": sorted(object_keys(event))}
