package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of the controller, from the top down. Each may import only those that come after it.
var layers = []string{
	"",        // the manager of controllers
	"inspect", // what a server tells of parents over HTTP
	"tree",    // the ownership trees of parents
	"details", // what the status leaves out
	"status",  // what the manager reports of one
	"reconcile",
	"guard",   // whether a new version may run
	"offline", // what the command line uses in place of both
	"shadow",  // candidates for scripts, beside those that run
	"preview", // what a version would do
	"call",
	"restarts", // which changes restart Pods
	"children",
	"parents",
	"failures",
	"delays",    // whether parents wait because hooks are slow
	"history",   // what the last reconciles of parents did
	"recording", // files with reconciles that can be replayed
	"accounts",
	"binding",
	"rights", // what a controller has to be permitted
	"related",
	"strays",
	"finalizers",
	"static",
	"revisions",
	"store",
	"observe", // what a server tells of its work
	"build",
	"random", // the key of random values
	"references",
	"queue",
	"claim",
	"spec",
	"remember", // which reconciles need not be done
	"hook",
	"etags", // the responses of webhooks that had one
	"dispatch",
	"access",
	"informer",
	"throttle",
	"recovery", // when parents that failed of the same cause are tried again
	"inputs",   // who changed what a hook gets
	"transition",
	"spans", // of traces
	"kube",
	"changes",
	"rollout",
	"plan",
	"compared", // how children compared with what hooks returned
	"ownership",
	"scalar",  // compares JSON scalars
	"builtin", // fields of built-in kinds that are not returned as they were written
	"absent",  // texts that are made of missing values
	"scrub",   // the values of Secrets in whole objects
	"redact",
	"secretvalues", // the values of Secrets, and where they are in texts
	"overlap",
	"metrics",
	"lease",
	"idle", // gives memory back at rest
	"work",
	"connection",
	"apiserver", // how the API server answers
	"reach",     // where webhooks of tenants are called
	"wire",      // the client of informers and writes
	"bodies",
	"turns",
	"httpanswer", // HTTP responses that functions return
	"jsontree",
	"selection",
	"eventbudget", // how many events there are about an object
	"object",
	"account",
	"schemas",
	"kinds",
	"api/validation",
	"api/rules",
	"api/v1alpha1",
	"allowed",
	"shell", // words of commands that are printed
}

func TestControllerPackagesImportOnlyLowerLayers(t *testing.T) {
	const prefix = "metascript/controller"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, prefix+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	layer := func(path string) (int, bool) {
		name, ours := strings.CutPrefix(path, prefix)
		return slices.Index(layers, strings.TrimPrefix(name, "/")), ours
	}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		if strings.HasSuffix(paths[0], "test") {
			continue // helpers of tests
		}
		from, _ := layer(paths[0])
		if from < 0 {
			t.Errorf("%s is not in the list of layers", paths[0])
		}
		for _, imported := range paths[1:] {
			if to, ours := layer(imported); ours && to <= from {
				t.Errorf("%s imports %s, which is not below it", paths[0], imported)
			}
		}
	}
}

// The limits of a package and of a type, without tests and generated code. The package of the verbs has one file for each, so that only
// its types have a limit.
const (
	mostLines   = 3000
	mostFiles   = 20
	mostMethods = 34
)

func TestSizesOfPackagesAndTypes(t *testing.T) {
	for _, root := range []string{"../../controller", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = measure(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// accessor matches the methods of metav1.Object, which do not say how much a type does.
var accessor = regexp.MustCompile(`^[GS]et[A-Z]`)

// measure looks at the package in one folder.
func measure(t *testing.T, folder string) error {
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		return err
	}
	lines, counted, methods := 0, 0, map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_generated") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		lines, counted = lines+strings.Count(string(text), "\n"), counted+1
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !accessor.MatchString(f.Name.Name) {
				methods[receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	if verbs := folder == "../../cmd/metascript"; !verbs && (lines > mostLines || counted > mostFiles) {
		t.Errorf("%s has %d lines in %d files, more than %d or %d", folder, lines, counted, mostLines, mostFiles)
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s: type %s has %d methods, more than %d", folder, name, n, mostMethods)
		}
	}
	return nil
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
