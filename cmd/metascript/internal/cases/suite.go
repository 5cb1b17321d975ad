package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/object"
)

// A Suite is a folder with a controller and its cases:
//
//	controller.yaml  one controller or several, and other objects, such as ConfigMaps with scripts
//	crd.yaml         definitions, whose defaults are set; optional
//	parent.yaml      the parent of the cases that have none; optional
//	cases/*.yaml     the cases
//
// The cases are read when they are run; only their kinds are needed before.
type Suite struct {
	dir         string
	objects     []manifest.Document // of controller.yaml
	controllers []manifest.Document // the controllers in objects
	definitions []*apiextensionsv1.CustomResourceDefinition
	parents     []manifest.Document // of parent.yaml, which need not exist
	files       []string            // of the cases
	kinds       map[schema.GroupVersionResource]object.Kind
	err         error // why its files cannot be read, so that no case can be run
}

// controllerFile is the name of the file with the controllers of a suite.
const controllerFile = "controller.yaml"

// ReadSuites returns the suites in folders. A folder that has no folder cases is replaced by the folders in it that have one. If there
// are none, that is an error: probably the path is wrong, and a test that tests nothing must not pass. A suite with a file that cannot be
// read is no error: it fails when it is run, so that the others can be run.
func ReadSuites(dirs []string) ([]*Suite, error) {
	var all []*Suite
	for _, dir := range dirs {
		if err := manifest.CheckDir(dir); err != nil {
			return nil, err
		}
		found, err := filepath.Glob(filepath.Join(dir, "*", "cases"))
		if err != nil {
			return nil, err
		}
		// A folder with a folder cases is one suite, even if other folders in it have one too.
		if info, err := os.Stat(filepath.Join(dir, "cases")); err == nil && info.IsDir() {
			found = []string{filepath.Join(dir, "cases")}
		}
		if len(found) == 0 {
			return nil, noCases(dir)
		}
		for _, cases := range found {
			s := &Suite{dir: filepath.Dir(cases)}
			s.err = s.read()
			all = append(all, s)
		}
	}
	return all, nil
}

// noCases returns the error that a directory has no cases.
func noCases(dir string) error {
	if of := manifest.WithoutCases(dir); of != dir {
		return fmt.Errorf("%s has no directory cases: want the directory with controller.yaml: %s", dir, of)
	}
	return fmt.Errorf("%s has no directory cases, and no directory in it has one", dir)
}

// IsSuite reports whether a folder has cases, and the controller that they are about.
func IsSuite(dir string) bool {
	for _, name := range []string{controllerFile, "cases"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// read reads the files of the suite, except for the cases.
func (s *Suite) read() (err error) {
	if s.files, err = manifest.Files([]string{filepath.Join(s.dir, "cases")}); err != nil {
		return err
	}
	if len(s.files) == 0 {
		return fmt.Errorf("%s: there are no cases", filepath.Join(s.dir, "cases"))
	}
	if s.objects, err = manifest.Read([]string{filepath.Join(s.dir, controllerFile)}, nil); err != nil {
		return err
	}
	s.controllers = manifest.Controllers(s.objects)
	crds, err := readIfExists(filepath.Join(s.dir, "crd.yaml"))
	if err != nil {
		return err
	}
	if err := check.Definitions(slices.Concat(s.objects, crds)); err != nil {
		return err
	}
	if s.definitions, err = manifest.CRDs(slices.Concat(s.objects, crds)); err != nil {
		return err
	}
	if s.parents, err = readIfExists(filepath.Join(s.dir, "parent.yaml")); err != nil {
		return err
	}
	s.kinds = kindsOf(s.files)
	return nil
}

// readIfExists returns the documents in a file, or none if the file does not exist.
func readIfExists(path string) ([]manifest.Document, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return manifest.Read([]string{path}, nil)
}

// name returns the name of the folder, for the names of cases.
func (s *Suite) name() string {
	if path, err := filepath.Abs(s.dir); err == nil {
		return filepath.Base(path) // the folder may be "."
	}
	return filepath.Base(s.dir)
}

// Err returns why the files of the suite cannot be read.
func (s *Suite) Err() error { return s.err }

// Dir returns the folder. Scripts in files are below it.
func (s *Suite) Dir() string { return s.dir }

// Definitions returns the definitions in the folder.
func (s *Suite) Definitions() []*apiextensionsv1.CustomResourceDefinition { return s.definitions }

// A Call is the call of a case, without sources of scripts and without schemas.
type Call struct {
	*hookcall.Call
	File  string // of the case
	Fails bool   // the expected outcome is an error
}

// Calls returns the calls of all cases. They share no objects, since a call modifies its objects.
func (s *Suite) Calls() ([]Call, error) {
	var all []Call
	for _, file := range s.files {
		c, err := readCase(file)
		if err != nil {
			return nil, err
		}
		call, err := c.call(s)
		if err != nil {
			return nil, err
		}
		all = append(all, Call{call, file, c.want.Error != ""})
	}
	return all, nil
}

// NeedWorkers reports whether a controller in the suites runs its scripts in worker processes.
func NeedWorkers(suites []*Suite) bool {
	return slices.ContainsFunc(suites, func(s *Suite) bool { return manifest.NeedWorkers(s.controllers) })
}
