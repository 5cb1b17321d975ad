package lib

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"metascript/engine/jsonescapes"
)

// maxIndent is the maximum number of spaces by which each level of JSON is indented.
const maxIndent = 8

// encodeJSON returns a value as JSON with sorted keys.
func encodeJSON(c *call) (any, error) {
	indent, err := c.whole(1, 0, 0, maxIndent)
	if err != nil {
		return nil, err
	}
	s := &c.sizes[0]
	length := s.bytes + s.escape + 24*s.nodes + (s.levels+s.nodes)*indent
	if err := c.meter.CheckSize(2*length, "the JSON text"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(length / 8); err != nil {
		return nil, err
	}
	return writeJSON(c.args[0], int(indent)), nil
}

// writeJSON returns v as JSON. A number without a fraction is written as an integer: 1.0 as 1.
func writeJSON(v any, indent int) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", strings.Repeat(" ", indent))
	if err := e.Encode(withoutMinusZero(v)); err != nil {
		panic(err) // measure has checked that the value is JSON-shaped
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withoutMinusZero returns v with 0 in the place of -0. They are equal, but their texts differ.
func withoutMinusZero(v any) any {
	if f, ok := v.(float64); ok && f == 0 {
		return int64(0)
	}
	if hasMinusZero(v) {
		return rebuilt(v, withoutMinusZero)
	}
	return v
}

func hasMinusZero(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == 0 && math.Signbit(v)
	case []any:
		for _, element := range v {
			if hasMinusZero(element) {
				return true
			}
		}
	case map[string]any:
		for _, field := range v {
			if hasMinusZero(field) {
				return true
			}
		}
	}
	return false
}

// rebuilt returns a copy of v, a list or an object, in which each element or field is replaced by the result of f for it.
func rebuilt(v any, f func(any) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = f(element)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, field := range v {
			out[key] = f(field)
		}
		return out
	}
	return v
}

// decodeJSON returns the value of a JSON text. It refuses half of a surrogate pair, which is no character.
func decodeJSON(c *call) (any, error) {
	v, err := readJSON(c)
	if at := jsonescapes.Lone(c.text(0)); err == nil && at >= 0 {
		return nil, c.errorf("%s: half of a surrogate pair, for example \\ud83d without \\ude00", lineOf(c.text(0), int64(at)))
	}
	return v, err
}

// readJSON returns the value of a JSON text, with U+FFFD in the place of half of a surrogate pair.
func readJSON(c *call) (any, error) {
	text := c.text(0)
	if err := c.checkJSON(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, c.jsonError(text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, c.errorf("%s: there is more after the value", lineOf(text, d.InputOffset()))
	}
	if v, err := numbers(v); err == nil {
		return v, nil
	}
	return nil, c.outOfRange(text)
}

// checkJSON returns an error if a JSON text is nested too deeply, or if its value would be too large. It counts the steps of
// decoding.
func (c *call) checkJSON(text string) error {
	depth, values, quoted := 0, int64(1), false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			values += 2
			if depth++; depth > MaxDepth {
				return c.errorf("%s: nested deeper than %d levels", lineOf(text, int64(i)), MaxDepth)
			}
		case b == ']' || b == '}':
			depth--
		case b == ',':
			values++
		}
	}
	if err := c.meter.CheckSize(int64(len(text))+100*values, "the decoded JSON"); err != nil {
		return err
	}
	return c.meter.Spend(int64(len(text))/4 + 4*values)
}

// jsonError adds the position to an error of the decoder.
func (c *call) jsonError(text string, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return c.errorf("%s: %v", lineOf(text, syntax.Offset-1), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return c.errorf("%s: the text ends within a value", lineOf(text, int64(len(text))))
	}
	return c.errorf("%v", err)
}

// lineOf returns the line and the column of the byte at offset, for errors.
func lineOf(text string, offset int64) string {
	before := text[:min(max(offset, 0), int64(len(text)))]
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	return "line " + strconv.Itoa(strings.Count(before, "\n")+1) + ", column " + strconv.Itoa(column)
}

// numbers replaces each json.Number in v, in place: one that consists of digits by an int64, any other by a float64.
func numbers(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		return number(x.String())
	case []any:
		for i := range x {
			if x[i], err = numbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range x {
			if x[key], err = numbers(x[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// number returns the value of a number in JSON. The error is one of package strconv.
func number(digits string) (any, error) {
	if strings.ContainsAny(digits, ".eE") {
		return strconv.ParseFloat(digits, 64)
	}
	return strconv.ParseInt(digits, 10, 64)
}

// outOfRange returns the error about the first number in a JSON text that has no value.
func (c *call) outOfRange(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return c.jsonError(text, err)
		}
		digits, ok := token.(json.Number)
		if !ok {
			continue
		}
		if _, err := number(digits.String()); err == nil {
			continue
		}
		at := lineOf(text, d.InputOffset()-int64(len(digits)))
		if strings.ContainsAny(digits.String(), ".eE") {
			return c.errorf("%s: the number %s is too large", at, short(digits.String()))
		}
		return c.tooLong(at, digits.String())
	}
}

// tooLong returns the error about an integer that does not fit into 64 bits, at a place in the text.
func (c *call) tooLong(at, digits string) *Error {
	err := c.errorf("%s: the whole number %s is beyond 64 bits", at, short(digits))
	err.Hint = "have it as a string"
	return err
}

// whole returns a number as an int64. It returns false if v has a fraction, is too large, or is not a number.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// short returns the beginning of a text that is too long for a message.
func short(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
