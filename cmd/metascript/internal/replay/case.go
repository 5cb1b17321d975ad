package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"time"

	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/output"
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
	c := &caseOf{run: r, job: chosen}
	files, err = c.write(ctx, dir)
	return files, c.warnings, err
}

// A caseOf makes the case of a call.
type caseOf struct {
	run      *run
	job      *job
	files    []folder.File
	warnings []string
}

// write writes the files into a directory. A recording may come from somebody else: no name in it is used before it is checked.
func (c *caseOf) write(ctx context.Context, dir string) (files []string, err error) {
	if c.job.call.Hook != hook.Sync && c.job.call.Hook != hook.Finalize {
		return nil, fmt.Errorf("call %d is of the hook %q: a case is about a call of the sync or the finalize hook", c.job.number, engine.Clip(c.job.call.Hook, 200))
	}
	if err := checkName(c.job.of.Parent); err != nil {
		return nil, fmt.Errorf("call %d: %w", c.job.number, err)
	}
	text, err := c.text(ctx)
	if err != nil {
		return nil, fmt.Errorf("call %d: %w", c.job.number, err)
	}
	into, err := folder.Open(dir)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	switch has, err := into.Has(controllerFile); {
	case err != nil:
		return nil, err
	case !has:
		if err := c.addController(); err != nil {
			return nil, err
		}
	}
	c.add(fmt.Sprintf("cases/%s-call-%d.yaml", fileNameOf(c.job.of.Parent), c.job.number), text)
	if c.job.call.Redacted {
		c.warnings = append(c.warnings, fmt.Sprintf("call %d had a value that the recording replaced: the case has a hash in its place", c.job.number))
	}
	for _, file := range c.files {
		files = append(files, into.Path(file.Path))
	}
	err = into.Create(c.files...)
	if exist := (*folder.ExistError)(nil); errors.As(err, &exist) {
		return nil, fmt.Errorf("%w: move it, or name another directory", err)
	}
	return files, err
}

// add adds a file to those that are written.
func (c *caseOf) add(name, text string) {
	c.files = append(c.files, folder.File{Path: name, Text: []byte(text)})
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
	text := fmt.Sprintf("# Call %d of the recording: %s of %q.\n", j.number, j.call.Hook, describe(j.of.Parent))
	add := func(name string, value any) error {
		part, err := output.YAML(map[string]any{name: value})
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
		text, err := output.YAML(map[string]any{"error": errorPart(recorded.failure)})
		return string(text), err
	}
	text, err := output.YAML(map[string]any{"answer": document})
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

// addController adds the recorded controller, and its scripts as files beside it.
func (c *caseOf) addController() error {
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
	for _, name := range slices.Sorted(maps.Keys(recorded.Scripts)) {
		if err := c.addScript(content, name, recorded.Scripts[name]); err != nil {
			return err
		}
	}
	text, err := output.YAML(content)
	if err != nil {
		return err
	}
	c.add(controllerFile, string(text))
	return nil
}

// addScript adds the files of a script, and names them in the controller in place of the script.
func (c *caseOf) addScript(controller map[string]any, name string, script recording.Script) error {
	spec, _ := controller["spec"].(map[string]any)
	field, _ := spec["script"].(map[string]any)
	if name != "" {
		hooks, _ := spec["hooks"].(map[string]any)
		of, _ := hooks[name].(map[string]any)
		field, _ = of["script"].(map[string]any)
	}
	if field == nil || !slices.Contains(scriptKeys, name) {
		return fmt.Errorf("the recorded controller has no script %q", engine.Clip(name, 200))
	}
	for _, source := range []string{"inline", "modules", "configMapRef", "libraries"} {
		delete(field, source)
	}
	field["file"] = path.Join(name, script.Entry)
	if field["language"] == nil {
		field["language"] = script.Language
	}
	for _, file := range slices.Sorted(maps.Keys(script.Files)) {
		if err := checkScriptFile(path.Join(name, file)); err != nil {
			return err
		}
		c.add(path.Join(name, file), script.Files[file])
	}
	return nil
}
