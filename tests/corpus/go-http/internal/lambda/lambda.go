// Package lambda calls a handler for each event of the Runtime API.
package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

// Request is the part of an HTTP event that handlers use.
type Request struct {
	PathParameters map[string]string `json:"pathParameters"`
}

// Serve calls the handler until the environment ends.
func Serve(handle func(Request) (any, error)) {
	base := fmt.Sprintf("http://%s/2018-06-01/runtime/invocation/", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
	for {
		id, event, err := next(base)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer, err := handle(event)
		path, content := "/response", answer
		if err != nil {
			path, content = "/error", map[string]string{"errorMessage": err.Error(), "errorType": "Error"}
		}
		body, _ := json.Marshal(content)
		sent, err := http.Post(base+id+path, "application/json", bytes.NewReader(body))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		sent.Body.Close()
	}
}

func next(base string) (string, Request, error) {
	var event Request
	received, err := http.Get(base + "next")
	if err != nil {
		return "", event, err
	}
	defer received.Body.Close()
	err = json.NewDecoder(received.Body).Decode(&event)
	return received.Header.Get("Lambda-Runtime-Aws-Request-Id"), event, err
}
