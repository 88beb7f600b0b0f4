from apig_wsgi import make_lambda_handler

from notes import create_app

handler = make_lambda_handler(create_app())
