"""Kusto queries for Log Analytics. No effects."""

from fabric.providers.core.observing import ObservedService

# What the deploy command may say besides: the app that functions are in.
_APP = "functionApp"


def build_log_query(service: ObservedService, text: str, most: int) -> str:
    """Query the newest log lines and exceptions."""
    like = f" | where Message contains_cs {_quote_literal(text)}" if text else ""
    return (
        "union AppTraces, (AppExceptions | extend Message = strcat(ExceptionType, ': ', "
        f"OuterMessage)){_build_filter(service)}"
        " | extend Category = tostring(Properties.Category)"
        f"{like} | top {most} by TimeGenerated desc"
        " | project TimeGenerated, OperationName, OperationId, Message, SeverityLevel, Category, "
        "_ItemId"
    )


def build_count_query(service: ObservedService) -> str:
    return (
        f"AppRequests{_build_filter(service)} | summarize Calls = sum(ItemCount), "
        "Errors = sumif(ItemCount, Success == false), P50 = percentile(DurationMs, 50), "
        "P95 = percentile(DurationMs, 95) by OperationName"
    )


def build_interval_query(service: ObservedService, seconds: int) -> str:
    return (
        f"AppRequests{_build_filter(service)} | summarize Calls = sum(ItemCount) "
        f"by OperationName, bin(TimeGenerated, {seconds}s)"
    )


def build_request_query(service: ObservedService) -> str:
    return (
        f"union AppRequests, AppDependencies{_build_filter(service)}"
        " | project TimeGenerated, OperationName, OperationId, Id, ParentId, Name, DurationMs, "
        "Success | order by TimeGenerated asc"
    )


def _build_filter(service: ObservedService) -> str:
    names = ", ".join(_quote_literal(one.name) for one in service.functions)
    record = service.address.previous
    app = dict(record.outputs).get(_APP, "") if record else ""
    role = f" | where AppRoleName =~ {_quote_literal(app)}" if app else ""
    return f"{role} | where OperationName in~ ({names})"


def _quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
