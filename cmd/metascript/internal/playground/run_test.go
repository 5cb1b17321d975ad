package playground

import (
	"os"
	"strings"
	"testing"
)

// example returns the texts of an example.
func example(t *testing.T, name string) Files {
	read := func(file string) string {
		text, err := os.ReadFile("../../../../examples/" + name + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return Files{Controller: read("controller.yaml"), CRD: read("crd.yaml"), Parent: read("parent.yaml")}
}

func TestEachLanguage(t *testing.T) {
	for _, name := range []string{"immortalcontainer", "immortalcontainer-js", "immortalcontainer-jsonnet"} {
		r := Run(t.Context(), example(t, name))
		if r.Error != "" || len(r.Warnings) > 0 || !strings.Contains(r.Answer, "image: nginx:1.29") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestErrorHasPlaceCaretAndHint(t *testing.T) {
	files := example(t, "immortalcontainer")
	files.Controller = strings.ReplaceAll(files.Controller, `["image"]`, `["imagee"]`)
	r := Run(t.Context(), files)
	for _, want := range []string{"controller.yaml:", "^", `did you mean "image"?`} {
		if !strings.Contains(r.Error, want) {
			t.Errorf("the error has no %q:\n%s", want, r.Error)
		}
	}
}

func TestInvalidFiles(t *testing.T) {
	for want, change := range map[string]func(*Files){
		"parent.yaml has 0 objects: want one": func(f *Files) { f.Parent = "" },
		"no CompositeController":              func(f *Files) { f.Controller = "" },
		"crd.yaml:1":                          func(f *Files) { f.CRD = "a: [" },
		"crd.yaml:7:10":                       func(f *Files) { f.CRD = strings.Replace(f.CRD, "scope: Namespaced", "scope: Everywhere", 1) },
		"TypeScript needs worker processes":   func(f *Files) { f.Controller = strings.ReplaceAll(f.Controller, "Starlark", "TypeScript") },
		"controller.yaml has 2 controllers":   func(f *Files) { f.Controller += "\n---\n" + f.Controller },
	} {
		files := example(t, "immortalcontainer")
		change(&files)
		if r := Run(t.Context(), files); !strings.Contains(r.Error, want) {
			t.Errorf("error %q: want %q", r.Error, want)
		}
	}
}
