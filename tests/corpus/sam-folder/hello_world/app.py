import json

import greetings


def lambda_handler(event, context):
    name = (event.get("queryStringParameters") or {}).get("name", "world")
    return {"statusCode": 200, "body": json.dumps({"message": greetings.greet(name)})}
