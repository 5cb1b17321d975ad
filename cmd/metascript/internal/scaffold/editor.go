package scaffold

import (
	"maps"
	"slices"

	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/types"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/engine"
)

// editorFiles returns the files for editors, which are those that "metascript types -f controller.yaml" writes beside the others.
func (p *Project) editorFiles(others []folder.File) ([]folder.File, error) {
	texts, err := p.types(others)
	if err != nil {
		return nil, err
	}
	var files []folder.File
	all := types.Files([]string{p.language.name}, texts)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		files = append(files, folder.File{Path: name, Text: []byte(all[name])})
	}
	return files, nil
}

// types returns the types of the controller and of the definition among the files.
func (p *Project) types(files []folder.File) (*types.Texts, error) {
	var docs []manifest.Document
	for _, f := range files {
		if f.Path == "crd.yaml" || f.Path == "controller.yaml" {
			found, err := manifest.Parse(f.Path, f.Text)
			if err != nil {
				return nil, err
			}
			docs = append(docs, found...)
		}
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return nil, err
	}
	set, err := schemaflags.WithOwn(schemas.Kubernetes(), crds...)
	if err != nil {
		return nil, err
	}
	var controllers []types.Controller
	for _, doc := range manifest.Controllers(docs) {
		declared, err := spec.Read(doc.Object)
		if err != nil {
			return nil, err
		}
		controllers = append(controllers, types.Of(declared, set.Kinds()))
	}
	return types.Generate(set, controllers, p.language.name == engine.TypeScript)
}
