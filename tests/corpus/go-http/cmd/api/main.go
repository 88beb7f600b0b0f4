package main

import (
	"encoding/json"
	"net/http"

	"example.com/words/internal/lambda"
	"example.com/words/internal/words"
)

type response struct {
	StatusCode int               `json:"statusCode"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
}

func main() {
	lambda.Serve(func(event lambda.Request) (any, error) {
		text, err := words.Find(event.PathParameters["name"])
		if err != nil {
			return response{StatusCode: http.StatusNotFound, Body: err.Error()}, nil
		}
		body, err := json.Marshal(map[string]string{"text": text})
		headers := map[string]string{"content-type": "application/json"}
		return response{http.StatusOK, headers, string(body)}, err
	})
}
