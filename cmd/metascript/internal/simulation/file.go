package simulation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/cmd/metascript/internal/controlplane"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/engine"
)

// A File is a file of steps. It is read with its fields in JSON.
type File struct {
	// Ready are rules about when and how objects become ready.
	Ready []controlplane.Rule `json:"ready,omitempty"`
	Steps []*Step             `json:"steps"`

	path  string
	dir   string      // of the controller
	value place.Value // the file itself
}

// errorf returns an error about a field of the file.
func (f *File) errorf(field, format string, args ...any) *place.Error {
	e := f.value.Errorf(field, format, args...)
	e.File = f.path
	return e
}

// A Step is an action, the time that passes after it, and what is expected then. It has at most one action.
type Step struct {
	Name string `json:"name,omitempty"`

	Apply   *Objects   `json:"apply,omitempty"`
	Patch   *Patch     `json:"patch,omitempty"`
	Delete  string     `json:"delete,omitempty"`
	Script  *Edit      `json:"script,omitempty"`
	Ready   string     `json:"ready,omitempty"`
	Fail    string     `json:"fail,omitempty"`
	Status  *SetStatus `json:"status,omitempty"`
	Restart bool       `json:"restart,omitempty"`

	Refuse *Refusal         `json:"refuse,omitempty"` // during this step
	Wait   *metav1.Duration `json:"wait,omitempty"`   // how long the step takes; by default, until nothing changes any more
	Expect *Expectation     `json:"expect,omitempty"`
}

// Objects are objects in a step, or in files.
type Objects struct{ items []item }

// An item is an object, or the name of a file with objects.
type item struct {
	file   string
	object map[string]any
	path   string // of the item in the field, such as "[0]"; "" if it is the value of the field
}

// objectsIn returns the objects in files.
func objectsIn(files []string) *Objects {
	o := &Objects{}
	for _, file := range files {
		o.items = append(o.items, item{file: file})
	}
	return o
}

// UnmarshalJSON implements json.Unmarshaler: the name of a file, an object, or a list of both.
func (o *Objects) UnmarshalJSON(text []byte) error {
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return err
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for i, one := range list {
		at := ""
		if isList {
			at = fmt.Sprintf("[%d]", i)
		}
		switch one := one.(type) {
		case string:
			o.items = append(o.items, item{file: one, path: at})
		case map[string]any:
			o.items = append(o.items, item{object: one, path: at})
		default:
			return fmt.Errorf("want the name of a file, or an object, or a list of them, got %v", one)
		}
	}
	return nil
}

// A Patch changes fields of an object, as a JSON merge patch does.
type Patch struct {
	Object string              `json:"object"`
	Merge  controlplane.Fields `json:"merge"`
}

// An Edit replaces the script of a controller, inline or in a file, by the text of a file, or replaces one part of it.
type Edit struct {
	Controller string  `json:"controller,omitempty"` // its name, if there are several
	File       string  `json:"file,omitempty"`
	Replace    string  `json:"replace,omitempty"`
	With       *string `json:"with,omitempty"`
}

// editsScripts reports whether a step edits a script.
func (f *File) editsScripts() bool {
	return slices.ContainsFunc(f.Steps, func(s *Step) bool { return s.Script != nil })
}

// SetStatus sets the status of an object.
type SetStatus struct {
	Object string              `json:"object"`
	Set    controlplane.Fields `json:"set"`
}

// A Refusal is what the API refuses to the server that is simulated.
type Refusal struct {
	Verb    string `json:"verb,omitempty"` // create, update, patch or delete; default all
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`    // default all
	Times   int    `json:"times,omitempty"`   // how often; default always
	Code    int32  `json:"code,omitempty"`    // of HTTP; default 403
	Message string `json:"message,omitempty"` // default "refused by the simulation"
}

// An Expectation is what must be true at the end of a step.
type Expectation struct {
	Objects    []controlplane.Fields `json:"objects,omitempty"`                                 // exist, with at least these fields
	Absent     []string              `json:"absent,omitempty"`                                  // do not exist
	Count      map[string]int        `json:"count,omitempty" want:"an object such as {Pod: 1}"` // how many objects of a kind exist
	Events     []string              `json:"events,omitempty"`                                  // were recorded in this step: a reason, or "reason: part of the message"
	SyncErrors []string              `json:"syncErrors,omitempty"`                              // each is a part of the error of a sync in this step
	Error      string                `json:"error,omitempty"`                                   // a part of the error of the action
}

// count returns the number of expectations.
func (e *Expectation) count() int {
	if e == nil {
		return 0
	}
	n := len(e.Objects) + len(e.Absent) + len(e.Count) + len(e.Events) + len(e.SyncErrors)
	if e.Error != "" {
		n++
	}
	return n
}

// ReadFiles returns the files of steps in directories: simulate.yaml, or else those in the directory simulate. A directory with a
// controller and without steps has one step, which applies its other objects. A directory without a controller stands for the
// directories in it that have steps. The error is about all files that cannot be read.
func ReadFiles(dirs []string) ([]*File, error) {
	var all []*File
	var errs []error
	for _, dir := range dirs {
		found, err := readDir(dir)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// controllerFile is the file with the controller in a directory.
const controllerFile = "controller.yaml"

func readDir(dir string) ([]*File, error) {
	if err := manifest.CheckDir(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, controllerFile)); err != nil {
		return readParent(dir)
	}
	paths, err := stepFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return []*File{{dir: dir, path: dir, Steps: []*Step{{Apply: objectsIn(otherFiles(dir))}}}}, nil
	}
	var files []*File
	for _, path := range paths {
		f, err := readFile(path)
		if err != nil {
			return nil, err
		}
		f.dir = dir
		files = append(files, f)
	}
	return files, nil
}

// readParent reads the directories in dir that have steps.
func readParent(dir string) ([]*File, error) {
	controllers, _ := filepath.Glob(filepath.Join(dir, "*", controllerFile)) // the pattern is valid
	var dirs []string
	for _, path := range controllers {
		inner := filepath.Dir(path)
		if steps, err := stepFiles(inner); err == nil && len(steps) > 0 {
			dirs = append(dirs, inner)
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("%s has no %s, and no directory in it has %s and %s", dir, controllerFile, controllerFile, manifest.Steps)
	}
	return ReadFiles(dirs)
}

// stepFiles returns the paths of the files of steps in a directory.
func stepFiles(dir string) ([]string, error) {
	single := filepath.Join(dir, manifest.Steps)
	if _, err := os.Stat(single); err == nil {
		return []string{single}, nil
	}
	return filepath.Glob(filepath.Join(dir, "simulate", "*.yaml"))
}

// otherFiles returns the names of the YAML files with objects beside the controller and its definition.
func otherFiles(dir string) []string {
	files, _ := manifest.Files([]string{dir})
	var names []string
	for _, file := range files {
		name := filepath.Base(file)
		if filepath.Ext(name) != ".json" && name != controllerFile && name != "crd.yaml" {
			names = append(names, name)
		}
	}
	return names
}

func readFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	docs, err := place.Parse(path, text)
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if len(docs) > 1 {
		return nil, docs[1].Errorf("", "the steps of a simulation are one document")
	}
	if len(docs) == 1 {
		f.value = docs[0].Value
		if err := docs[0].Decode(f); err != nil {
			return nil, inWords(err)
		}
	}
	if len(f.Steps) == 0 {
		return nil, f.errorf("steps", "there are no steps")
	}
	for i, step := range f.Steps {
		if field, err := step.check(); err != nil {
			return nil, f.errorf(fmt.Sprintf("steps[%d]%s", i, field), "step %d: %v", i+1, err)
		}
	}
	return f, nil
}

// stepPath matches the path of a step at the beginning of a message.
var stepPath = regexp.MustCompile(`^steps\[(\d+)\]\.?(: )?`)

// inWords returns the errors of decoding a file with the numbers of steps as in the other messages: the first step is step 1.
func inWords(err error) error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, one := range several.Unwrap() {
		if e := (*place.Error)(nil); errors.As(one, &e) {
			if match := stepPath.FindStringSubmatch(e.Msg); match != nil {
				i, _ := strconv.Atoi(match[1])
				e.Msg = fmt.Sprintf("step %d: %s", i+1, e.Msg[len(match[0]):])
			}
		}
	}
	return err
}

// check returns an error if a step is not valid, and the path in the step of the field that it is about.
func (s *Step) check() (string, error) {
	if s == nil {
		return "", errors.New("it is empty")
	}
	if actions := s.actions(); len(actions) > 1 {
		return "", fmt.Errorf("it has several actions: %s; make a step of each", strings.Join(actions, ", "))
	}
	switch {
	case s.Patch != nil && (s.Patch.Object == "" || s.Patch.Merge == nil):
		return ".patch", errors.New(`patch needs object, such as "Pod default/web", and merge, the fields to change`)
	case s.Status != nil && (s.Status.Object == "" || s.Status.Set == nil):
		return ".status", errors.New(`status needs object, such as "Pod default/web", and set, the status`)
	case s.Script != nil && (s.Script.File == "") == (s.Script.Replace == ""):
		return ".script", errors.New("script needs either file, or replace and with")
	case s.Script != nil && (s.Script.Replace == "") != (s.Script.With == nil):
		return ".script", errors.New("script needs replace and with together")
	case s.Refuse != nil && s.Refuse.Kind == "":
		return ".refuse", errors.New("refuse needs kind")
	case s.Refuse != nil && s.Refuse.Verb != "" && !slices.Contains(writeVerbs, s.Refuse.Verb):
		return ".refuse.verb", fmt.Errorf("refuse.verb is %q, want one of %s%s", s.Refuse.Verb, strings.Join(writeVerbs, ", "), didYouMean(s.Refuse.Verb, writeVerbs))
	}
	return "", nil
}

// didYouMean returns the end of a message about a name that is none of some others.
func didYouMean(name string, among []string) string {
	if like := engine.Nearest(name, among); like != "" {
		return fmt.Sprintf("; did you mean %q?", like)
	}
	return ""
}

// actionField returns the name of the action of a step, as a field of it; "" if there is none.
func (s *Step) actionField() string {
	switch {
	case s.Apply != nil:
		return ".apply"
	case s.Patch != nil:
		return ".patch.object"
	case s.Delete != "":
		return ".delete"
	case s.Script != nil && s.Script.Controller != "":
		return ".script.controller"
	case s.Script != nil && s.Script.File != "":
		return ".script.file"
	case s.Script != nil:
		return ".script.replace"
	case s.Ready != "":
		return ".ready"
	case s.Fail != "":
		return ".fail"
	case s.Status != nil:
		return ".status.object"
	case s.Restart:
		return ".restart"
	}
	return ""
}

var writeVerbs = []string{"create", "update", "patch", "delete"}

// actions returns the texts of the actions of a step.
func (s *Step) actions() []string {
	var all []string
	add := func(is bool, text string) {
		if is {
			all = append(all, strings.TrimSpace(text))
		}
	}
	add(s.Apply != nil, "apply "+s.Apply.String())
	if s.Patch != nil {
		add(true, "patch "+s.Patch.Object)
	}
	add(s.Delete != "", "delete "+s.Delete)
	if s.Script != nil {
		add(true, "edit the script "+s.Script.File)
	}
	add(s.Ready != "", "ready "+s.Ready)
	add(s.Fail != "", "fail "+s.Fail)
	if s.Status != nil {
		add(true, "status of "+s.Status.Object)
	}
	add(s.Restart, "restart")
	return all
}

// String returns a short text about the objects.
func (o *Objects) String() string {
	if o == nil {
		return ""
	}
	var names []string
	for _, one := range o.items {
		if one.file != "" {
			names = append(names, one.file)
			continue
		}
		metadata, _ := one.object["metadata"].(map[string]any)
		names = append(names, strings.TrimSpace(fmt.Sprintf("%v %v", one.object["kind"], metadata["name"])))
	}
	return strings.Join(names, ", ")
}

// Title returns the line about a step.
func (s *Step) title() string {
	text := strings.Join(s.actions(), "")
	if s.Wait != nil {
		text = strings.TrimPrefix(text+", wait "+s.Wait.Duration.String(), ", ")
	}
	switch {
	case s.Name == "":
		return text
	case text == "":
		return s.Name
	}
	return s.Name + ": " + text
}
