"""The one table of handlers, requests and answers."""

from tests.support.http_answer_cases import ANSWER_CASES
from tests.support.http_request_cases import REQUEST_CASES

HTTP_CASES = (*REQUEST_CASES, *ANSWER_CASES)
