// Package jsontree decodes a JSON object while it is read, so that the whole text and the decoded value are not in memory at the
// same time.
//
// [Decode] returns the same as k8s.io/apimachinery/pkg/util/json gives for the whole text: integers as int64, other numbers as
// float64, the last of several values of one key.
package jsontree

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth is how deep objects and lists may be nested.
const maxDepth = 10000

// maxDuplicates is how many duplicate keys are reported.
const maxDuplicates = 100

// Decode reads one JSON object; nothing may follow it in r. If duplicates is true, twice has an error for each key that
// occurs more than once in an object, up to maxDuplicates; otherwise only for a key of the whole object whose first value is a list or an
// object that is not empty, since the last value counts. err is an error of r, or says why the text is not a JSON object.
func Decode(r io.Reader, duplicates bool) (tree map[string]any, twice []error, err error) {
	r = &compact{r: r}
	d := decoder{Decoder: json.NewDecoder(r), duplicates: duplicates, seen: map[string]bool{}}
	d.UseNumber()
	root, err := d.value(0)
	if err == nil {
		err = d.end(r)
	}
	if err != nil {
		return nil, nil, textual(err)
	}
	tree, ok := root.(map[string]any)
	if !ok && root != nil {
		return nil, nil, fmt.Errorf("json: cannot unmarshal %s into Go value of type map[string]interface {}", nameOf(root))
	}
	return tree, d.twice, nil
}

type decoder struct {
	*json.Decoder
	duplicates bool
	path       []string // of the value that is read
	twice      []error
	seen       map[string]bool // what is in twice
}

// textual returns err with the text that a decoder of whole texts would return.
func textual(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end of JSON input")
	}
	return err
}

// value reads one value.
func (d *decoder) value(depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return number(string(token))
	case json.Delim:
		if depth >= maxDepth {
			return nil, errors.New("exceeded max depth")
		}
		if token == '{' {
			return d.object(depth)
		}
		return d.list(depth)
	}
	return token, nil
}

func (d *decoder) object(depth int) (any, error) {
	m := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // which Token sees to
		if before, twice := m[key]; twice && (d.duplicates || depth == 0 && hasContent(before)) {
			d.note(key)
		}
		d.push(key, ".")
		m[key], err = d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.pop()
	}
	_, err := d.Token()
	return m, err
}

func (d *decoder) list(depth int) (any, error) {
	list := []any{}
	for d.More() {
		if d.duplicates {
			d.path = append(d.path, "["+strconv.Itoa(len(list))+"]")
		}
		item, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.pop()
		list = append(list, item)
	}
	_, err := d.Token()
	return list, err
}

func (d *decoder) push(key, separator string) {
	if d.duplicates && len(d.path) > 0 {
		key = separator + key
	}
	if d.duplicates {
		d.path = append(d.path, key)
	}
}

func (d *decoder) pop() {
	if d.duplicates {
		d.path = d.path[:len(d.path)-1]
	}
}

// note records a key that occurs twice in the object at path.
func (d *decoder) note(key string) {
	if len(d.twice) >= maxDuplicates {
		return
	}
	if len(d.path) > 0 {
		key = strings.Join(d.path, "") + "." + key
	}
	if !d.seen[key] {
		d.seen[key] = true
		d.twice = append(d.twice, fmt.Errorf("duplicate field %q", key))
	}
}

// hasContent reports whether v is a list or an object that is not empty.
func hasContent(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// end returns an error if something follows the object.
func (d *decoder) end(r io.Reader) error {
	rest := bufio.NewReader(io.MultiReader(d.Buffered(), r))
	for {
		c, err := rest.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !strings.ContainsRune(" \t\r\n", rune(c)):
			return fmt.Errorf("invalid character %s after top-level value", quote(c))
		}
	}
}

// quote returns a character as errors of encoding/json have it.
func quote(c byte) string {
	switch c {
	case '\'':
		return `'\''`
	case '"':
		return `'"'`
	}
	text := strconv.Quote(string(rune(c)))
	return "'" + text[1:len(text)-1] + "'"
}

func number(text string) (any, error) {
	if !strings.Contains(text, ".") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("json: cannot unmarshal number %s into Go value of type float64", text)
	}
	return f, nil
}

// nameOf returns the name of the type of a value, as errors of encoding/json have it.
func nameOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "number"
}
