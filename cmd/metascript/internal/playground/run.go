// Package playground calls a hook with texts in place of files, for the page of the documentation where a script can be tried. Its
// program is in the directory wasm, for a browser.
package playground

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/schemas"
	"metascript/engine"
)

// Files are the texts: YAML with one object or several each. All but the controller and the parent may be empty.
type Files struct {
	Controller string `json:"controller"`
	CRD        string `json:"crd"`
	Parent     string `json:"parent"`
	Children   string `json:"children"`
}

// A Result is what the command run prints.
type Result struct {
	Answer   string   `json:"answer"`   // YAML
	Log      string   `json:"log"`      // what the script printed
	Warnings []string `json:"warnings"` // about the objects and the answer
	Error    string   `json:"error"`
}

// Run calls the hook of the controller for the parent.
func Run(ctx context.Context, files Files) Result {
	var r Result
	if err := r.run(ctx, files); err != nil {
		r.Error = engine.DetailOf(err)
	}
	return r
}

func (r *Result) run(ctx context.Context, files Files) error {
	call, err := newCall(files)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	answer, failed, err := call.DoChecked(ctx, sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{}), &log, r.warn)
	r.Log = log.String()
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	text, err := output.YAML(answer.Document())
	r.Answer = string(text)
	return err
}

func (r *Result) warn(warnings []*place.Error) {
	r.Warnings = append(r.Warnings, place.Texts(warnings)...)
}

// newCall returns the call that the texts describe.
func newCall(files Files) (*hookcall.Call, error) {
	var parsed [4][]manifest.Document
	for i, file := range [...]struct{ name, text string }{
		{"controller.yaml", files.Controller}, {"crd.yaml", files.CRD}, {"parent.yaml", files.Parent}, {"children.yaml", files.Children},
	} {
		var err error
		if parsed[i], err = manifest.Parse(file.name, []byte(file.text)); err != nil {
			return nil, err
		}
	}
	docs, parents, children := append(parsed[0], parsed[1]...), parsed[2], parsed[3]
	if err := check.Definitions(docs); err != nil {
		return nil, err
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return nil, err
	}
	known, err := schemaflags.WithOwn(schemas.Kubernetes(), crds...)
	if err != nil {
		return nil, err
	}
	controllers := manifest.Controllers(docs)
	switch {
	case len(controllers) == 0:
		return nil, manifest.NoControllers([]string{"controller.yaml"}, docs)
	case len(controllers) > 1:
		return nil, fmt.Errorf("controller.yaml has %d controllers: want one", len(controllers))
	case len(parents) != 1:
		return nil, fmt.Errorf("parent.yaml has %d objects: want one", len(parents))
	case manifest.NeedWorkers(controllers):
		return nil, errors.New("TypeScript needs worker processes, which a browser does not have: use JavaScript, Starlark or Jsonnet")
	}
	return &hookcall.Call{
		Controller: controllers[0], Parent: parents[0], Children: children, Schemas: known, Sources: manifest.ScriptSources(nil, docs),
	}, nil
}
