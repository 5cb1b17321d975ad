package place

import (
	"errors"
	"strings"
	"testing"
)

const twoDocuments = `# a comment
a: 1
---
metadata:
  labels: {app: web, "example.com/tier": x}
  name: yes
spec:
  ports:
  - name: http
    port: 80
  - name: https
  script:
    inline: |2
      one
       two

      three
    folded: >
      text
    quoted: "a\nb"
`

func parse(t *testing.T, text string) []Document {
	t.Helper()
	docs, err := Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestPlacesOfFields(t *testing.T) {
	doc := parse(t, twoDocuments)[1]
	for path, want := range map[string][2]string{
		"metadata.name":                     {"a.yaml:6:9", "a.yaml:6:3"},
		"metadata.labels[app]":              {"a.yaml:5:17", "a.yaml:5:12"},
		`metadata.labels["app"]`:            {"a.yaml:5:17", "a.yaml:5:12"},
		"metadata.labels[example.com/tier]": {"a.yaml:5:42", "a.yaml:5:22"},
		"metadata.labels.example.com/tier":  {"a.yaml:5:42", "a.yaml:5:22"},
		"spec.ports[0].port":                {"a.yaml:10:11", "a.yaml:10:5"},
		"spec.ports[1].port":                {"a.yaml:11:5", "a.yaml:11:5"},
		"spec.ports[name=https].name":       {"a.yaml:11:11", "a.yaml:11:5"},
		"spec.ports[7]":                     {"a.yaml:8:3", "a.yaml:8:3"},
		"spec.nosuch.field":                 {"a.yaml:7:1", "a.yaml:7:1"},
		"spec.script.inline":                {"a.yaml:13:5", "a.yaml:13:5"},
	} {
		if got := [2]string{doc.At(path).String(), doc.AtKey(path).String()}; got != want {
			t.Errorf("%s: the value and the key are at %v, want %v", path, got, want)
		}
	}
	if got := (Value{}).At("a.b"); got.String() != "" || got.Source != "" {
		t.Errorf("a value in no file is at %v", got)
	}
}

func TestPlacesInScripts(t *testing.T) {
	doc := parse(t, twoDocuments)[1]
	for _, c := range []struct {
		field     string
		line, col int
		shown     string
		want      string // "" means that it is not in this script
	}{
		{"inline", 1, 1, "one", "a.yaml:14:7"},
		{"inline", 2, 3, " two", "a.yaml:15:9"},
		{"inline", 2, 3, " t**", "a.yaml:15:9"},
		{"inline", 2, 3, "****x", ""},
		{"inline", 4, 0, "", "a.yaml:17"},
		{"inline", 0, 0, "", "a.yaml:13:5"},
		{"inline", 1, 1, "another", ""},
		{"inline", 99, 1, "", ""},
		{"folded", 1, 3, "text", "a.yaml:18:5"},
		{"quoted", 2, 1, "b", "a.yaml:20:5"},
		{"nosuch", 1, 1, "", ""},
	} {
		got, ok := doc.Script("spec.script."+c.field, c.line, c.col, c.shown)
		if ok != (c.want != "") || ok && got.Pos.String() != c.want {
			t.Errorf("%s, line %d: got %s, %t, want %s", c.field, c.line, got.Pos, ok, c.want)
		}
	}
}

func TestLinesOfSecretsAreNotShown(t *testing.T) {
	doc := parse(t, "kind: Secret\ndata: {a: hunter2}\n")[0]
	if got := doc.At("data.a"); got.String() != "a.yaml:2:11" || got.Source != "" {
		t.Errorf("the place is %s, with the line %q", got, got.Source)
	}
	_, err := Parse("a.yaml", []byte("kind: Secret\ndata: {a: hunter2\n"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func TestDecodeReportsAllMistakes(t *testing.T) {
	var into struct {
		Name  string         `json:"name"`
		Open  bool           `json:"open"`
		Count map[string]int `json:"count" want:"an object such as {Pod: 1}"`
	}
	err := parse(t, "nmae: a\nopen: \"yes\"\ncount: three\n")[0].Decode(&into)
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) || len(several.Unwrap()) != 3 || len(Diagnostics(err, "error")) != 3 {
		t.Fatalf("the errors are %v", err)
	}
	for _, want := range []string{
		"a.yaml:1:1: unknown field \"nmae\"\n    nmae: a\n    ^\n  hint: did you mean \"name\"?",
		"a.yaml:2:7: open: want true or false, got the string \"yes\"\n    open: \"yes\"\n          ^\n  hint: write true, without quotes",
		"a.yaml:3:8: count: want an object such as {Pod: 1}, got the string \"three\"",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the errors are\n%v\nwant\n%s", err, want)
		}
	}
}
