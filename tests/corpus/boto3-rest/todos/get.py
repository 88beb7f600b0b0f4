from todos.table import reply, table


def get(event, context):
    found = table.get_item(Key={"id": event["pathParameters"]["id"]})
    return reply(200, found["Item"]) if "Item" in found else reply(404, {"error": "none"})
