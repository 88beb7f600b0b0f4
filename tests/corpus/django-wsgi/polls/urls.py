from django.urls import path

from . import views

urlpatterns = [path("", views.index), path("<int:number>/vote", views.vote)]
