from itsdangerous import Signer


def handler(event, context):
    return {"signed": Signer("key").unsign(Signer("key").sign(event["text"])).decode()}
