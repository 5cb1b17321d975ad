package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"metascript/controller/recording"
)

// written returns what is below the current directory, except for what was there before.
func written(t *testing.T, before ...string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if path != "." && !strings.HasPrefix(path, "in") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all[len(before):]
}

// The author of a recording chooses names of parents and of files. Nothing is written outside of the directory of --case, nothing is replaced, and
// no text becomes a field of the case.
func TestHostileNamesInARecording(t *testing.T) {
	parent := func(name, namespace string) func(*recording.Controller, *recording.Reconcile) {
		return func(_ *recording.Controller, r *recording.Reconcile) {
			r.Parent.Name, r.Parent.Namespace = name, namespace
		}
	}
	file := func(key, name string) func(*recording.Controller, *recording.Reconcile) {
		return func(c *recording.Controller, _ *recording.Reconcile) {
			c.Object = []byte(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"sites"},"spec":{"parentResource":{"apiVersion":"example.com/v1","resource":"sites"},"hooks":{"` + key + `":{"script":{"inline":"x"}}}}}`)
			if c.Scripts[key] = c.Scripts[""]; key != "" {
				delete(c.Scripts, "")
			}
			c.Scripts[key].Files[name] = "pwned"
		}
	}
	hook := func(name string) func(*recording.Controller, *recording.Reconcile) {
		return func(_ *recording.Controller, r *recording.Reconcile) { r.Calls[0].Hook = name }
	}
	for name, edit := range map[string]func(*recording.Controller, *recording.Reconcile){
		"up":                  parent("../../../out/pwned", "default"),
		"absolute":            parent("/tmp/pwned", "default"),
		"line break":          parent("a\nb", "default"),
		"line in a namespace": parent("a", "default\non: [push]\n# "),
		"control":             parent("a\x1b[8m", "default"),
		"direction":           parent("a\u202eb", "default"),
		"long":                parent(strings.Repeat("a", 300), "default"),
		"no name":             parent("", "default"),
		"hook":                hook("sync\non: [push]\n#"),
		"key":                 file("../../out/home/.ssh", "authorized_keys"),
		"other key":           file("other", "x.star"),
		"file up":             file("sync", "../../x.star"),
		"hidden":              file("sync", ".envrc"),
		"hidden folder":       file("sync", ".git/hooks/pre-commit"),
		"device":              file("sync", "CON.star"),
		"stream":              file("sync", "a:b.star"),
		"backslash":           file("sync", `..\..\x.star`),
		"line break in file":  file("sync", "a\nb.star"),
		"ends with a dot":     file("sync", "a."),
		"case":                file("sync", "SYNC.star"),
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, replayed)
			if err := os.MkdirAll("in/deep", 0o700); err != nil {
				t.Fatal(err)
			}
			recordOne(t, "in/one.rec", edit)
			metascript(t, "replay", "in/one.rec", "-f", "controller.yaml", "--call", "1", "--case", "in/deep/case").expect(t, 1, nil, []string{"error: "})
			if all := written(t, "controller.yaml"); len(all) > 0 {
				t.Errorf("it wrote %v", all)
			}
			if all, _ := filepath.Glob("in/deep/case/*"); len(all) > 0 {
				t.Errorf("it wrote %v", all)
			}
		})
	}
}

// The directory of --case may have symbolic links and files.
func TestCaseFollowsNoLinkAndReplacesNothing(t *testing.T) {
	inFolder(t, replayed+"-- outside/empty --\n")
	recordOne(t, "in.rec")
	for name, to := range map[string]string{"controller.yaml": "../outside/new.yaml", "cases": "../outside", "sync.star": "../outside/new.star"} {
		if err := os.Mkdir("case", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join("case", name)); err != nil {
			t.Fatal(err)
		}
		got := metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--call", "1", "--case", "case")
		if all, _ := filepath.Glob("outside/*"); len(all) != 1 {
			t.Errorf("%s: it wrote %v: %v", name, all, got)
		}
		if err := os.RemoveAll("case"); err != nil {
			t.Fatal(err)
		}
	}
	run := func() result {
		return metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--call", "1", "--case", "case")
	}
	run().expect(t, 0, []string{"wrote case/sync.star, case/controller.yaml, case/cases/blog-call-1.yaml"}, nil)
	run().expect(t, 1, nil, []string{"error: nothing was written, because there already is case/cases/blog-call-1.yaml: move it, or name another directory"})
}

// A case is a link to a file of the user that can be read as a case without an expected answer.
func TestUpdateFollowsNoLink(t *testing.T) {
	const mine = "# Only comments.\n"
	inFolder(t, replayed+"-- mine --\n"+mine+`-- suite/parent.yaml --
{apiVersion: example.com/v1, kind: Site, metadata: {name: blog}, spec: {size: 1}}
-- suite/cases/readme --
`)
	for from, to := range map[string]string{"suite/cases/one.yaml": "../../mine", "suite/controller.yaml": "../controller.yaml"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	metascript(t, "test", "--update", "suite").expect(t, 1, []string{"escapes"}, []string{"error: "})
	if text, err := os.ReadFile("mine"); err != nil || string(text) != mine {
		t.Errorf("the file has %q: %v", text, err)
	}
}

// The limits in a recording are not more than those of the user who replays it.
func TestLimitsInARecording(t *testing.T) {
	inFolder(t, replayed)
	recordOne(t, "in.rec", func(c *recording.Controller, r *recording.Reconcile) {
		script := c.Scripts[""]
		script.Files["sync.star"] = "def sync(parent):\n    for i in range(1 << 40):\n        pass\n"
		r.Calls[0].Limits = &recording.Limits{Timeout: time.Hour, Steps: 1 << 60, Memory: 1 << 60, Output: 1 << 60}
	})
	metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--max-script-steps", "100000").expect(t, 1, []string{"1 answer differs"}, []string{"error: "})
}
