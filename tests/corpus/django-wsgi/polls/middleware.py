class NameTheServer:
    def __init__(self, get_response):
        self._get_response = get_response

    def __call__(self, request):
        response = self._get_response(request)
        response["X-Site"] = "polls"
        return response
