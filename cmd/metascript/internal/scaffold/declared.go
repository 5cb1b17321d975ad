package scaffold

import (
	"slices"

	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/controller/schemas"
	"metascript/controller/spec"
)

// declared is what controller.yaml says, with the schemas of Kubernetes and of crd.yaml.
type declared struct {
	*spec.Declaration
	schemas *schemas.Set
}

// declare reads the controller and the definition among the files.
func (p *Project) declare(files []folder.File) (*declared, error) {
	var docs []manifest.Document
	for _, f := range files {
		if !slices.Contains([]string{"crd.yaml", "controller.yaml"}, f.Path) {
			continue
		}
		found, err := manifest.Parse(f.Path, f.Text)
		if err != nil {
			return nil, err
		}
		docs = append(docs, found...)
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return nil, err
	}
	d := &declared{}
	if d.schemas, err = schemaflags.WithOwn(schemas.Kubernetes(), crds...); err != nil {
		return nil, err
	}
	d.Declaration, err = spec.Read(manifest.Controllers(docs)[0].Object)
	return d, err
}
