import json
import logging

from todos.table import reply, table


def create(event, context):
    data = json.loads(event["body"])
    if "text" not in data:
        logging.error("Validation Failed")
        raise Exception("Couldn't create the todo item.")
    item = {"id": data["id"], "text": data["text"], "checked": False, "rank": data.get("rank", 0)}
    table.put_item(Item=item)
    return reply(200, item)
