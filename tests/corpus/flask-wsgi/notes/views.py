import os

from flask import Blueprint, abort, jsonify, render_template, request, send_file, url_for

from .store import Store

pages = Blueprint("pages", __name__)
store = Store({1: "milk & bread"})


@pages.get("/")
def index():
    return render_template("index.html", title=os.environ["TITLE"], notes=store.all())


@pages.get("/notes/<int:number>")
def show(number):
    note = store.get(number) or abort(404)
    return jsonify(note=note, link=url_for("pages.show", number=number))


@pages.post("/notes")
def add():
    number = store.add(request.get_json()["text"])
    return {"number": number}, 201, {"Location": url_for("pages.show", number=number)}


@pages.get("/dot.gif")
def dot():
    import io

    return send_file(io.BytesIO(b"GIF89a\x01\x00\xff"), mimetype="image/gif")
