from core import price


def handler(event, context):
    return {"price": price(event["count"])}
