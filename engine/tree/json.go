package tree

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// AppendJSON appends the JSON text of a JSON-shaped value, in whichever form, to dst. The text is that of json.Marshal for the same maps
// and slices. It returns an error for values that JSON does not have, and for other types.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case string:
		return AppendText(dst, v), nil
	case map[string]any:
		return appendGoMap(dst, v)
	case []any:
		return appendArray(dst, GoSlice(v))
	case GoMap:
		return appendGoMap(dst, v)
	case Map:
		return appendMap(dst, v)
	case Array:
		return appendArray(dst, v)
	}
	return nil, fmt.Errorf("a value of type %T is not JSON-shaped", v)
}

func appendGoMap(dst []byte, m map[string]any) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	var err error
	dst = append(dst, '{')
	var space [fewKeys]string
	for i, key := range sortedKeys(m, space[:0]) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendText(dst, key), ':')
		if dst, err = AppendJSON(dst, m[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendMap(dst []byte, m Map) ([]byte, error) {
	var err error
	first := true
	dst = append(dst, '{')
	for key, v := range m.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendText(dst, key), ':')
		if dst, err = AppendJSON(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendArray(dst []byte, a Array) ([]byte, error) {
	if slice, ok := a.(GoSlice); ok && slice == nil {
		return append(dst, "null"...), nil
	}
	var err error
	dst = append(dst, '[')
	for i := range a.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendJSON(dst, a.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendFloat formats like JavaScript, as json.Marshal does.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON has no number %v", f)
	}
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}

// AppendText appends the JSON text of a string. Only strings with special characters need the encoder of Go.
func AppendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // fails for no string
			return append(dst, text...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
