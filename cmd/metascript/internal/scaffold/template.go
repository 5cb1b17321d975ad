package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/template"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/folder"
)

//go:embed templates
var templates embed.FS

// Files returns the files of the project, in the order in which a user reads them.
func (p *Project) Files() ([]folder.File, error) {
	names := []string{"README.md", "crd.yaml", "controller.yaml", p.Script(), "parent.yaml", "cases/new.yaml", "cases/ready.yaml", "cases/invalid-version.yaml"}
	if p.Decorator {
		names = append(slices.Delete(names, 1, 2), "cases/finalize.yaml")
	}
	names = append(names, "simulate.yaml")
	var files []folder.File
	for _, name := range names {
		text, err := p.execute(name)
		if err != nil {
			return nil, err
		}
		files = append(files, folder.File{Path: name, Text: text})
	}
	d, err := p.declare(files)
	if err != nil {
		return nil, err
	}
	roles, err := p.roles(d)
	if err != nil {
		return nil, err
	}
	files = append(files, folder.File{Path: "rbac.yaml", Text: roles})
	for _, name := range p.installation() {
		text, err := p.execute(name)
		if err != nil {
			return nil, err
		}
		files = append(files, folder.File{Path: name, Text: text})
	}
	forEditors, err := p.editorFiles(d)
	return append(files, forEditors...), err
}

// installation returns the names of the files that only an installation in a cluster needs, besides rbac.yaml.
func (p *Project) installation() []string {
	if p.OwnNamespace {
		return []string{"namespace.yaml", "kustomization.yaml"}
	}
	return []string{"kustomization.yaml"}
}

// execute executes the template of a file.
func (p *Project) execute(name string) ([]byte, error) {
	t := template.New("").Funcs(template.FuncMap{
		"a": a, "title": title, "lower": strings.ToLower, "comment": p.comment, "yaml": encode, "word": word,
	})
	text, err := fs.ReadFile(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	if t, err = t.Parse(string(text)); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, page{p, examples{p}}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// encode returns a value as YAML with sorted keys, as "metascript test --update" writes it. Each line is indented, and there is no
// newline at the end.
func encode(spaces int, value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	margin := strings.Repeat(" ", spaces)
	return strings.ReplaceAll(margin+strings.TrimSuffix(string(text), "\n"), "\n", "\n"+margin), nil
}

// word returns a word in YAML, in quotes if a parser of YAML 1.1 or 1.2 would read it as something else than a string, such as true, y or 1e3.
func word(text string) (string, error) {
	for _, marshal := range []func(any) ([]byte, error){yaml.Marshal, yamlv3.Marshal} {
		written, err := marshal(text)
		if err != nil {
			return "", err
		}
		if string(written) != text+"\n" {
			return strconv.Quote(text), nil
		}
	}
	return text, nil
}

// a returns a noun with its indefinite article. The letters of an abbreviation, such as HTTPRoute, are spoken one by one.
func a(noun string) string {
	vowels := "AEIOaeio"
	if len(noun) > 1 && isUpper(noun[0]) && isUpper(noun[1]) {
		vowels = "AEFHILMNORSX"
	}
	if strings.ContainsAny(noun[:1], vowels) {
		return "an " + noun
	}
	return "a " + noun
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// title returns a text as the beginning of a sentence.
func title(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// list returns children as "x, y and z".
func list(children []Child, name func(Child) string) string {
	if len(children) < 2 {
		return join(children, "", name)
	}
	last := len(children) - 1
	return join(children[:last], ", ", name) + " and " + name(children[last])
}

// join returns children with a text between them.
func join(children []Child, between string, name func(Child) string) string {
	var words []string
	for _, c := range children {
		words = append(words, name(c))
	}
	return strings.Join(words, between)
}

// width is the maximum width of a comment.
const width = 120

// comment returns a comment of the script at a level of indentation, without the indentation of its first line.
func (p *Project) comment(level int, text string) string {
	margin := strings.Repeat(p.language.indent, level) + p.language.comment
	var lines []string
	line := margin
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > width {
			lines = append(lines, strings.TrimSpace(line))
			line = margin
		}
		line += word + " "
	}
	lines = append(lines, strings.TrimSpace(line))
	return strings.Join(lines, "\n"+strings.Repeat(p.language.indent, level))
}
