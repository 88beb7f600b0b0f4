"""Reservations from the queue; those that cannot be met are handed back."""

from inventory.shelves import take
from pyshared.records import messages


def handler(event, context):
    failed = [
        message_id
        for message_id, order in messages(event)
        if not take(order["product"], order["quantity"])
    ]
    return {"batchItemFailures": [{"itemIdentifier": item} for item in failed]}
