"""Schedules as five fields, and what five fields cannot say."""

import pytest

from fabric.providers.cluster.schedules import five_fields


@pytest.mark.parametrize(
    ("schedule", "fields"),
    [
        ("rate(1 minute)", "* * * * *"),
        ("rate(5 minutes)", "*/5 * * * *"),
        ("rate(60 minutes)", "0 * * * *"),
        ("rate(1 hour)", "0 * * * *"),
        ("rate(6 hours)", "0 */6 * * *"),
        ("rate(1440 minutes)", "0 0 * * *"),
        ("rate(1 day)", "0 0 * * *"),
        ("0 12 * * 1-5", "0 12 * * 1-5"),
        ("0 12 * * 7", "0 12 * * 0"),
        ("0 12 * * 5-7", "0 12 * * 5,6,0"),
        ("0 12 * * fri-mon", "0 12 * * 5,6,0,1"),
        ("0 12 1 jan *", "0 12 1 JAN *"),
        ("0 12 * * */2", "0 12 * * */2"),
        ("cron(0 12 ? * MON-FRI *)", "0 12 * * MON-FRI"),
        ("cron(0 12 ? * 2-6 *)", "0 12 * * 1-5"),
        ("cron(0/15 8 1 * ? *)", "0/15 8 1 * *"),
    ],
)
def test_a_schedule_becomes_five_fields(schedule: str, fields: str) -> None:
    assert five_fields(schedule) == fields


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("rate(7 minutes)", "every 7 minutes is no schedule of five fields"),
        ("rate(90 minutes)", "every 90 minutes is no schedule of five fields"),
        ("rate(2 days)", "every 2 days is no schedule of five fields"),
        ("cron(0 12 * * ? 2027)", "it names a year, and five fields have none"),
        ("cron(0 12 L * ? *)", "it counts days in a month, and five fields cannot"),
        ("cron(0 12 ? * 6#3 *)", "it counts days in a month, and five fields cannot"),
    ],
)
def test_what_five_fields_cannot_say_is_refused(schedule: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        five_fields(schedule)
