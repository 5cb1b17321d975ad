package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/recording"
	"metascript/engine"
)

// WriteCase writes a selected call as a case of "metascript test" into a directory: that of Options.Call, or else the last one of the sync
// or the finalize hook. If the directory has no controller.yaml, it writes the recorded controller with its scripts too, with which the
// case passes. It returns the names of the files that it has written, and warnings.
func WriteCase(ctx context.Context, o Options, dir string) (files, warnings []string, err error) {
	r := &run{Options: &o, recorded: map[string]*loaded{}, failed: map[string]error{}}
	if err := r.prepare(ctx); err != nil {
		return nil, nil, err
	}
	r.report = newReporter(r)
	var chosen *job
	err = r.read(ctx, func(j *job) bool {
		r.report.report.Calls++
		if !j.isCustomize() && (j.call.Revision == "" || o.Call != 0) {
			chosen = j
		}
		return ctx.Err() == nil
	})
	if err != nil {
		return nil, nil, err
	}
	if chosen == nil && r.report.report.Calls > 0 {
		return nil, nil, errors.New("a case is about a call of the sync or the finalize hook, and none is selected")
	}
	if chosen == nil {
		return nil, nil, r.checkParents()
	}
	c := &caseOf{run: r, job: chosen, dir: dir}
	err = c.write(ctx)
	return c.files, c.warnings, err
}

// A caseOf writes the case of a call.
type caseOf struct {
	run             *run
	job             *job
	dir             string
	files, warnings []string
}

// write writes the files.
func (c *caseOf) write(ctx context.Context) error {
	text, err := c.text(ctx)
	if err != nil {
		return fmt.Errorf("call %d: %w", c.job.number, err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "controller.yaml")); errors.Is(err, os.ErrNotExist) {
		if err := c.writeController(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-call-%d.yaml", strings.ToLower(c.job.of.Parent.Name), c.job.number)
	if err := c.save(filepath.Join("cases", name), []byte(text)); err != nil {
		return err
	}
	if c.job.call.Redacted {
		c.warnings = append(c.warnings, fmt.Sprintf("call %d had a value that the recording replaced: the case has a hash in its place", c.job.number))
	}
	return nil
}

// save writes a file.
func (c *caseOf) save(name string, text []byte) error {
	file := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	c.files = append(c.files, file)
	return os.WriteFile(file, text, 0o644)
}

// text returns the case.
func (c *caseOf) text(ctx context.Context) (string, error) {
	j := c.job
	parent, err := j.parent()
	if err != nil {
		return "", err
	}
	expected, err := c.expected(ctx, parent)
	if err != nil {
		return "", err
	}
	field, children := "parent", "children"
	if c.run.edited.Shape == hook.Decorator {
		field, children = "object", "attachments"
	}
	text := fmt.Sprintf("# Call %d of the recording: %s of %s.\n", j.number, j.call.Hook, describe(j.of.Parent))
	add := func(name string, value any) error {
		part, err := yaml.Marshal(map[string]any{name: value})
		text += string(part)
		return err
	}
	observed, related := &object.Set{}, &object.Set{}
	all := func(object.Kind) bool { return true }
	err = errors.Join(j.put(observed, j.call.Children, all), j.put(related, j.call.Related, all))
	err = errors.Join(err, add("controller", c.run.Controller.GetName()), add(field, parent.Map()))
	for _, list := range []struct {
		field string
		set   *object.Set
	}{{children, observed}, {"related", related}} {
		if list.set.Len() > 0 {
			err = errors.Join(err, add(list.field, contents(list.set)))
		}
	}
	if j.call.Finalizing {
		err = errors.Join(err, add("finalizing", true))
	}
	err = errors.Join(err, add("now", j.call.Now.UTC().Format(time.RFC3339)))
	return text + expected, err
}

// contents returns the objects of a set.
func contents(set *object.Set) (list []any) {
	for o := range set.All() {
		list = append(list, o.Map())
	}
	return list
}

// expected returns the last field of the case: the recorded answer, in the form that the recorded script gives it now, or a part of the
// recorded error.
func (c *caseOf) expected(ctx context.Context, parent *object.Object) (string, error) {
	recorded, err := c.job.answer()
	if err != nil {
		return "", err
	}
	document := recorded.asResponse(c.run.edited.Shape).Document()
	if again := c.again(ctx, parent); again != nil && len(compare(recorded, again)) > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("the recorded script itself answers call %d differently now, so that the case fails with it", c.job.number))
	} else if again != nil && again.response != nil {
		document = again.response.Document()
	}
	if recorded.failure != "" {
		text, err := yaml.Marshal(map[string]any{"error": errorPart(recorded.failure)})
		return string(text), err
	}
	text, err := yaml.Marshal(map[string]any{"answer": document})
	return string(text), err
}

// again returns what the recorded script answers now; nil if it is not known.
func (c *caseOf) again(ctx context.Context, parent *object.Object) *answer {
	j := c.job
	if j.recorded == nil || j.call.Webhook || j.call.OlderScript {
		return nil
	}
	script, why := j.recorded.script(j.call.Hook, j.call)
	if why != "" {
		return nil
	}
	again, why, err := c.run.ask(ctx, j.recorded, script, j, parent)
	if why != "" || err != nil {
		return nil
	}
	return again
}

// asResponse returns an answer as a response.
func (a *answer) asResponse(shape hook.Shape) *hook.Response {
	r := &hook.Response{Shape: shape, Labels: a.labels, Annotations: a.annotations, Children: a.children, ResyncAfter: a.resync, Finalized: a.finalized, NotFinalized: a.notFinalized, Events: a.events}
	r.Status, _ = a.status.(map[string]any)
	if r.Children == nil {
		r.Children = &object.Set{}
	}
	return r
}

// aside matches what an error has before and after its message: the function, and a hint.
var aside = regexp.MustCompile(`^in \w+: | \([^()]*\)$`)

// errorPart returns the part of an error that does not depend on positions.
func errorPart(text string) string {
	return aside.ReplaceAllString(positions.ReplaceAllString(text, ""), "")
}

// writeController writes the recorded controller, and its scripts as files beside it.
func (c *caseOf) writeController() error {
	at := slices.IndexFunc(c.run.versions, func(v *recording.Controller) bool { return v.ID == c.job.of.Controller })
	recorded := c.run.versions[at]
	o, err := decodeObject(recorded.Object)
	if err != nil {
		return err
	}
	content := o.Map()
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "annotations", "managedFields"} {
			delete(metadata, field)
		}
	}
	for name, script := range recorded.Scripts {
		if err := c.writeScript(content, name, script); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	return c.save("controller.yaml", text)
}

// writeScript writes the files of a script, and names them in the controller in place of the script.
func (c *caseOf) writeScript(controller map[string]any, name string, script recording.Script) error {
	spec, _ := controller["spec"].(map[string]any)
	field, _ := spec["script"].(map[string]any)
	if name != "" {
		hooks, _ := spec["hooks"].(map[string]any)
		of, _ := hooks[name].(map[string]any)
		field, _ = of["script"].(map[string]any)
	}
	if field == nil {
		return fmt.Errorf("the recorded controller has no script %q", name)
	}
	for _, source := range []string{"inline", "modules", "configMapRef", "libraries"} {
		delete(field, source)
	}
	field["file"] = path.Join(name, script.Entry)
	if field["language"] == nil {
		field["language"] = script.Language
	}
	for file, text := range script.Files {
		if !filepath.IsLocal(filepath.FromSlash(file)) || slices.Contains([]string{"controller.yaml", "crd.yaml", "parent.yaml"}, file) {
			return fmt.Errorf("the recorded script has a file %s, which cannot be written into %s", engine.Clip(file, 200), c.dir)
		}
		if err := c.save(path.Join(name, file), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
