package enginetest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// decodeObject decodes a JSON object to a JSON-shaped value: a number that consists of digits is an int64, any other a float64.
func decodeObject(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more text after the object")
	}
	v, err := numbers(m)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// numbers replaces each json.Number in v, in place.
func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = numbers(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
