package lib

import (
	"math"
	"unicode/utf8"
)

// A size says how much there is to a value.
type size struct {
	nodes  int64 // values, all nested ones included
	bytes  int64 // of strings and keys
	escape int64 // bytes that JSON adds to those of them which it escapes
	lines  int64 // ends of lines in strings, each as often as it is nested deep
	levels int64 // the nodes, each as often as it is nested deep
}

// held is about how many bytes the value takes in memory.
func (s *size) held() int64 { return s.bytes + 100*s.nodes }

// spendEvery is how many nodes are gone through between two looks at the meter.
const spendEvery = 1024

// bytesPerStep is how much text is gone through in a step.
const bytesPerStep = 64

// measure adds v, and refuses what is nested too deeply or is no text in UTF-8.
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
			s.escape += 5 // \u0001
		case b >= utf8.RuneSelf:
			s.escape += 2 // \u2028 of three, \U0001f600 of four
		}
	}
	return nil
}
