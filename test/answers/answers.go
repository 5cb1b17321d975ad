// Package answers has what the API server of Kubernetes answers to some requests: the status codes, the reasons and the messages of
// errors, and the fields of objects that it computes. The file answers.yaml has the requests with the answers. A test of package
// test/e2e sends them to a real API server, and a test of package memapi to the API server in memory.
package answers

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed answers.yaml
var file []byte

// An Exchange is a request and its answer. The words $NS, $UID and $VERSION stand for the namespace of the test, and the UID and the
// resourceVersion of the last object in an answer.
type Exchange struct {
	Request string         `json:"request"`        // the method and the path
	Type    string         `json:"type,omitempty"` // of the body; by default JSON
	Body    map[string]any `json:"body,omitempty"`
	Patch   []any          `json:"patch,omitempty"` // the body of a JSON patch
	Show    []string       `json:"show,omitempty"`  // the fields of the object in Fields

	Code     int            `json:"code"`
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	Causes   []any          `json:"causes,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
}

// contentTypes are the media types of bodies by Exchange.Type.
var contentTypes = map[string]string{
	"": "application/json", "merge": "application/merge-patch+json", "json": "application/json-patch+json",
	"strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml", "other": "text/plain",
}

// All returns the exchanges in their order.
func All() ([]Exchange, error) {
	var all []Exchange
	return all, yaml.UnmarshalStrict(file, &all)
}

// A Player sends requests to an API server.
type Player struct {
	Client    *http.Client
	Host      string // the URL of the server
	Namespace string

	uid, version string
}

// Play sends the request of an exchange, and returns the exchange with the answer.
func (p *Player) Play(e Exchange) (Exchange, error) {
	e.Code, e.Reason, e.Message, e.Causes, e.Warnings, e.Fields = 0, "", "", nil, nil, nil
	method, path, _ := strings.Cut(e.Request, " ")
	var body any = e.Body
	if e.Patch != nil {
		body = e.Patch
	}
	text, err := json.Marshal(body)
	if err != nil {
		return e, err
	}
	if e.Body == nil && e.Patch == nil {
		text = nil
	}
	r, err := http.NewRequest(method, p.Host+p.fill(path), strings.NewReader(p.fill(string(text))))
	if err != nil {
		return e, err
	}
	r.Header.Set("Content-Type", contentTypes[e.Type])
	r.Header.Set("User-Agent", "answers")
	response, err := p.Client.Do(r)
	if err != nil {
		return e, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return e, err
	}
	e.Code, e.Warnings = response.StatusCode, response.Header.Values("Warning")
	return e, p.read(&e, answer)
}

// read reads an answer into an exchange.
func (p *Player) read(e *Exchange, text []byte) error {
	var answer map[string]any
	if err := utiljson.Unmarshal(text, &answer); err != nil {
		e.Message = p.hide(strings.TrimSpace(string(text)))
		return nil
	}
	if answer["kind"] == "Status" {
		e.Reason, _ = answer["reason"].(string)
		message, _ := answer["message"].(string)
		e.Message = p.hide(message)
		details, _ := answer["details"].(map[string]any)
		causes, _ := details["causes"].([]any)
		for _, cause := range causes { // the API server checks some fields twice
			if m, ok := cause.(map[string]any); ok {
				m["message"] = p.hide(fmt.Sprint(m["message"]))
			}
			if !slices.ContainsFunc(e.Causes, func(other any) bool { return reflect.DeepEqual(other, cause) }) {
				e.Causes = append(e.Causes, cause)
			}
		}
		if e.Code >= http.StatusBadRequest {
			return nil
		}
	}
	if metadata, ok := answer["metadata"].(map[string]any); ok && metadata["uid"] != nil {
		p.uid, p.version = fmt.Sprint(metadata["uid"]), fmt.Sprint(metadata["resourceVersion"])
	}
	e.Fields = p.shown(answer, e.Show)
	return nil
}

// shown returns the fields of an answer.
func (p *Player) shown(answer map[string]any, paths []string) map[string]any {
	fields := map[string]any{}
	for _, path := range paths {
		value := any(answer)
		for name := range strings.SplitSeq(path, ".") {
			m, _ := value.(map[string]any)
			value = m[name]
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // it was JSON
		}
		var hidden any
		_ = json.Unmarshal([]byte(p.hide(string(text))), &hidden) // it stays JSON
		fields[path] = sorted(hidden, path)
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// sorted sorts the entries of managedFields: those of the same second are in any order.
func sorted(value any, path string) any {
	entries, ok := value.([]any)
	if ok && path == "metadata.managedFields" {
		slices.SortFunc(entries, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return value
}

// fill replaces the words that stand for something in a request.
func (p *Player) fill(text string) string {
	return strings.NewReplacer("$NS", p.Namespace, "$UID", p.uid, "$VERSION", p.version).Replace(text)
}

var (
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// hide replaces what differs between two servers by words. A resourceVersion is the number in the messages of preconditions.
func (p *Player) hide(text string) string {
	text = uids.ReplaceAllString(strings.ReplaceAll(text, p.Namespace, "$NS"), "$$UID")
	text = versions.ReplaceAllString(text, "($$VERSION)")
	text = templates.ReplaceAllString(diffs.ReplaceAllString(text, ""), "{...}")
	return times.ReplaceAllString(text, "$$TIME")
}

var (
	versions  = regexp.MustCompile(`\(\d+\)`)
	diffs     = regexp.MustCompile(`\n@@(.|\n)*`)                     // the changes of a Go value
	templates = regexp.MustCompile(`\{"([Cc]ontainers|Volumes)".*\}`) // the template of a Job
)

// Format returns the text of exchanges as a file.
func Format(all []Exchange) (string, error) {
	text, err := yaml.Marshal(all)
	return string(text), err
}
