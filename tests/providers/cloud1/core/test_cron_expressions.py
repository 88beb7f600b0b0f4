"""Five fields of cron in the six of cloud1."""

import pytest

from fabric.providers.cloud1.core.cron_expressions import convert_cron_expression, is_bound_to


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ("rate(5 minutes)", "rate(5 minutes)"),
        ("cron(0 12 * * ? 2030)", "cron(0 12 * * ? 2030)"),
        ("*/5 * * * *", "cron(*/5 * * * ? *)"),
        ("0 12 1,15 * *", "cron(0 12 1,15 * ? *)"),
        ("0 12 * jan-mar *", "cron(0 12 * 1-3 ? *)"),
        ("0 12 * * 0", "cron(0 12 ? * SUN *)"),
        ("0 12 * * 7", "cron(0 12 ? * SUN *)"),
        ("0 12 * * mon-fri", "cron(0 12 ? * MON,TUE,WED,THU,FRI *)"),
        ("0 12 * * 5-7", "cron(0 12 ? * SUN,FRI,SAT *)"),
        ("0 12 * * fri-mon", "cron(0 12 ? * SUN,MON,FRI,SAT *)"),
        ("0 12 * * */2", "cron(0 12 ? * SUN,TUE,THU,SAT *)"),
        ("0 12 * * 1/3", "cron(0 12 ? * MON,THU *)"),
        ("0-30/10 8-18/5 * * *", "cron(0,10,20,30 8,13,18 * * ? *)"),
    ],
)
def test_a_schedule_means_the_same_at_cloud1(said: str, own: str) -> None:
    assert convert_cron_expression(said) == own


def test_day_of_month_and_day_of_week_cannot_be_combined() -> None:
    with pytest.raises(ValueError, match="cannot be combined"):
        convert_cron_expression("0 12 1 * mon")


@pytest.mark.parametrize(
    ("zone", "schedule", "is_bound"),
    [
        ("", "cron(0 12 * * ? *)", False),
        ("UTC", "cron(0 12 * * ? *)", False),
        ("Europe/Berlin", "cron(0 12 * * ? *)", True),
        ("Europe/Berlin", "rate(1 day)", False),
    ],
)
def test_a_time_zone_matters_to_times_of_a_day(zone: str, schedule: str, is_bound: bool) -> None:  # noqa: FBT001
    assert is_bound_to(zone, schedule) == is_bound
