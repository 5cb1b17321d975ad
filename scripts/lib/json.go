package lib

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxIndent is by how many blanks a level of JSON may be indented.
const maxIndent = 8

// encodeJSON writes a value as JSON with sorted keys.
func encodeJSON(c *call) (any, error) {
	indent := int64(0)
	if v := c.args[1]; v != nil {
		n, ok := whole(v)
		if !ok || n < 0 || n > maxIndent {
			return nil, c.errorf("indent is %v, want a whole number from 0 to %d", v, maxIndent)
		}
		indent = n
	}
	s := &c.sizes[0]
	length := s.bytes + s.escape + 24*s.nodes + (s.levels+s.nodes)*indent
	if err := c.meter.Hold(2*length, "the JSON text"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(length / 8); err != nil {
		return nil, err
	}
	return writeJSON(c.args[0], int(indent)), nil
}

// writeJSON writes v as JSON. Of a number without a fraction it writes none: 1.0 is 1.
func writeJSON(v any, indent int) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", strings.Repeat(" ", indent))
	if err := e.Encode(plain(v)); err != nil {
		panic(err) // a JSON-shaped value can be encoded: it has been measured
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain returns v with zero for minus zero, which differ as text and nowhere else.
func plain(v any) any {
	if f, ok := v.(float64); ok && f == 0 {
		return int64(0)
	}
	if hasMinusZero(v) {
		return rebuilt(v, plain)
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

// rebuilt returns a copy of v, a list or an object, with f of what is in it.
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

// decodeJSON reads one value.
func decodeJSON(c *call) (any, error) {
	text := c.text(0)
	if err := c.weighJSON(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, c.wrongJSON(text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, c.errorf("%s: there is more after the value", lineOf(text, d.InputOffset()))
	}
	return c.numbers(v)
}

// weighJSON refuses what is nested too deeply, or would be too large.
func (c *call) weighJSON(text string) error {
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
	if err := c.meter.Hold(int64(len(text))+100*values, "the decoded JSON"); err != nil {
		return err
	}
	return c.meter.Spend(int64(len(text))/4 + 4*values)
}

func (c *call) wrongJSON(text string, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return c.errorf("%s: %v", lineOf(text, syntax.Offset-1), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return c.errorf("%s: the text ends within a value", lineOf(text, int64(len(text))))
	}
	return c.errorf("%v", err)
}

// lineOf says where in a text the byte at offset is.
func lineOf(text string, offset int64) string {
	before := text[:min(max(offset, 0), int64(len(text)))]
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	return "line " + strconv.Itoa(strings.Count(before, "\n")+1) + ", column " + strconv.Itoa(column)
}

// numbers replaces JSON's numbers in v, in place: those of digits alone by int64, others by float64.
func (c *call) numbers(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		return c.number(x.String())
	case []any:
		for i := range x {
			if x[i], err = c.numbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range x {
			if x[key], err = c.numbers(x[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func (c *call) number(digits string) (any, error) {
	if !strings.ContainsAny(digits, ".eE") {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, c.tooLong(digits)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil, c.errorf("the number %s is too large", short(digits))
	}
	return f, nil
}

func (c *call) tooLong(digits string) *Error {
	err := c.errorf("the whole number %s is beyond 64 bits", short(digits))
	err.Hint = "have it as a string"
	return err
}

// whole returns a number without a fraction as an int64.
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

// short is at most a few words of a text, for messages.
func short(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
