package plan

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"metascript/controller/object"
)

// MaxAnnotations is how many bytes the API server takes in all annotations of an object together, keys and values.
const MaxAnnotations = 256 << 10

// A strategy is how a child is written.
type strategy int

const (
	dynamicApply    strategy = iota // what was applied is remembered in an annotation as a whole
	serverSideApply                 // the API server remembers it
	tooLarge                        // dynamic apply is asked for, and the annotation cannot hold the child
)

// sizeOf is how many bytes the API server counts in annotations.
func sizeOf(annotations map[string]string) (size int) {
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	return size
}

// strategy is how want is to be written.
func (p Policy) strategy(want *object.Object) (strategy, error) {
	if p.ServerSide {
		return serverSideApply, nil
	}
	if atMost(want.Object, MaxAnnotations/2) <= MaxAnnotations/2 {
		return dynamicApply, nil // with its annotations, which are in the copy too
	}
	clean := withoutLastApplied(want)
	text, err := json.Marshal(clean.Object)
	if err != nil {
		return dynamicApply, fmt.Errorf("%s: %w", object.Describe(want), err)
	}
	if len(LastApplied)+len(text)+sizeOf(clean.GetAnnotations()) > MaxAnnotations {
		return tooLarge, nil
	}
	return dynamicApply, nil
}

// large gives the write for a child that dynamic apply cannot remember: server-side apply, which has the
// API server know our fields. Metacontroller, if it takes the child over, finds no annotation and tries to write one, which
// is refused: with InPlace nothing changes, but with the Recreate methods it has deleted the child by then. So they do not
// write one.
func (p Policy) large(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	op, left, err := p.serverSide(have, want, method)
	if op == nil || err != nil || method != Recreate && method != RollingRecreate {
		return op, left, err
	}
	return nil, nil, fmt.Errorf("%s cannot be written with method %s: its copy in the annotation %s, which dynamic apply keeps, would not fit into the %d KiB that the API server takes in annotations; set spec.applyStrategy: ServerSideApply, or method InPlace, or split it into several objects",
		object.Describe(want), method, LastApplied, MaxAnnotations>>10)
}

// atMost is a bound for how long v is as JSON. It stops counting behind limit.
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

// quoted is a bound for how long text is within quotes.
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
