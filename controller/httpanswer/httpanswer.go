// Package httpanswer reads the HTTP responses that functions return to the hosts which call them, such as {status: 200, body: {...}}.
// Each host has its own form; see [Read].
package httpanswer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/engine"
)

// The fields of a response. Other answers have a status too.
const (
	fieldStatus  = "status"
	fieldCode    = "statusCode"
	fieldBody    = "body"
	fieldHeaders = "headers"
	fieldValues  = "multiValueHeaders"
	fieldBase64  = "isBase64Encoded"
)

// Fields returns the fields that an answer has of a response, without its status; none if it is no response.
func Fields(answer map[string]any) (found []string) {
	for _, field := range []string{fieldBody, fieldCode, fieldHeaders, fieldValues, fieldBase64} {
		if _, ok := answer[field]; ok {
			found = append(found, field)
		}
	}
	return found
}

// A Response is an answer that is a response.
type Response struct {
	Code int64
	Node bool // it has the form of Metacontroller's server for Node.js

	answer map[string]any
}

// Read reads a response, which has one of these forms:
//
//   - {status, body, headers}, where the status is a number: that of Metacontroller's server for Node.js, of Fission and of OpenFaaS
//   - {statusCode, body, headers, multiValueHeaders, isBase64Encoded}: that of Lambda and of hosts that are like it
//   - {body}, {headers, body}: the status is 200
//
// ok is false if the answer is no response, or its status is no number.
func Read(answer map[string]any) (r Response, ok bool) {
	r = Response{Code: 200, answer: answer}
	for _, field := range []string{fieldStatus, fieldCode} {
		if answer[field] != nil {
			r.Code, ok = Number(answer[field])
			r.Node = ok && field == fieldStatus
			return r, ok
		}
	}
	return r, len(Fields(answer)) > 0
}

// Number reads a status, which Node.js accepts as a text too.
func Number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case string:
		code, err := strconv.ParseInt(n, 10, 64)
		return code, err == nil
	}
	return 0, false
}

// Header returns a header, or the first one if there are several of this name; "" if there is none.
func (r Response) Header(name string) string {
	for _, field := range []string{fieldHeaders, fieldValues} {
		headers, _ := r.answer[field].(map[string]any)
		for key, value := range headers {
			if values, _ := value.([]any); len(values) > 0 {
				value = values[0]
			}
			if strings.EqualFold(key, name) {
				return fmt.Sprint(value)
			}
		}
	}
	return ""
}

// Text returns the beginning of the body, for an error.
func (r Response) Text() string {
	text, ok := r.answer[fieldBody].(string)
	if !ok {
		data, _ := json.Marshal(r.answer[fieldBody])
		text = string(data)
	}
	return engine.Clip(text, 1<<10)
}

// Body returns the body. A text is decoded: it is JSON, in base64 if the response says so.
func (r Response) Body() (any, error) {
	content, err := r.Content()
	if err != nil {
		return nil, err
	}
	body := r.answer[fieldBody]
	if content == nil {
		return body, nil
	}
	if err := utiljson.Unmarshal(content, &body); err != nil {
		return nil, fmt.Errorf("the body that the script answered is not JSON: %w", err)
	}
	return body, nil
}

// Content returns the text of the body; nil if it is a value.
func (r Response) Content() ([]byte, error) {
	text, isText := r.answer[fieldBody].(string)
	switch {
	case !isText:
		return nil, nil
	case r.answer[fieldBase64] != true:
		return []byte(text), nil
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the body that the script answered is not in base64, although isBase64Encoded is true: %w", err)
	}
	return content, nil
}
