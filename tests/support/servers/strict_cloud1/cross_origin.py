"""Answers of an API to browsers of other origins, by its own configuration."""

from tests.support.servers.strict_cloud1.constraints import Fields

Headers = list[tuple[str, str]]
_LISTS = {
    "access-control-allow-methods": "AllowMethods",
    "access-control-allow-headers": "AllowHeaders",
}


def allowed_origin(cors: Fields, origin: str) -> Headers:
    """Nothing for an origin that is not allowed."""
    origins = cors.get("AllowOrigins", [])
    if not origin or not ("*" in origins or origin in origins):
        return []
    found = [("access-control-allow-origin", "*" if "*" in origins else origin)]
    if cors.get("AllowCredentials"):
        found.append(("access-control-allow-credentials", "true"))
    if cors.get("ExposeHeaders"):
        found.append(("access-control-expose-headers", ",".join(cors["ExposeHeaders"])))
    return found


def preflight(cors: Fields, origin: str) -> Headers:
    found = allowed_origin(cors, origin)
    if not found:
        return []
    found += [(name, ",".join(cors[key])) for name, key in _LISTS.items() if cors.get(key)]
    if "MaxAge" in cors:
        found.append(("access-control-max-age", str(cors["MaxAge"])))
    return found
