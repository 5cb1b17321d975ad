package enginetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/rogpeppe/go-internal/txtar"

	"metascript/engine"
)

// A testCase is one file of testdata, which tests one behavior.
type testCase struct {
	name    string             // of the file, without its extension
	about   string             // the comment at the beginning
	scripts map[string]*script // by language
}

// A script is a testCase in one language, with the expected result.
type script struct {
	engine.Script
	function string // the function to call
	request  string // the argument, as JSON
	limits   engine.Limits
	cancel   bool // cancel the call at the first message
	random   *drawing
	want     expectation
}

// A dialect says how files in testdata use a language.
type dialect struct {
	language string
	short    string   // the extension of entry files, and part of the names of variants
	exts     []string // the extensions of files that only this language uses
	comment  []string // what comments begin with
}

var dialects = []dialect{
	{engine.Starlark, "star", []string{".star"}, []string{"#"}},
	{engine.JavaScript, "js", []string{".js"}, []string{"//"}},
	{engine.Jsonnet, "jsonnet", []string{".jsonnet", ".libsonnet"}, []string{"//", "#"}},
}

// settings are the names of files in an archive that are not part of a script.
var settings = []string{
	"request.json", "want.json", "error", "log.txt", "functions", "function", "limits", "cancel", "random.json",
}

// variant returns the name of the variant of a setting for one language, such as want.star.json for want.json.
func (d dialect) variant(setting string) string {
	ext := path.Ext(setting)
	return strings.TrimSuffix(setting, ext) + "." + d.short + ext
}

// loadCases reads all cases in a directory, sorted by name.
func loadCases(dir fs.FS) ([]*testCase, error) {
	names, err := fs.Glob(dir, "*.txtar")
	if err != nil {
		return nil, err
	}
	var cases []*testCase
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		c, err := parseCase(strings.TrimSuffix(name, ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// An archive has the files of a case, with their templates expanded.
type archive struct {
	files map[string]string
	used  map[string]bool // the files that some script uses
}

// find returns the name of the file with a setting for language d: the variant for d, or else the file for all languages, or else
// "".
func (a *archive) find(d dialect, setting string) string {
	for _, name := range []string{d.variant(setting), setting} {
		if _, ok := a.files[name]; ok {
			return name
		}
	}
	return ""
}

// setting returns the text of a setting for language d. ok is false if there is none.
func (a *archive) setting(d dialect, setting string) (text string, ok bool) {
	name := a.find(d, setting)
	a.used[name] = true
	text, ok = a.files[name]
	return text, ok
}

// parseCase reads one archive. A file or setting that would have no effect is an error.
func parseCase(name string, data []byte) (*testCase, error) {
	t := txtar.Parse(data)
	c := &testCase{name: name, about: strings.TrimSpace(string(t.Comment)), scripts: map[string]*script{}}
	if c.about == "" {
		return nil, fmt.Errorf("the comment does not say what is tested")
	}
	a := &archive{files: map[string]string{}, used: map[string]bool{}}
	for _, f := range t.Files {
		if _, duplicate := a.files[f.Name]; duplicate {
			return nil, fmt.Errorf("there are two files %s", f.Name)
		}
		text, err := expand(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		a.files[f.Name] = text
	}
	for _, d := range dialects {
		s, err := a.script(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.language, err)
		}
		if s != nil {
			c.scripts[d.language] = s
		}
		if d.language == engine.JavaScript && s != nil && !strings.Contains("\n"+c.about, "\nexcept: ts: ") {
			c.scripts[engine.TypeScript] = s.typescript()
		}
	}
	for f := range a.files {
		if !a.used[f] {
			return nil, fmt.Errorf("%s is used by no script", f)
		}
	}
	return c, c.checkLanguages()
}

// script returns the script in language d, or nil if there is none.
func (a *archive) script(d dialect) (*script, error) {
	files, entry := fstest.MapFS{}, ""
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if !a.belongs(d, name) {
			continue
		}
		files[name] = &fstest.MapFile{Data: []byte(a.files[name]), Mode: 0o444}
		if path.Base(name) == "sync."+d.short {
			if entry != "" {
				return nil, fmt.Errorf("%s and %s are both entries", entry, name)
			}
			entry = name
		}
	}
	if entry == "" {
		return nil, nil
	}
	for name := range files {
		a.used[name] = true
	}
	s := &script{
		Script:   engine.Script{Language: d.language, Entry: entry, Files: files},
		function: "sync", request: "{}",
	}
	return s, a.configure(s, d)
}

// typescript returns a script in JavaScript as one in TypeScript, which it is too.
func (s *script) typescript() *script {
	other := *s
	other.Language = engine.TypeScript
	return &other
}

// belongs reports whether a file is part of a script in language d.
func (a *archive) belongs(d dialect, name string) bool {
	for _, other := range dialects {
		for _, setting := range settings {
			if name == setting || name == other.variant(setting) {
				return false
			}
		}
		if slices.Contains(other.exts, path.Ext(name)) {
			return other.language == d.language
		}
	}
	return true
}

// configure applies the settings to s.
func (a *archive) configure(s *script, d dialect) error {
	if text, ok := a.setting(d, "request.json"); ok {
		s.request = text
	}
	if _, err := decodeObject(s.request); err != nil {
		return fmt.Errorf("request.json: %w", err)
	}
	if text, ok := a.setting(d, "function"); ok {
		s.function = strings.TrimSpace(text)
	}
	if text, ok := a.setting(d, "limits"); ok {
		if err := parseLimits(text, &s.limits); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
	}
	_, s.cancel = a.setting(d, "cancel")
	if text, ok := a.setting(d, "random.json"); ok {
		if err := json.Unmarshal([]byte(text), &s.random); err != nil {
			return fmt.Errorf("random.json: %w", err)
		}
	}
	return a.expect(s, d)
}

// checkLanguages returns an error if there is no script in a language, and the comment gives no reason for it.
func (c *testCase) checkLanguages() error {
	wanted := map[string]bool{}
	for _, d := range dialects {
		wanted[d.language] = true
	}
	for line := range strings.Lines(c.about) {
		if list, ok := strings.CutPrefix(line, "only: "); ok {
			names, reason, _ := strings.Cut(list, ":")
			if strings.TrimSpace(reason) == "" {
				return fmt.Errorf("only: %s gives no reason", names)
			}
			for _, d := range dialects {
				wanted[d.language] = slices.Contains(strings.Split(names, ", "), d.short)
			}
		}
	}
	for _, d := range dialects {
		if exists := c.scripts[d.language] != nil; exists != wanted[d.language] {
			return fmt.Errorf("script in %s: exists is %v, want %v", d.language, exists, wanted[d.language])
		}
	}
	return nil
}

// expand executes the templates in text, if there are any.
func expand(text string) (string, error) {
	if !strings.Contains(text, "⟪") {
		return text, nil
	}
	t, err := template.New("").Delims("⟪", "⟫").Funcs(template.FuncMap{
		"repeat": func(n int, s string) string { return strings.Repeat(s, n) },
		"bom":    func() string { return "\ufeff" },
		"cr":     func() string { return "\r" },
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}
