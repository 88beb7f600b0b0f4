"""What deploys compare of a function and of its place."""

from fabric.graph.deploy_settings import (
    build_spec,
    describe_function_place,
    describe_release_place,
)
from fabric.graph.service_unit import ServiceUnit
from fabric.model.hashing import hash_fields
from tests.support.config_texts import HEAD, ONE, loaded


def unit_of(extension: str, more: str = "") -> ServiceUnit:
    extensions = f"extensions: {{cloud1-lambda: {extension}}}\n" if extension else ""
    return ServiceUnit(loaded(f"{HEAD}{ONE}{extensions}{more}"), "")


def test_a_setting_that_only_a_release_reads_is_no_input_of_functions() -> None:
    before = unit_of("{roleArn: 'arn:aws:iam::1:role/a'}")
    after = unit_of("{roleArn: 'arn:aws:iam::1:role/a', schedulerRoleArn: 'arn:aws:iam::1:role/b'}")
    assert describe_function_place(before) == describe_function_place(after)
    assert describe_release_place(before) != describe_release_place(after)


def test_settings_of_the_http_api_are_no_input_of_functions_even_as_the_only_settings() -> None:
    http = "http: {throttle: {rate: 1, burst: 2}}"
    role = "roleArn: 'arn:aws:iam::1:role/a'"
    for before, after in (("", f"{{{http}}}"), (f"{{{role}}}", f"{{{role}, {http}}}")):
        units = unit_of(before), unit_of(after)
        functions, releases = (
            [describe(one) for one in units]
            for describe in (describe_function_place, describe_release_place)
        )
        assert functions[0] == functions[1]
        assert releases[0] != releases[1]


def test_a_setting_that_functions_read_is_an_input() -> None:
    before, after = (unit_of(f"{{roleArn: 'arn:aws:iam::1:role/{one}'}}") for one in "ab")
    assert describe_function_place(before) != describe_function_place(after)


def test_a_config_without_other_settings_has_the_same_inputs_for_both() -> None:
    unit = unit_of("{roleArn: 'arn:aws:iam::1:role/a'}")
    assert describe_function_place(unit) == describe_release_place(unit)


def machines_of(extension: str) -> ServiceUnit:
    head = HEAD.replace("cloud1-lambda", "host3-machines")
    assert head != HEAD
    return ServiceUnit(loaded(f"{head}{ONE}extensions: {{host3-machines: {extension}}}\n"), "")


def test_a_provider_that_lists_only_release_settings_deploys_with_all_others() -> None:
    before = machines_of("{region: fra, madeUp: 1}")
    later = machines_of("{region: fra, madeUp: 1, hostname: shop.example.com}")
    assert describe_function_place(before) == describe_release_place(before)
    assert describe_function_place(before) == describe_function_place(later)
    assert describe_release_place(before) != describe_release_place(later)
    others = machines_of("{region: fra, madeUp: 2}"), machines_of("{region: fra}")
    assert all(describe_function_place(one) != describe_function_place(before) for one in others)


def test_google_services_without_newer_settings_have_the_same_inputs_as_before() -> None:
    head = HEAD.replace("cloud1-lambda", "cloud2-functions")
    places = [
        ServiceUnit(loaded(f"{head}{ONE}extensions: {{cloud2-functions: {text}}}\n"), "")
        for text in ("{serviceAccount: a@b.test}", "{serviceAccount: a@b.test, retryEvents: true}")
    ]
    old = dict(describe_function_place(places[0]))["extensions"]
    assert old == hash_fields(('{"cloud2-functions":{"serviceAccount":"a@b.test"}}',))
    assert describe_function_place(places[0]) == describe_function_place(places[1])
    assert describe_release_place(places[0]) != describe_release_place(places[1])


def test_ingress_settings_of_kubernetes_are_no_input_of_functions() -> None:
    head = HEAD.replace("cloud1-lambda", "cluster-orchestrator")
    places = [
        ServiceUnit(loaded(f"{head}{ONE}extensions: {{cluster-orchestrator: {text}}}\n"), "")
        for text in ("{hostname: a.test}", "{hostname: a.test, ingress: {labels: {team: shop}}}")
    ]
    old = dict(describe_function_place(places[0]))["extensions"]
    assert old == hash_fields(('{"cluster-orchestrator":{"hostname":"a.test"}}',))
    assert describe_function_place(places[0]) == describe_function_place(places[1])
    assert describe_release_place(places[0]) != describe_release_place(places[1])


def test_a_function_setting_is_an_option_only_where_it_is_given() -> None:
    plain = dict(build_spec(unit_of(""), unit_of("").config.functions[0])[1])
    unit = unit_of("", "defaults: {tracing: active}\n")
    given = dict(build_spec(unit, unit.config.functions[0])[1])
    assert "tracing" not in plain
    assert given == {**plain, "tracing": "active"}


def spec_of(keys: str) -> dict[str, str]:
    function = f"functions: [{{name: one, entry: one.ts, {keys}}}]\n"
    unit = ServiceUnit(loaded(HEAD + function), "")
    return dict(build_spec(unit, unit.config.functions[0])[1])


def test_a_number_of_instances_is_no_scaling() -> None:
    count = spec_of("provisionedConcurrency: 2")
    scaling = spec_of("provisionedConcurrency: {min: 2, max: 5}")
    assert "provisionedConcurrency" not in count
    assert scaling == {**count, "provisionedConcurrency": '{"max":5,"min":2}'}


def test_triggers_without_newer_keys_are_hashed_as_before() -> None:
    triggers = "{type: storage, bucket: b, events: [e]}, {type: amqp, queue: q}"
    old = (
        "(StorageTrigger(bucket='b', events=('e',), prefix='', suffix='', existing_bucket=False), "
        "AmqpTrigger(queue='q', url='', exchange='', routing_key='', virtual_host='', "
        "batch_size=0))"
    )
    assert spec_of(f"triggers: [{triggers}]")["triggers"] == hash_fields((old,))
