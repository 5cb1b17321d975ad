package scaffold

import (
	"maps"
	"slices"

	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/types"
	"metascript/engine"
)

// editorFiles returns the files for editors, which are those that "metascript types -f controller.yaml" writes beside the others.
func (p *Project) editorFiles(d *declared) ([]folder.File, error) {
	controllers := []types.Controller{types.Of(d.Declaration, d.schemas.Kinds())}
	texts, err := types.Generate(d.schemas, controllers, p.language.name == engine.TypeScript)
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
