"""Which keys a function has."""

from fabric.config.schema.build import BUILD
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.schema.shapes import (
    Anything,
    Field,
    Fields,
    Integer,
    Many,
    Named,
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED, TRIGGER
from fabric.model.builds.image_names import IMAGE_PATTERN

FUNCTION_NAME = Text(
    match_whole("[A-Za-z0-9_-]{1,64}"), "1 to 64 characters: letters, digits, `_` or `-`"
)
RUNTIME = Text(
    match_whole(
        r"nodejs(?:(?:18|20|22|24)\.x)?|python(?:3\.[1-9][0-9]?)?"
        r"|provided\.al2023|java(?:17|21|25)|dotnet(?:8|10)|ruby3\.[234]"
    ),
    "a runtime, such as nodejs22.x, python3.12, provided.al2023 or java21",
    "config/unknown-runtime",
)
IMAGE_NAME = Text(
    match_whole(IMAGE_PATTERN),
    "the name of an image, such as registry.example.com/team/base:1",
)
ENV_NAME = Text(
    match_whole("[A-Za-z_][A-Za-z0-9_]*"), "letters, digits and `_`, not starting with a digit"
)
ENV = Table(Word(), ENV_NAME, "LOG_LEVEL")
_NAMES = Many(FILLED)

_NAME = Field(
    "name", FUNCTION_NAME, "Name of the function, unique in the service.", "hello", required=True
)
_ENTRY = Field(
    "entry",
    FILLED,
    "Source file of the handler, or `<module>.<export>`. Required without `image`.",
    "src/hello.ts",
)
_IMAGE = Field(
    "image",
    IMAGE_NAME,
    "Existing container image, instead of `entry`: a tag or a digest.",
    "123456789012.dkr.ecr.eu-central-1.amazonaws.com/hello:1",
)
PACKAGE = Fields(
    (
        Field(
            "type",
            OneOf(("zip", "image"), "a package type"),
            "Form of the package: an archive, or a container image. Default: zip.",
            "image",
        ),
        Field(
            "base",
            IMAGE_NAME,
            "Base image: a tag or a digest. Default: an image of the provider for the runtime.",
            "public.ecr.aws/lambda/nodejs:22",
        ),
    )
)
_CHECK_NAME = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"),
    "1 to 63 characters: letters, digits, `_`, `.` or `-`, starting with a letter or digit",
)
_EXPECT = Fields(
    (
        Field("status", Integer(100, 599), "Status of an HTTP response.", 200),
        Field("body", Word(), "The whole body of the response.", "ok"),
        Field("json", Anything(), "Body of the response as JSON.", {"ok": True}),
        Field("contains", FILLED, "Part of the body.", "Hello"),
    )
)
CHECK = Fields(
    (
        Field("name", _CHECK_NAME, "Name, unique in the function.", "smoke", required=True),
        Field(
            "event",
            Anything(),
            "Event: a file of the service directory with JSON, or the event itself.",
            "events/hello.json",
        ),
        Field(
            "expect",
            _EXPECT,
            "The expected response. All keys must match.",
            {"status": 200},
            required=True,
        ),
    ),
    definition="check",
)
_OPTIONAL = (
    Field(
        "triggers",
        Many(TRIGGER),
        "Triggers of the function.",
        [{"type": "http", "route": "GET:/hello"}],
    ),
    Field(
        "env",
        ENV,
        "Environment variables of this function. They override those of the service.",
        {"LOG_LEVEL": "debug"},
    ),
    Field(
        "layers",
        _NAMES,
        "Names from the top-level `layers`, or ARNs (AWS Lambda only).",
        ["shared"],
    ),
    Field(
        "runtime",
        RUNTIME,
        "Runtime of this function. Default: the runtime of the service.",
        "python3.11",
    ),
    Field("memory", Integer(1, 1_048_576), "Memory, in MB.", 256),
    Field("timeout", Integer(1, 86_400), "Maximum duration of one invocation, in seconds.", 30),
    Field(
        "architecture",
        OneOf(("x86_64", "arm64"), "an architecture"),
        "CPU architecture.",
        "arm64",
    ),
    Field("tags", Table(Word(), sample="team"), "Tags at the provider.", {"team": "shop"}),
    Field("resources", _NAMES, "Resources that the function uses. Default: all.", ["orders-db"]),
    Field("addons", _NAMES, "Addons that the function uses. Default: all.", ["mail"]),
    Field("include", _NAMES, "Globs of additional files in the archive.", ["templates/**"]),
    Field(
        "build", BUILD, "Build settings. They override `build` of the service.", {"minify": True}
    ),
    Field(
        "package",
        PACKAGE,
        "How the function is packaged.",
        {"type": "image"},
    ),
    Field(
        "reservedConcurrency",
        Integer(0, 1_000_000),
        "Number of concurrent invocations reserved for the function.",
        10,
    ),
    Field(
        "checks",
        Named(CHECK, key=_CHECK_NAME),
        "Calls of the packaged function on this machine. A failed check stops the deploy.",
        [{"name": "smoke", "event": "events/hello.json", "expect": {"status": 200}}],
    ),
    *FUNCTION_SETTINGS,
)
FUNCTION = Fields(
    (_NAME, _ENTRY, _IMAGE, *_OPTIONAL), one_of=("entry", "image"), definition="function"
)
# In an overlay of a stage, only the name is required.
FUNCTION_OVERLAY = Fields((_NAME, _ENTRY, _IMAGE, *_OPTIONAL), definition="function")
FUNCTION_DEFAULTS = Fields(_OPTIONAL)
