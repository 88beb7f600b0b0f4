"""An application made by a factory, with its pages in a blueprint."""

from flask import Flask

from .views import pages


def create_app() -> Flask:
    app = Flask(__name__)
    app.config.from_prefixed_env()
    app.register_blueprint(pages)
    return app
