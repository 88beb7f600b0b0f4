from flask import Flask, Response, request

app = Flask(__name__)


@app.route("/", defaults={"path": ""})
@app.route("/<path:path>", methods=["GET", "POST"])
def catch_all(path):
    if request.method == "POST":
        return {"form": request.form.to_dict(), "path": path}
    return Response(f"<h1>/{path}?{request.query_string.decode()}</h1>", mimetype="text/html")
