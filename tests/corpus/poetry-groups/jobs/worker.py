import importlib.util

from blinker import signal

done = signal("done")
SEEN = []


@done.connect
def note(order):
    SEEN.append(order)


def handler(event, context):
    done.send(event["order"])
    return {"seen": SEEN.pop(), "dev": importlib.util.find_spec("pluggy") is not None}
