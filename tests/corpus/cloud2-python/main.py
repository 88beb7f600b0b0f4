import flask
from markupsafe import escape

from lib.counting import words_of


def count_words(request: flask.Request):
    if request.method == "OPTIONS":
        return "", 204, {"Access-Control-Allow-Origin": "*"}
    text = (request.get_json(silent=True) or {}).get("text") or request.args.get("text", "")
    if not text:
        flask.abort(400, "no text")
    if request.headers.get("Accept") == "text/html":
        return f"<b>{escape(text)}</b>"
    return flask.jsonify(words=words_of(text))


def on_stored(cloud_event):
    data = cloud_event.data
    print(f"{cloud_event['type']}: {data['name']}")
    return f"{data['bucket']}/{data['name']}"
