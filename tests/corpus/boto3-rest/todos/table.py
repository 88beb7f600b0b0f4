import decimal
import json
import os

import boto3

table = boto3.resource("dynamodb").Table(os.environ["TABLE"])


class DecimalEncoder(json.JSONEncoder):
    def default(self, value):
        return int(value) if isinstance(value, decimal.Decimal) else super().default(value)


def reply(status, value):
    return {"statusCode": status, "body": json.dumps(value, cls=DecimalEncoder)}
