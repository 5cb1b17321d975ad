package inspection

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"metascript/controller/history"
	"metascript/controller/inspect"
)

func TestWatchSaysWhyNothingIsShown(t *testing.T) {
	standby := &inspect.Problem{Status: http.StatusServiceUnavailable, Standby: true, Message: "no server leads"}
	busy := &inspect.Problem{Status: http.StatusTooManyRequests, Message: "too many requests"}
	entry := history.Entry{Time: time.Now(), Reasons: []string{"parent"}}
	responses := []any{standby, standby, busy, &inspect.Why{Controllers: []inspect.Controller{{Name: "c", Entries: []history.Entry{entry}}}}, standby}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(responses) == 0 {
			cancel()
			return
		}
		if problem, is := responses[0].(*inspect.Problem); is {
			w.WriteHeader(problem.Status)
		}
		_ = json.NewEncoder(w).Encode(responses[0])
		responses = responses[1:]
	}))
	defer server.Close()
	var got []string
	say := func(text string) { got = append(got, text) }
	client := &Client{flags: &Flags{Server: server.URL}, http: server.Client(), base: server.URL}
	if err := watchWhy(ctx, client, nil, time.Millisecond, Timeline{Print: say}, map[string]time.Time{}, say); err != nil {
		t.Fatal(err)
	}
	again := " (asked again every 1ms)"
	want := []string{"no server leads" + again, "too many requests" + again, "parent, took", "no server leads" + again}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("got %q, want %q", got, want)
	}
}
