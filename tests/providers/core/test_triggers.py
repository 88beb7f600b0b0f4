"""Schedules as five fields, and what five fields cannot say."""

import pytest

from fabric.providers.core.triggers import convert_to_five_fields


@pytest.mark.parametrize(
    ("schedule", "fields"),
    [
        ("rate(1 minute)", "* * * * *"),
        ("rate(5 minutes)", "*/5 * * * *"),
        ("rate(60 minutes)", "0 * * * *"),
        ("rate(120 minutes)", "0 */2 * * *"),
        ("rate(1 hour)", "0 * * * *"),
        ("rate(6 hours)", "0 */6 * * *"),
        ("rate(24 hours)", "0 0 * * *"),
        ("rate(1440 minutes)", "0 0 * * *"),
        ("rate(1 day)", "0 0 * * *"),
        ("0 12 * * 1-5", "0 12 * * MON,TUE,WED,THU,FRI"),
        ("0 12 * * 7", "0 12 * * SUN"),
        ("0 12 * * 5-7", "0 12 * * SUN,FRI,SAT"),
        ("0 12 * * fri-mon", "0 12 * * SUN,MON,FRI,SAT"),
        ("0 12 * * */2", "0 12 * * SUN,TUE,THU,SAT"),
        ("0 12 1,15 jan *", "0 12 1,15 jan *"),
        ("cron(0 12 ? * MON-FRI *)", "0 12 * * MON,TUE,WED,THU,FRI"),
        ("cron(0 12 ? * 2-6 *)", "0 12 * * MON,TUE,WED,THU,FRI"),
        ("cron(0 12 ? * SAT-SUN *)", "0 12 * * SUN,SAT"),
        ("cron(0 12 ? * 7-1 *)", "0 12 * * SUN,SAT"),
        ("cron(0/15 8 1 * ? *)", "0-59/15 8 1 * *"),
        ("cron(5/10,40-50/5 2/3 ? * * *)", "5-59/10,40-50/5 2-23/3 * * *"),
    ],
)
def test_a_schedule_becomes_five_fields(schedule: str, fields: str) -> None:
    assert convert_to_five_fields(schedule) == fields


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("rate(7 minutes)", "60 minutes cannot be divided by 7"),
        ("rate(90 minutes)", "60 minutes cannot be divided by 90"),
        ("rate(5 hours)", "24 hours cannot be divided by 5"),
        ("rate(2 days)", "not evenly distributed"),
        ("cron(0 12 * * ? 2027)", "the year `2027`"),
        ("cron(0 12 L * ? *)", "`L`, `W` or `#`"),
        ("cron(0 12 ? * 6#3 *)", "`L`, `W` or `#`"),
        ("cron(0 12 ? * 5L *)", "`L`, `W` or `#`"),
    ],
)
def test_schedule_not_expressible_in_five_fields_is_refused(schedule: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        convert_to_five_fields(schedule)
