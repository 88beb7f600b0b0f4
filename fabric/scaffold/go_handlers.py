"""Go programs of new functions by trigger, and their client of the Lambda Runtime API."""

from collections.abc import Mapping

from fabric.model.names import TriggerKind

_MAIN = """
func main() {
\tif err := serve(handle); err != nil {
\t\tlog.Fatal(err)
\t}
}
"""
GO_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: """\
package main

import (
\t"context"
\t"encoding/json"
\t"log"
)

type Event struct {
\tQueryStringParameters map[string]string `json:"queryStringParameters"`
}

type Response struct {
\tStatusCode int               `json:"statusCode"`
\tHeaders    map[string]string `json:"headers"`
\tBody       string            `json:"body"`
}

func handle(ctx context.Context, event Event) (any, error) {
\tname := event.QueryStringParameters["name"]
\tif name == "" {
\t\tname = "world"
\t}
\tbody, err := json.Marshal(map[string]string{"message": "Hello, " + name + "!"})
\tif err != nil {
\t\treturn nil, err
\t}
\treturn Response{200, map[string]string{"content-type": "application/json"}, string(body)}, nil
}
"""
    + _MAIN,
    TriggerKind.QUEUE: """\
package main

import (
\t"context"
\t"encoding/json"
\t"log"
)

type Event struct {
\tRecords []struct {
\t\tMessageID string `json:"messageId"`
\t\tBody      string `json:"body"`
\t}
}

type Failure struct {
\tItemIdentifier string `json:"itemIdentifier"`
}

type Response struct {
\tBatchItemFailures []Failure `json:"batchItemFailures"`
}

// Messages listed in the response are retried. All others are deleted from the queue.
func handle(ctx context.Context, event Event) (any, error) {
\tfailures := []Failure{}
\tfor _, record := range event.Records {
\t\tvar message any
\t\terr := json.Unmarshal([]byte(record.Body), &message)
\t\tif err == nil {
\t\t\terr = process(message)
\t\t}
\t\tif err != nil {
\t\t\tlog.Printf("message %s: %v", record.MessageID, err)
\t\t\tfailures = append(failures, Failure{record.MessageID})
\t\t}
\t}
\treturn Response{failures}, nil
}

func process(message any) error {
\tlog.Println("message:", message)
\treturn nil
}
"""
    + _MAIN,
    TriggerKind.CRON: """\
package main

import (
\t"context"
\t"log"
)

type Event struct {
\tTime string `json:"time"`
}

func handle(ctx context.Context, event Event) (any, error) {
\tlog.Println("due at", event.Time)
\treturn map[string]string{"dueAt": event.Time}, nil
}
"""
    + _MAIN,
    TriggerKind.STORAGE: """\
package main

import (
\t"context"
\t"log"
\t"net/url"
)

type Event struct {
\tRecords []struct {
\t\tStored struct {
\t\t\tBucket struct{ Name string }
\t\t\tObject struct{ Key string }
\t\t} `json:"objstore1"`
\t}
}

func handle(ctx context.Context, event Event) (any, error) {
\tobjects := []string{}
\tfor _, record := range event.Records {
\t\t// Keys are URL-encoded.
\t\tkey, err := url.QueryUnescape(record.Stored.Object.Key)
\t\tif err != nil {
\t\t\treturn nil, err
\t\t}
\t\tobjects = append(objects, record.Stored.Bucket.Name+"/"+key)
\t}
\tlog.Println("objects:", objects)
\treturn map[string][]string{"objects": objects}, nil
}
"""
    + _MAIN,
    TriggerKind.PUBSUB: """\
package main

import (
\t"context"
\t"encoding/json"
\t"log"
)

type Event struct {
\tRecords []struct {
\t\tSns struct {
\t\t\tMessage string
\t\t}
\t}
}

func handle(ctx context.Context, event Event) (any, error) {
\tvar message any
\tfor _, record := range event.Records {
\t\tif err := json.Unmarshal([]byte(record.Sns.Message), &message); err != nil {
\t\t\treturn nil, err
\t\t}
\t\tlog.Println("message:", message)
\t}
\treturn map[string]any{"received": message}, nil
}
"""
    + _MAIN,
    TriggerKind.EVENTBUS: """\
package main

import (
\t"context"
\t"log"
)

type Event struct {
\tSource     string `json:"source"`
\tDetailType string `json:"detail-type"`
\tDetail     any    `json:"detail"`
}

func handle(ctx context.Context, event Event) (any, error) {
\tlog.Println(event.Source, event.DetailType, event.Detail)
\treturn map[string]string{"received": event.DetailType}, nil
}
"""
    + _MAIN,
}
GO_CLIENT = """\
// A small client of the Lambda Runtime API, with the standard library only.
// The official one is github.com/aws/aws-lambda-go/lambda: its Start replaces serve.

package main

import (
\t"bytes"
\t"context"
\t"encoding/json"
\t"fmt"
\t"io"
\t"net/http"
\t"os"
\t"strconv"
\t"time"
)

// serve calls handle with each event, until the platform ends the process.
func serve[Event any](handle func(context.Context, Event) (any, error)) error {
\tapi := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
\tfor {
\t\tif err := serveNext(api, handle); err != nil {
\t\t\treturn err
\t\t}
\t}
}

func serveNext[Event any](api string, handle func(context.Context, Event) (any, error)) error {
\tnext, err := http.Get(api + "next")
\tif err != nil {
\t\treturn err
\t}
\tdefer next.Body.Close()
\ttext, err := io.ReadAll(next.Body)
\tif err != nil {
\t\treturn err
\t}
\tif next.StatusCode != http.StatusOK {
\t\treturn fmt.Errorf("the Lambda Runtime API returned %s", next.Status)
\t}
\tmilliseconds, _ := strconv.ParseInt(next.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64)
\tctx, cancel := context.WithDeadline(context.Background(), time.UnixMilli(milliseconds))
\tdefer cancel()
\tcall := api + next.Header.Get("Lambda-Runtime-Aws-Request-Id")
\tresponse, err := respond(ctx, text, handle)
\tif err != nil {
\t\treturn send(call+"/error", map[string]string{
\t\t\t"errorType": fmt.Sprintf("%T", err), "errorMessage": err.Error(),
\t\t})
\t}
\treturn send(call+"/response", json.RawMessage(response))
}

// respond returns the response as JSON. A panic becomes an error.
func respond[Event any](
\tctx context.Context, text []byte, handle func(context.Context, Event) (any, error),
) (response []byte, err error) {
\tdefer func() {
\t\tif cause := recover(); cause != nil {
\t\t\terr = fmt.Errorf("panic: %v", cause)
\t\t}
\t}()
\tvar event Event
\tif err := json.Unmarshal(text, &event); err != nil {
\t\treturn nil, err
\t}
\tvalue, err := handle(ctx, event)
\tif err != nil {
\t\treturn nil, err
\t}
\treturn json.Marshal(value)
}

func send(url string, document any) error {
\ttext, err := json.Marshal(document)
\tif err != nil {
\t\treturn err
\t}
\tsent, err := http.Post(url, "application/json", bytes.NewReader(text))
\tif err != nil {
\t\treturn err
\t}
\treturn sent.Body.Close()
}
"""
GO_TEST = """\
package main

import (
\t"context"
\t"encoding/json"
\t"os"
\t"reflect"
\t"testing"
)

func TestHandlesItsEvent(t *testing.T) {
\ttext, err := os.ReadFile("../../event.template.json")
\tif err != nil {
\t\tt.Fatal(err)
\t}
\tresponse, err := respond(context.Background(), text, handle)
\tif err != nil {
\t\tt.Fatal(err)
\t}
\tvar found, wanted map[string]any
\tjson.Unmarshal(response, &found)
\tjson.Unmarshal([]byte(`%s`), &wanted)
\tfor name, value := range wanted {
\t\tif !reflect.DeepEqual(found[name], value) {
\t\t\tt.Errorf("%%s is %%v, not %%v", name, found[name], value)
\t\t}
\t}
}
"""
