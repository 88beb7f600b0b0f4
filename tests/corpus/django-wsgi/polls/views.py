import json

from django.core.management import call_command
from django.db import connection
from django.http import JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from .models import Question


def index(request):
    if "polls_question" not in connection.introspection.table_names():
        call_command("migrate", verbosity=0)
        Question.objects.create(text="Tea & milk?")
    return render(request, "polls/index.html", {"questions": Question.objects.all()})


@csrf_exempt
def vote(request, number):
    choice = json.loads(request.body)["choice"]
    return JsonResponse({"question": number, "choice": choice}, status=201)
