package enginetest

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"metascript/engine/packed"
)

// Pack returns a packed object with the content of a JSON-shaped map. It panics if that is impossible.
func Pack(m map[string]any) packed.Map {
	text, err := json.Marshal(exact(m))
	if err != nil {
		panic(err)
	}
	object, err := packed.Parse(text)
	if err != nil {
		panic(err)
	}
	return object
}

// packFields is a decoder for arguments whose fields are packed.
func packFields(text string) (map[string]any, error) {
	object, err := packed.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return maps.Collect(object.All()), nil
}

// exact returns a copy of v that JSON does not change: a float64 that is a whole number is written with a fraction.
func exact(v any) any {
	switch v := v.(type) {
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = exact(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = exact(value)
		}
		return m
	}
	return v
}
