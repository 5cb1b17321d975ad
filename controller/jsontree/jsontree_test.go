package jsontree

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	strictjson "sigs.k8s.io/json"
)

var texts = []string{
	`{}`, ` {"a": 1} ` + "\n", `{"a": null, "b": [], "c": {}, "d": [[1], {"e": [true, false]}]}`,
	`{"max": 9223372036854775807, "min": -9223372036854775808, "over": 9223372036854775808, "zero": -0, "exp": 1e3, "fraction": 1.0, "small": 1e-400}`,
	`{"a": 1, "a": {"b": 2}, "c": [{"d": 1, "d": 2}, {"e": {"f": 1, "f": 1, "f": 1}}]}`,
	`{"a": {"x": 1}, "a": {"y": 2}}`, `{"": {"": 1, "": 2}}`, `{"a.b": {"c": 1, "c": 2}}`,
	`{"text": "\u00e9\n\ud83d\ude00\ud800 ü` + "\xff" + `"}`, `{"<": "&"}`,
	``, ` `, `null`, ` null `, `[]`, `"x"`, `1`, `true`, `{`, `{"a"`, `{"a":`, `{"a": 1`, `{"a": [1`, `{"a": "x`,
	`{} {}`, `{} x`, `{}]`, `{}"`, `{}'`, "{}\x00", `{"a" 1}`, `{"a": 1 "b": 2}`, `{a: 1}`, `{"a": 1,}`, `[1,]`, `{"a": [1,]}`, `{"a": tru}`,
	`{"a": 01}`, `{"a": 1e999}`, `{"a": +1}`, `{1: 2}`, `<html>`, `{"a": <}`, `{"a": "` + "\n" + `"}`, "{\"a\": \"\\x\"}", `nul`, `{"a": nulL}`,
	"  {  \"a  b\" \t\n :  \"  \\\"  c  \\\\\"  ,\r\n\n \"d  \\n\" :   [ 1 ,  -2.5  ,  true ]  }  ", `{"a": 1  2}`, `{"a": "x  `, `{  "a  `, `  tr  ue`,
	`{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
}

// whole is what a decoder of whole texts gives.
func whole(text string) (map[string]any, []error, error) {
	var tree map[string]any
	if err := utiljson.Unmarshal([]byte(text), &tree); err != nil {
		return nil, nil, err
	}
	var ignored any
	twice, err := strictjson.UnmarshalStrict([]byte(text), &ignored)
	return tree, twice, err
}

func TestDecodeEqualsUnmarshal(t *testing.T) {
	for _, text := range texts {
		same(t, text)
	}
}

func same(t *testing.T, text string) {
	t.Helper()
	want, wantTwice, wantErr := whole(text)
	got, twice, err := Decode(iotest.OneByteReader(strings.NewReader(text)), true)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%.100q: error %v, want %v", text, err, wantErr)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%.100q: got %.200v, want %.200v", text, got, want)
	}
	if got, want := errors.Join(twice...), errors.Join(wantTwice...); (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
		t.Errorf("%.100q: keys that stand twice: %v, want %v", text, got, want)
	}
}

// The most frequent errors have the same text.
func TestDecodeReturnsErrorsOfUnmarshal(t *testing.T) {
	for _, text := range []string{``, ` `, `{`, `{"a"`, `{"a":`, `{"a": 1`, `{"a": [1`, `{"a": "x`, `{} {}`, `{}]`, `{}'`, `<html>`, `{"a": [}`, `[]`, `"x"`, `1`, `true`, `{"a": <}`, `{"a": tru}`} {
		_, _, want := whole(text)
		if _, _, err := Decode(strings.NewReader(text), false); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
}

func TestNestingIsLimited(t *testing.T) {
	_, _, err := Decode(strings.NewReader(`{"a":`+strings.Repeat("[", 1_000_000)), false)
	if err == nil || err.Error() != "exceeded max depth" {
		t.Errorf("error %v", err)
	}
}

func TestDecodeReturnsErrorOfReader(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{``, `{"a":`, `{"a": 1}`} {
		if _, _, err := Decode(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), false); !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want that of the reader", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, text) })
}

func TestOnlyLostContentCountsAsTwiceWithoutDuplicates(t *testing.T) {
	for text, want := range map[string]int{
		`{"a": [1], "a": []}`: 1, `{"a": {"b": 1}, "a": null}`: 1, `{"a": [], "a": [1]}`: 0, `{"a": 1, "a": 2}`: 0, `{"b": {"a": [1], "a": []}}`: 0,
	} {
		if _, twice, err := Decode(strings.NewReader(text), false); err != nil || len(twice) != want {
			t.Errorf("%s: %v, %v, want %d", text, twice, err, want)
		}
	}
}
