package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/style"
)

// Each reason that the server can write has an entry, and each entry is about one that the server can write.
func TestEntriesAreComplete(t *testing.T) {
	entries, err := Entries()
	if err != nil {
		t.Fatal(err)
	}
	names := Names(entries)
	written := writtenReasons(t)
	for _, known := range []string{"SyncError", "ScriptHeld", "FieldConflict", "Ready", "CompileError", "RolloutWaiting", "Updated"} {
		if !written[known] {
			t.Errorf("%s is not found in the sources", known)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(written)) {
		if !slices.Contains(names, reason) {
			t.Errorf("docs/reasons.md has no entry for %s", reason)
		}
	}
	for i, name := range names {
		if !written[name] {
			t.Errorf("docs/reasons.md has an entry for %s, which the server does not write", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("docs/reasons.md has two entries for %s", name)
		}
	}
}

// writtenReasons returns the types of conditions, their reasons, and the reasons of events in the sources of the server:
//
//   - the values of the constants of package v1alpha1 whose names begin with Condition or Reason, and of those of package rollout;
//   - the second argument of calls of methods Normal and Warning. If it is a parameter of the calling function, the argument of its
//     calls; if it is a field Reason, a reason of a condition.
func writtenReasons(t *testing.T) map[string]bool {
	t.Helper()
	files := parsedSources(t)
	found := map[string]bool{}
	for path, file := range files {
		for _, constant := range constants(file) {
			inAPI := strings.Contains(path, "/api/v1alpha1/") && (strings.HasPrefix(constant.name, "Condition") || strings.HasPrefix(constant.name, "Reason"))
			if inAPI || strings.HasSuffix(path, "/rollout/condition.go") {
				found[constant.value] = true
			}
		}
	}
	takers := map[string]int{"Normal": 1, "Warning": 1} // methods that record events, with the place of the reason
	for {
		before := len(takers)
		for path, file := range files {
			collectEvents(t, path, file, takers, found)
		}
		if len(takers) == before {
			return found
		}
	}
}

// parsedSources returns the files of the server without tests.
func parsedSources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir("../../../../controller", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files[filepath.ToSlash(path)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

type constant struct{ name, value string }

// constants returns the constants of a file that are strings.
func constants(file *ast.File) []constant {
	var all []constant
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				if value, ok := text(spec.Values[i]); ok {
					all = append(all, constant{name.Name, value})
				}
			}
		}
		return true
	})
	return all
}

// text returns the value of a string literal.
func text(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// collectEvents adds the reasons of the events that a file records, and the functions that get the reason as a parameter.
func collectEvents(t *testing.T, path string, file *ast.File, takers map[string]int, found map[string]bool) {
	t.Helper()
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			place, takes := takers[method.Sel.Name]
			if !takes || place >= len(call.Args) {
				return true
			}
			switch reason := call.Args[place].(type) {
			case *ast.BasicLit:
				value, _ := text(reason)
				found[value] = true
			case *ast.Ident:
				if at := parameter(function, reason.Name); at >= 0 {
					takers[function.Name.Name] = at
					return true
				}
				t.Errorf("%s: %s is called with the reason %s, which is not known", path, method.Sel.Name, reason.Name)
			case *ast.SelectorExpr:
				if reason.Sel.Name != "Reason" {
					t.Errorf("%s: %s is called with a reason that is not known", path, method.Sel.Name)
				}
			default:
				t.Errorf("%s: %s is called with a reason that is not known", path, method.Sel.Name)
			}
			return true
		})
	}
}

// parameter returns the place of a parameter of a function; -1 if there is none of this name.
func parameter(of *ast.FuncDecl, name string) int {
	at := 0
	for _, field := range of.Type.Params.List {
		for _, parameter := range field.Names {
			if parameter.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}

func TestFind(t *testing.T) {
	entries := []Entry{{Name: "ScriptHeld"}, {Name: "ScriptsHeld"}, {Name: "SyncError"}}
	if got, err := Find("syncerror", entries); err != nil || got.Name != "SyncError" {
		t.Errorf("got %+v, error %v", got, err)
	}
	for name, want := range map[string]string{"SyncEror": "did you mean SyncError?", "Nothing": "metascript explain lists"} {
		if _, err := Find(name, entries); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}

// Each entry has a command that shows where the reason is, except those about parents whose kinds are not known.
func TestCommandsThatFind(t *testing.T) {
	entries, err := Entries()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ofParents := strings.Contains(e.Where, "Condition of a parent") || strings.Contains(e.Where, "condition Updated"); ofParents != (len(e.Find) == 0) {
			t.Errorf("%s: %s: the commands are %q", e.Name, e.Where, e.Find)
		}
	}
	loaded, err := Find("Loaded", entries)
	want := []string{`kubectl get compositecontrollers,decoratorcontrollers -o jsonpath='{range .items[*]}{.metadata.name}: ` +
		`{.status.conditions[?(@.type=="ScriptReady")].status} {.status.conditions[?(@.type=="ScriptReady")].message}{"\n"}{end}'`}
	if diff := cmp.Diff(want, loaded.Find); err != nil || diff != "" {
		t.Errorf("Loaded: error %v (-want +got):\n%s", err, diff)
	}
}

func TestParse(t *testing.T) {
	const good = "# Title\n\n## Group\n\n### A\n\nEvent on a [parent](x.md).\n\n**Meaning.** It is\na.\n\n**Cause.** b\n\n**What to do.** c\n\n    kubectl a\n    kubectl b\n\n## Next\n\nText.\n\n### B\n\nEvent.\n\n**Meaning.** a\n\n**Cause.** b\n\n**What to do.** c\n"
	got, err := parse(good)
	if err != nil || len(got) != 2 || got[1].Name != "B" {
		t.Fatalf("got %+v, error %v", got, err)
	}
	want := Entry{"A", "Event on a parent.", "It is a.", "b", "c", []string{"kubectl a", "kubectl b"}, []string{"kubectl get events -A --field-selector reason=A"}}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const text = "A\n  Event on a parent.\n\nMeaning\n  It is a.\n\nCause\n  b\n\nWhat to do\n  c\n\n    kubectl a\n    kubectl b\n\n" +
		"Where it is now\n    kubectl get events -A --field-selector reason=A\n"
	if diff := cmp.Diff(text, got[0].Text(style.Styler{})); diff != "" {
		t.Errorf("the text (-want +got):\n%s", diff)
	}
	for _, bad := range []string{strings.Replace(good, "**Cause.** b\n\n", "", 1), strings.Replace(good, "**Cause.** b", "**Why.** b", 1), strings.Replace(good, "**Cause.** b", "**Cause.** ", 1)} {
		if _, err := parse(bad); err == nil || !strings.HasPrefix(err.Error(), "A: ") {
			t.Errorf("error %v of:\n%s", err, bad)
		}
	}
}
