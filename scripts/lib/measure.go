package lib

import (
	"math"
	"unicode/utf8"
)

// A size is the size of a value. It is sufficient to estimate the size of its JSON or YAML.
type size struct {
	nodes  int64 // the number of values, with all nested ones
	bytes  int64 // of strings and keys
	escape int64 // bytes that escape sequences add in JSON
	lines  int64 // the number of newlines in strings, each multiplied by its depth of nesting plus 1
	levels int64 // the sum of the depths of nesting of all values
}

// memory returns about how many bytes of memory the value needs.
func (s *size) memory() int64 { return s.bytes + 100*s.nodes }

// spendEvery is the number of values after which Meter.Spend is called again.
const spendEvery = 1024

// bytesPerStep is how many bytes of text are read in one step.
const bytesPerStep = 64

// measure adds the size of v, which is nested depth levels deep, to s. It returns an error if v is nested too deeply, or has a
// string that is not UTF-8 or a number that JSON does not have.
func (c *call) measure(s *size, v any, depth int) error {
	if depth > MaxDepth {
		return c.errorf("a value is nested deeper than %d levels", MaxDepth)
	}
	s.nodes++
	s.levels += int64(depth)
	if s.nodes%spendEvery == 1 {
		if err := c.meter.Spend(spendEvery); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case string:
		return c.measureText(s, v, depth)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return c.errorf("a value is %v, which JSON does not have", v)
		}
	case []any:
		for _, element := range v {
			if err := c.measure(s, element, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, field := range v {
			if err := c.measureText(s, key, depth); err != nil {
				return err
			}
			if err := c.measure(s, field, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureText adds the size of a string or key to s.
func (c *call) measureText(s *size, text string, depth int) error {
	s.bytes += int64(len(text))
	if len(text) >= bytesPerStep {
		if err := c.meter.Spend(int64(len(text)) / bytesPerStep); err != nil {
			return err
		}
	}
	if !utf8.ValidString(text) {
		return c.errorf("a string is not UTF-8")
	}
	for i := range len(text) {
		switch b := text[i]; {
		case b == '\n':
			s.escape++
			s.lines += int64(depth) + 1
		case b == '"' || b == '\\':
			s.escape++
		case b < ' ' || b == 0x7f:
			s.escape += 5 // one byte becomes \u0001
		case b >= utf8.RuneSelf:
			s.escape += 2 // three bytes become \u2028, four become \U0001f600
		}
	}
	return nil
}
