package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"metascript/cmd/metascript/internal/manifest"
)

// A Suite is the folder of a controller, with its cases and what they have in common:
//
//	controller.yaml  one controller or several, and other objects, such as ConfigMaps with scripts
//	crd.yaml         definitions, whose defaults are set; optional
//	parent.yaml      the parent of the cases that have none; optional
//	cases/*.yaml     the cases
//
// The cases are read when they are run.
type Suite struct {
	dir         string
	objects     []manifest.Document // of controller.yaml
	controllers []manifest.Document // those among objects
	definitions []*apiextensionsv1.CustomResourceDefinition
	parents     []manifest.Document // of parent.yaml, which need not exist
	files       []string            // with a case each
}

// ReadSuites reads folders. One that has no folder cases stands for the folders in it that have one. It is an error if there are
// none: most likely the path is wrong, and no test is worse than one that fails.
func ReadSuites(dirs []string) ([]*Suite, error) {
	var all []*Suite
	for _, dir := range dirs {
		with, err := filepath.Glob(filepath.Join(dir, "*", "cases"))
		if err != nil {
			return nil, err
		}
		// A folder with cases of its own is one suite, whatever its folders have.
		if info, err := os.Stat(filepath.Join(dir, "cases")); err == nil && info.IsDir() {
			with = []string{filepath.Join(dir, "cases")}
		}
		if len(with) == 0 {
			return nil, fmt.Errorf("%s: there is no folder cases in it, nor in a folder of it", dir)
		}
		for _, cases := range with {
			s, err := readSuite(filepath.Dir(cases))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// readSuite reads what the cases of a folder have in common.
func readSuite(dir string) (*Suite, error) {
	objects, err := manifest.Read([]string{filepath.Join(dir, "controller.yaml")}, nil)
	if err != nil {
		return nil, err
	}
	s := &Suite{dir: dir, objects: objects, controllers: manifest.Controllers(objects)}
	crds, err := readIfExists(filepath.Join(dir, "crd.yaml"))
	if err != nil {
		return nil, err
	}
	if s.definitions, err = manifest.CRDs(slices.Concat(objects, crds)); err != nil {
		return nil, err
	}
	if s.parents, err = readIfExists(filepath.Join(dir, "parent.yaml")); err != nil {
		return nil, err
	}
	if s.files, err = manifest.Files([]string{filepath.Join(dir, "cases")}); err != nil {
		return nil, err
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("%s: there are no cases", filepath.Join(dir, "cases"))
	}
	return s, nil
}

// readIfExists reads no documents from a file that does not exist.
func readIfExists(path string) ([]manifest.Document, error) {
	docs, err := manifest.Read([]string{path}, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return docs, err
}

// NeedWorkers reports whether a controller of the suites runs its scripts in worker processes.
func NeedWorkers(suites []*Suite) bool {
	return slices.ContainsFunc(suites, func(s *Suite) bool { return manifest.NeedWorkers(s.controllers) })
}
