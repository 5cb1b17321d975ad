package plan

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"metascript/controller/object"
)

// MaxAnnotations is the limit of the API server for all annotations of an object together, keys and values, in bytes.
const MaxAnnotations = 256 << 10

// A strategy is how a child is written.
type strategy int

const (
	dynamicApply    strategy = iota // what was applied is stored in an annotation
	serverSideApply                 // what was applied is in managedFields
	tooLarge                        // dynamic apply is configured, and the child is too large for the annotation
)

// sizeOf returns the size of annotations in bytes, as the API server counts it.
func sizeOf(annotations map[string]string) (size int) {
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	return size
}

// strategy returns how want is written.
func (p Policy) strategy(want *object.Object) (strategy, error) {
	if p.ServerSide {
		return serverSideApply, nil
	}
	if atMost(want.Map(), MaxAnnotations/2) <= MaxAnnotations/2 {
		return dynamicApply, nil // the annotations are counted twice: they are in the copy too
	}
	clean := withoutLastApplied(want)
	text, err := json.Marshal(clean.Map())
	if err != nil {
		return dynamicApply, fmt.Errorf("%s: %w", object.Describe(want), err)
	}
	if len(LastApplied)+len(text)+sizeOf(clean.GetAnnotations()) > MaxAnnotations {
		return tooLarge, nil
	}
	return dynamicApply, nil
}

// large returns the write for a child that is too large for dynamic apply: server-side apply. If Metacontroller takes the
// child over, it finds no annotation and tries to write one, which the API server refuses. With InPlace nothing changes
// then, but with the Recreate methods it has deleted the child before. So with these methods the child is an error.
func (p Policy) large(have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	op, suppressed, err = p.serverSide(have, want, method)
	if op == nil || op.Why == "" || err != nil || method != Recreate && method != RollingRecreate {
		return op, suppressed, err
	}
	return nil, nil, fmt.Errorf("%s cannot be written with method %s: its copy in the annotation %s, which dynamic apply keeps, would not fit into the %d KiB that the API server takes in annotations; set spec.applyStrategy: ServerSideApply, or method InPlace, or split it into several objects",
		object.Describe(want), method, LastApplied, MaxAnnotations>>10)
}

// atMost returns an upper bound of the length of v as JSON. It stops counting above limit.
func atMost(v any, limit int) int {
	const punctuation = 6 // quotes, colon, comma, and the brackets of what holds it
	size := punctuation
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if size += atMost(key, limit) + atMost(value, limit-size); size > limit {
				break
			}
		}
	case []any:
		for _, value := range v {
			if size += atMost(value, limit-size); size > limit {
				break
			}
		}
	case string:
		return size + quoted(v, limit)
	default:
		const number = 24 // or true, false, null
		return size + number
	}
	return size
}

// quoted returns an upper bound of the length of text as a JSON string, without the quotes.
func quoted(text string, limit int) int {
	if len(text) > limit {
		return len(text)
	}
	const escape = 6 // \u003c
	size := len(text)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			size += escape - 1
		}
	}
	return size
}
