"""Constructs of serverless-lift become functions and resources."""

import pytest

from fabric.importing.source import Fate
from tests.support.imports import SOURCE, from_serverless, service

FUNCTION = "api: {handler: src/api.handler}\n"
_WORKER = "src/worker.run"
_FILES = {**SOURCE, "src/worker.js": "exports.run = async () => 1\n"}
_QUEUE = f"constructs:\n  jobs:\n    type: queue\n    worker: {{handler: {_WORKER}, timeout: 10}}\n"


def test_a_queue_gets_its_worker_dead_letters_and_permission() -> None:
    env = "environment: {URL: '${construct:jobs.queueUrl}'}"
    done = from_serverless(service(FUNCTION, env, _QUEUE), _FILES)
    assert done.reasons() == []
    worker = next(one for one in done.config["functions"] if one["name"] == "jobsWorker")
    [trigger] = worker["triggers"]
    assert trigger["queue"] == "${stack:JobsQueueArn}"
    assert trigger["functionResponseType"] == "ReportBatchItemFailures"
    [resources] = [one["Resources"] for one in done.stacks.values()]
    assert resources["JobsQueue"]["Properties"]["VisibilityTimeout"] == 60
    assert resources["JobsQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"] == 3
    assert resources["JobsDeadLetters"]["Type"] == "AWS::SQS::Queue"
    [statement] = done.config["defaults"]["permissions"]
    assert statement["actions"] == ["sqs:SendMessage"]
    assert done.config["env"]["URL"] == "${stack:JobsQueueRef}"


def test_settings_of_a_queue_reach_its_resources() -> None:
    more = "    maxRetries: 5\n    batchSize: 7\n    fifo: true\n    alarm: team@shop.example\n"
    done = from_serverless(service(FUNCTION, "", _QUEUE + more), _FILES)
    [resources] = [one["Resources"] for one in done.stacks.values()]
    assert resources["JobsQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"] == 5
    assert resources["JobsDeadLetters"]["Properties"]["FifoQueue"] is True
    [mail] = resources["JobsAlarmTopic"]["Properties"]["Subscription"]
    assert mail["Endpoint"] == "team@shop.example"
    worker = next(one for one in done.config["functions"] if one["name"] == "jobsWorker")
    assert worker["triggers"][0]["batchSize"] == 7


def test_a_storage_is_a_private_bucket_that_all_functions_use() -> None:
    rest = "constructs: {files: {type: storage}}\n"
    env = "environment: {BUCKET: '${construct:files.bucketName}'}"
    done = from_serverless(service(FUNCTION, env, rest), SOURCE)
    [resources] = [one["Resources"] for one in done.stacks.values()]
    blocked = resources["FilesBucket"]["Properties"]["PublicAccessBlockConfiguration"]
    assert set(blocked.values()) == {True}
    [statement] = done.config["defaults"]["permissions"]
    assert "s3:PutObject" in statement["actions"]


@pytest.mark.parametrize(
    ("construct", "reason"),
    [
        ("{type: webhook, path: /a}", "constructs of the type `webhook` are not supported"),
        ("{type: storage, archive: 45}", "`archive` of constructs is not converted"),
    ],
)
def test_other_constructs_are_reported(construct: str, reason: str) -> None:
    done = from_serverless(service(FUNCTION, "", f"constructs: {{one: {construct}}}\n"), SOURCE)
    assert any(one.endswith(reason) for one in done.reasons(Fate.NOT_CARRIED))


def test_a_setting_that_differs_by_stage_is_reported() -> None:
    rest = "custom: {tries: {dev: 1, prod: 9}}\n"
    queue = _QUEUE + "    maxRetries: ${self:custom.tries.${sls:stage}}\n" + rest
    done = from_serverless(service(FUNCTION, "", queue), _FILES)
    assert "constructs.jobs.maxRetries: the value is not a number of all stages; 3 is used" in (
        done.reasons()
    )


def test_variables_of_settings_and_events_of_the_worker_are_kept() -> None:
    queue = (
        "constructs:\n  jobs:\n    type: queue\n    batchSize: ${self:custom.size}\n"
        f"    worker: {{handler: {_WORKER}, events: [{{schedule: rate(1 hour)}}]}}\n"
        "custom: {size: 4}\n"
    )
    done = from_serverless(service(FUNCTION, "", queue), _FILES)
    worker = next(one for one in done.config["functions"] if one["name"] == "jobsWorker")
    assert [one["type"] for one in worker["triggers"]] == ["cron", "queue"]
    assert worker["triggers"][1]["batchSize"] == 4
