package httpanswer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		answer string
		ok     bool
		code   int64
		node   bool
	}{
		{`{status: 200, body: {}}`, true, 200, true},
		{`{status: "404"}`, true, 404, true},
		{`{status: 500, statusCode: 200, body: {}}`, true, 500, true},
		{`{status: null, statusCode: 201, body: {}}`, true, 201, false},
		{`{statusCode: "200", body: {}}`, true, 200, false},
		{`{body: {}}`, true, 200, false},
		{`{headers: {}}`, true, 200, false},
		{`{status: {a: 1}, body: {}}`, false, 0, false},
		{`{status: OK, statusCode: 200, body: {}}`, false, 0, false},
		{`{statusCode: true}`, false, 0, false},
		{`{children: []}`, false, 200, false},
		{`{}`, false, 200, false},
	} {
		r, ok := Read(objecttest.Parse(t, c.answer))
		if ok != c.ok || r.Code != c.code || r.Node != c.node {
			t.Errorf("%s: response %t with status %d, of Node.js %t, want %t, %d, %t", c.answer, ok, r.Code, r.Node, c.ok, c.code, c.node)
		}
	}
}

func TestFields(t *testing.T) {
	for answer, want := range map[string][]string{
		`{isBase64Encoded: false, headers: {}, body: null, statusCode: 200, status: 200}`: {"body", "statusCode", "headers", "isBase64Encoded"},
		`{status: 200, children: []}`: nil,
	} {
		if diff := cmp.Diff(want, Fields(objecttest.Parse(t, answer))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
	}
}

func TestHeader(t *testing.T) {
	for answer, want := range map[string]string{
		`{headers: {retry-after: 5}}`:                                          "5",
		`{headers: {Retry-After: ["5", "6"]}}`:                                 "5",
		`{headers: {a: b}, multiValueHeaders: {Retry-After: ["7"]}}`:           "7",
		`{headers: {Retry-After: "5"}, multiValueHeaders: {Retry-After: [6]}}`: "5",
		`{headers: text}`: "",
		`{}`:              "",
	} {
		r := Response{answer: objecttest.Parse(t, answer)}
		if got := r.Header("Retry-After"); got != want {
			t.Errorf("%s: got %q, want %q", answer, got, want)
		}
	}
}

func TestBody(t *testing.T) {
	big := map[string]any{"a": int64(9007199254740993)}
	for answer, want := range map[string]any{
		`{body: {a: 9007199254740993}}`:                                   big,
		`{body: '{"a": 9007199254740993}'}`:                               big,
		`{body: eyJhIjo5MDA3MTk5MjU0NzQwOTkzfQ==, isBase64Encoded: true}`: big,
		`{body: "null"}`: nil,
		`{}`:             nil,
	} {
		got, err := (Response{answer: objecttest.Parse(t, answer)}).Body()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", answer, err, diff)
		}
	}
	for _, answer := range []string{`{body: ""}`, `{body: "<html>"}`, `{body: "{}", isBase64Encoded: true}`} {
		if got, err := (Response{answer: objecttest.Parse(t, answer)}).Body(); err == nil || got != nil {
			t.Errorf("%s: %v, error %v", answer, got, err)
		}
	}
}
