package memapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"

	"metascript/controller/object"
)

// A call is a request that waits for its answer.
type call struct {
	request *http.Request
	body    []byte
	at      time.Time // when it arrived
	answer  chan *http.Response
}

func newCall(r *http.Request) (*call, error) {
	c := &call{request: r, at: time.Now(), answer: make(chan *http.Response, 1)}
	if r.Body == nil {
		return c, nil
	}
	defer r.Body.Close()
	var err error
	c.body, err = io.ReadAll(r.Body)
	return c, err
}

// compare orders calls by the time when they arrived; those that arrived at the same time by their texts.
func compare(a, b *call) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.request.Method, b.request.Method), cmp.Compare(a.request.URL.String(), b.request.URL.String()),
		bytes.Compare(a.body, b.body))
}

// calls answers calls, one at a time. While there are none, no goroutine runs.
type calls struct {
	serve func(*call) *http.Response

	mu      sync.Mutex // guards the fields below
	waiting []*call
	running bool
}

func (c *calls) add(one *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, one)
	if !c.running {
		c.running = true
		go c.run()
	}
}

// run answers the calls until none waits. Before each it waits for those that the previous answer causes.
func (c *calls) run() {
	for {
		time.Sleep(Latency)
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		slices.SortStableFunc(c.waiting, compare)
		next := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		c.mu.Unlock()
		if next.request.Context().Err() == nil {
			answer := c.serve(next)
			time.Sleep(Latency) // a client sees the answer after its watches have seen the change
			next.answer <- answer
		}
	}
}

// success returns an answer with an object. Clients that ask for protobuf accept JSON too.
func success(c *call, code int, answer any, warnings []string) *http.Response {
	text, err := json.Marshal(answer)
	if err != nil {
		return failure(c, err, warnings)
	}
	return response(c, code, io.NopCloser(bytes.NewReader(text)), warnings)
}

// failure returns an answer with the Status of an error.
func failure(c *call, err error, warnings []string) *http.Response {
	if err == errNoPage {
		r := response(c, http.StatusNotFound, io.NopCloser(strings.NewReader(err.Error()+"\n")), nil)
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
		return r
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	text, _ := json.Marshal(status) // it has only texts and numbers
	return response(c, int(status.Code), io.NopCloser(bytes.NewReader(text)), warnings)
}

func response(c *call, code int, body io.ReadCloser, warnings []string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	for _, text := range warnings {
		if value, err := net.NewWarningHeader(299, "-", text); err == nil {
			header.Add("Warning", value)
		}
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: -1, Request: c.request,
	}
}

// outline returns answer, or its metadata if the client asks only for them.
func (r *request) outline(answer any) any {
	if !strings.Contains(r.header.Get("Accept"), "as=PartialObjectMetadata") {
		return answer
	}
	switch o := answer.(type) {
	case *object.Object:
		if o.GetKind() != "Status" {
			return outlineOf(o)
		}
	case *list:
		var outlines []any
		for _, item := range o.Items {
			outlines = append(outlines, outlineOf(item.(*object.Object)))
		}
		return &list{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: o.ListMeta, Items: outlines}
	}
	return answer
}

func outlineOf(o *object.Object) *object.Object {
	return object.New(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Map()["metadata"]})
}

// A list is a list of objects.
type list struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []any `json:"items"`
}
