package hook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"metascript/engine"
)

// The fields of an HTTP response that a function returns to the host that calls it.
const (
	fieldBody    = "body"
	fieldCode    = "statusCode"
	fieldHeaders = "headers"
	fieldValues  = "multiValueHeaders"
	fieldBase64  = "isBase64Encoded"
)

// httpFields returns the fields of an HTTP response in an answer without a list of its shape; none if it has the list. A status is not
// one of them, since other answers have it too.
func httpFields(answer map[string]any, shape Shape) (found []string) {
	if answer[shape.list()] != nil {
		return nil
	}
	for _, field := range []string{fieldBody, fieldCode, fieldHeaders, fieldValues, fieldBase64} {
		if _, ok := answer[field]; ok {
			found = append(found, field)
		}
	}
	return found
}

// unwrap returns the body of the HTTP response that a function returned, if it was written as an HTTP handler:
//
//   - {status, body, headers}, where the status is a number. Metacontroller's server for Node.js has this form.
//   - The same with statusCode, or with none of both, which means 200. Other hosts have these forms, and Metacontroller does not. So
//     listed is true: if the body has no children, it is not known that none are meant.
//
// Another answer is returned unchanged.
func (s *Script) unwrap(answer map[string]any, shape Shape, now time.Time) (body map[string]any, listed bool, err error) {
	_, ofNode := number(answer[fieldStatus])
	code, ok := codeOf(answer)
	if !ofNode && (!ok || len(httpFields(answer, shape)) == 0) {
		return answer, false, nil
	}
	switch code {
	case http.StatusOK:
		if body, err = bodyObject(answer); err != nil {
			err = s.resultError(answer, err)
		}
	case http.StatusTooManyRequests:
		err = retryAfter(header(answer, "Retry-After"), now)
	default:
		err = &engine.Error{Kind: engine.KindRaised, Func: s.Function, Msg: fmt.Sprintf("the script answered with status %d: %s", code, bodyText(answer[fieldBody]))}
	}
	return body, !ofNode, err
}

// codeOf returns the status code of an HTTP response. It is 200 if the response has none, and ok is false if it is not a number.
func codeOf(answer map[string]any) (code int64, ok bool) {
	for _, field := range []string{fieldStatus, fieldCode} {
		if answer[field] != nil {
			return number(answer[field])
		}
	}
	return 200, true
}

// number reads a status code, which Node.js accepts as a text too.
func number(v any) (int64, bool) {
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

// header returns a header of an HTTP response, or the first one if there are several of this name.
func header(answer map[string]any, name string) string {
	for _, field := range []string{fieldHeaders, fieldValues} {
		headers, _ := answer[field].(map[string]any)
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

func bodyText(body any) string {
	text, ok := body.(string)
	if !ok {
		data, _ := json.Marshal(body)
		text = string(data)
	}
	return engine.Clip(text, 1<<10)
}

// bodyObject returns the body of an HTTP response: an object, JSON text, or JSON text in base64.
func bodyObject(answer map[string]any) (map[string]any, error) {
	switch b := answer[fieldBody].(type) {
	case map[string]any:
		return b, nil
	case string:
		text := []byte(b)
		if answer[fieldBase64] == true {
			var err error
			if text, err = base64.StdEncoding.DecodeString(b); err != nil {
				return nil, fmt.Errorf("the body that the script answered is not base64, which isBase64Encoded says: %w", err)
			}
		}
		body, err := decodeJSON(text)
		if err != nil {
			return nil, fmt.Errorf("the body that the script answered is not a JSON object: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("the body that the script answered is %s, want an object or JSON text", typeName(answer[fieldBody]))
}
