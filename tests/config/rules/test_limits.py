"""What a provider would refuse later is refused when it is planned, with its place."""

import pytest

from fabric.config.rules.deployable import plan_problems
from fabric.config.rules.limits import limit_problems
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read
from fabric.model.problems import FabricError, Problem
from tests.support.config_texts import loaded

HEAD = "service: shop\nprovider: {name: %s, runtime: nodejs20.x}\n"


def refused(functions: str, provider: str = "cloud1-lambda", stage: str = "dev") -> list[Problem]:
    text = f"{HEAD % provider}functions: [{functions}]\n"
    return list(plan_problems(loaded(text, stage=stage)))


def codes(functions: str, provider: str = "cloud1-lambda") -> list[str]:
    return [problem.code for problem in refused(functions, provider)]


def one(trigger: str) -> str:
    return f"{{name: a, entry: a.ts, triggers: [{trigger}]}}"


def http(words: str) -> str:
    return one(f"{{type: http, {words}}}")


@pytest.mark.parametrize("setting", ["memory: 64", "memory: 20480", "timeout: 901"])
def test_sizes_that_a_provider_does_not_have(setting: str) -> None:
    (problem,) = refused(f"{{name: a, entry: a.ts, {setting}}}")
    assert problem.code == "config/over-limit"
    assert problem.where is not None
    assert (problem.where.line, problem.frame != "") == (3, True)


def test_size_limits_depend_on_the_provider() -> None:
    assert codes("{name: a, entry: a.ts, timeout: 1800, memory: 20480}", "cloud2-functions") == []
    assert codes("{name: a, entry: a.ts, timeout: 1800, memory: 20480}", "host1") == []


def test_a_name_counts_with_its_service_and_stage() -> None:
    name = "x" * 55
    function = f"{{name: {name}, entry: a.ts}}"
    assert codes(function) == []  # shop-dev- and 55 letters are 64
    assert [one.code for one in refused(function, stage="test")] == ["config/over-limit"]
    assert codes(f"{{name: {name}, entry: a.ts}}", "host1") == []


@pytest.mark.parametrize(
    "path",
    [
        *("/{id", "/id}", "/{}", "/{id}/{id}", "/x?y=1", "/x#y"),
        *("/files/{name}.json", "/v{major}", "/{a}-{b}", "/{rest+}/x", "/two%20words"),
        *("//", "//x", "/x//y", "/x//", "/x/../y", "/x/..", "/./x", "/."),
    ],
)
def test_invalid_path_template_is_rejected(path: str) -> None:
    assert codes(http(f"path: '{path}'")) == ["config/bad-route"]
    assert codes(http(f"route: 'GET:{path}'")) == ["config/bad-route"]


@pytest.mark.parametrize(
    "path",
    ["/", "/x", "/{id}", "/{a}/{b}", "/{rest+}", "/a.b/c-d_e~", "/caf\u00e9", "/x/", "/..x/.y"],
)
def test_a_path_that_is_one(path: str) -> None:
    assert codes(http(f"path: '{path}'")) == []


def test_route_must_agree_with_method() -> None:
    assert codes(http("route: 'GET:/x', method: GET")) == []
    assert codes(http("route: 'GET:/x', method: POST")) == ["config/bad-route"]


def pair(first: str, second: str) -> str:
    rows = (
        f"{{name: {name}, entry: a.ts, triggers: [{{type: http, {route}}}]}}"
        for name, route in (("a", first), ("b", second))
    )
    return ", ".join(rows)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("path: /x", "path: /x", ["config/same-route"]),
        ("path: /x", "route: 'GET:/x/'", ["config/same-route"]),
        ("path: '/{id}'", "path: '/{name}'", ["config/same-route"]),
        ("path: /x", "path: /x, method: POST", []),
        ("path: /x", "path: /y", []),
        ("route: $default", "route: $default", ["config/same-route"]),
        ("route: $default", "route: 'ANY:/'", []),
        ("path: '/{id}'", "path: /new", []),
    ],
)
def test_two_functions_on_one_route(first: str, second: str, found: list[str]) -> None:
    assert codes(pair(first, second)) == found


def cron(words: str) -> str:
    return one(f"{{type: cron, {words}}}")


@pytest.mark.parametrize("fields", ["0 12 * * * *", "0 12 ? * ? *", "0 12 1 * MON *"])
def test_six_field_cron_must_leave_one_day_open_if_the_provider_requires_it(fields: str) -> None:
    assert codes(cron(f"schedule: cron({fields})")) == ["config/bad-schedule"]
    assert codes(cron(f"schedule: cron({fields})"), "cloud2-functions") == []


@pytest.mark.parametrize("schedule", ["cron(0 12 * * ? *)", "rate(5 minutes)", "0 12 * * *"])
def test_schedules_that_the_provider_has(schedule: str) -> None:
    assert codes(cron(f"schedule: '{schedule}'")) == []


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ("rate(1 day), timezone: Mars/Olympus", "config/bad-timezone"),
        ("'cron(0 1 1 * 1 *)'", "config/bad-schedule"),
    ],
)
def test_schedules_of_workflows(schedule: str, code: str) -> None:
    machine = "{StartAt: A, States: {A: {Type: Pass, End: true}}}"
    trigger = f"{{type: cron, schedule: {schedule}}}"
    flow = f"{{name: flow, definition: {machine}, triggers: [{trigger}]}}"
    functions = "functions: [{name: a, entry: a.ts}]"
    text = f"{HEAD % 'cloud1-lambda'}{functions}\nworkflows: [{flow}]\n"
    (problem,) = plan_problems(loaded(text))
    assert (problem.code, "workflow `flow`" in problem.message) == (code, True)


@pytest.mark.parametrize(
    ("second", "is_same"), [("/a/{y}", True), ("/a/{x}/", False), ("/b", False)]
)
def test_a_function_has_each_route_once(second: str, *, is_same: bool) -> None:
    both = "{type: http, path: '/a/{x}'}, {type: http, path: '" + second + "'}"
    assert codes(one(both)) == ["config/same-route"] * is_same


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("{type: queue, queue: work}", "{queue: work, type: queue}", 1),
        ("{type: queue, queue: work}", "{type: queue, queue: work, batchSize: 10}", 1),
        ("{type: cron, schedule: rate(1 day)}", "{type: cron, schedule: rate(1 days)}", 1),
        ("{type: queue, queue: work}", "{type: queue, queue: other}", 0),
        ("{type: cron, schedule: rate(1 day)}", "{type: cron, schedule: rate(2 days)}", 0),
    ],
)
def test_a_function_has_each_trigger_once(first: str, second: str, found: int) -> None:
    assert codes(one(f"{first}, {second}")) == ["config/same-trigger"] * found


_ECR = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/a:1"


@pytest.mark.parametrize(
    ("provider", "image", "found"),
    [
        ("cloud1-lambda", _ECR, 0),
        ("cloud1-lambda", "ghcr.io/team/a:1", 1),
        ("cloud1-lambda", "nginx:latest", 1),
        ("cloud2-functions", _ECR, 1),
    ],
)
def test_an_existing_image_must_be_in_ecr_for_aws_lambda(
    provider: str, image: str, found: int
) -> None:
    assert codes(f"{{name: a, image: '{image}'}}", provider) == ["config/unfit"] * found


def test_time_zones_by_name() -> None:
    assert codes(cron("schedule: rate(1 day), timezone: Europe/Berlin")) == []
    assert codes(cron("schedule: rate(1 day), timezone: UTC")) == []
    (problem,) = refused(cron("schedule: rate(1 day), timezone: Europe/Berlun"))
    assert (problem.code, problem.hint) == ("config/bad-timezone", "did you mean `Europe/Berlin`?")


def storage(bucket: str, event: str) -> str:
    return one(f"{{type: storage, bucket: {bucket}, events: ['{event}']}}")


@pytest.mark.parametrize("event", ["objstore1:ObjectCreated:*", "objstore1:ObjectRemoved:Delete"])
def test_events_of_storage(event: str) -> None:
    assert codes(storage("uploads", event)) == []


def test_an_event_under_the_name_of_another_tool_gets_ours() -> None:
    (problem,) = refused(storage("uploads", "s3:ObjectCreated:*"))
    assert problem.code == "config/bad-event"
    assert problem.hint == "did you mean `objstore1:ObjectCreated:*`?"
    assert codes(storage("uploads", "created")) == ["config/bad-event"]


@pytest.mark.parametrize("bucket", ["Uploads", "my_bucket", "ab", "x-"])
def test_a_bucket_that_cannot_be(bucket: str) -> None:
    assert codes(storage(bucket, "objstore1:ObjectCreated:*")) == ["config/bad-bucket"]


@pytest.mark.parametrize("env", ['{MOOD: "a\\0b"}', '{CALM: x, MOOD: "\\0"}'])
def test_a_variable_holds_no_end_of_a_text(env: str) -> None:
    (problem,) = refused(f"{{name: a, entry: a.ts, env: {env}}}")
    assert problem.code == "config/bad-value"
    assert problem.message == "variable `MOOD` contains a NUL character"
    assert problem.where is not None
    assert problem.where.line == 3
    (other,) = refused(f"{{name: a, entry: a.ts}}]\nenv: {env}\nlayers: [")
    assert (other.message, other.where and other.where.line) == (problem.message, 4)


def test_path_with_an_invisible_character_is_rejected() -> None:
    (problem,) = refused(http('path: "/a\\u200bb"'))
    assert problem.code == "config/bad-route"
    assert problem.message.endswith(": contains an invisible character")
    assert problem.message.isprintable()


def test_unknown_provider_has_no_limits() -> None:
    root = read(
        "fabric.yml",
        (HEAD % "own-cloud").encode()
        + b"functions: "
        + (
            b"[{name: a, entry: a.ts, memory: 1, timeout: 99999, triggers: [{type: cron, "
            b"schedule: cron(0 12 * * * *)}]}]"
        ),
    ).root
    assert isinstance(root, Mapping)
    assert list(limit_problems(root, "dev")) == []


def test_invalid_schedule_is_reported_once() -> None:
    with pytest.raises(FabricError) as raised:
        refused(cron("schedule: cron(nonsense)"))
    assert [one.code for one in raised.value.problems] == ["config/bad-schedule"]
    text = (HEAD % "cloud1-lambda") + f"functions: [{cron('schedule: cron(nonsense)')}]"
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    assert list(limit_problems(root, "dev")) == []


@pytest.mark.parametrize("provider", ["host1", "edge1-workers", "cloud4-fc"])
def test_images_are_refused_where_fabric_deploys_none(provider: str) -> None:
    (problem,) = refused("{name: a, entry: a.ts, package: {type: image}}", provider)
    assert problem.code == "config/unfit"
    assert "`cloud1-lambda`, `cloud2-functions`, `cluster-orchestrator`" in problem.hint
    assert codes("{name: a, entry: a.ts, package: {type: zip}}", provider) == []


@pytest.mark.parametrize("provider", ["cloud1-lambda", "cluster-orchestrator"])
def test_images_are_accepted_where_fabric_deploys_them(provider: str) -> None:
    assert (
        codes("{name: a, entry: a.ts, package: {type: image, base: 'r.example/a:1'}}", provider)
        == []
    )


def test_a_runtime_without_a_default_base_image_needs_a_base() -> None:
    own = "entry: a, runtime: provided.al2023, build: {preset: go}"
    function = f"{{name: a, {own}, package: {{type: image%s}}}}"
    assert "config/missing-key" in codes(function % "")
    assert "config/missing-key" not in codes(function % ", base: 'r.example/a:1'")
