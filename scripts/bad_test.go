package scripts

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"metascript/engine"
)

// For each kind of bad input there is an Error with the name of the file, what is wrong, and what to do.
func TestAssembleReturnsErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"scripts/good.star":       "x = 1",
		"scripts/empty.star":      " \n",
		"scripts/bytes.star":      "x = 1\ny = 'é\xff'",
		"scripts/folder.star/x":   "",
		"scripts/NEWS":            "x",
		"scripts/loads-link.star": "# load('x')\n\nload(\n  \"link.star\", \"x\")",
		"scripts/loads-pipe.star": "load('pipe.star', 'x')",
		"scripts/loads-huge.star": "load('huge.star', 'x')",
		"scripts/mentions.star":   "x = ['link.star', 'pipe.star', 'huge.star', 'bytes.star', 'out/secret.star', 'loop.star']",
		"scripts/many.star":       "load('half.star', 'x'); load('other.star', 'x')",
		"scripts/half.star":       strings.Repeat("x", 600_000),
		"scripts/other.star":      strings.Repeat("x", 600_000),
		"scripts/dynamic.js":      "require('./' + name)",
		"secret.star":             "secret = 1",
	})
	scripts := filepath.Join(dir, "scripts")
	at := func(name string) string { return filepath.Join(scripts, name) }
	for _, err := range []error{
		os.Symlink("../secret.star", at("link.star")),
		os.Symlink("..", at("out")),
		os.Symlink(at("good.star"), at("absolute.star")),
		os.Symlink("loop.star", at("loop.star")),
		os.Symlink("gone.star", at("dangling.star")),
		os.Symlink("/dev/zero", at("zero.star")),
		os.Symlink("good.star", at("inside.star")),
		unix.Mkfifo(at("pipe.star"), 0o644),
		os.Truncate(at("good.star"), 5),
		os.WriteFile(at("huge.star"), nil, 0o644),
		os.Truncate(at("huge.star"), 1<<30),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", at("socket.star"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	from := in(filepath.Join(dir, "none"), scripts)
	for _, c := range []struct {
		file   string
		reason Reason
		want   []string
	}{
		{"godo.star", NotFound, []string{"file godo.star: it is not in " + dir + "/none, nor in " + scripts + " (did you mean good.star?)"}},
		{"folder.star/y", NotFound, []string{"(did you mean folder.star/x?)"}},
		{"good.star/x", NotFound, nil},
		{"dangling.star", NotFound, nil},
		{strings.Repeat("x", 300), NotFound, nil},
		{"..data/good.star", Invalid, []string{"is not a path below a scripts directory (write it like catset/sync.js)"}},
		{"../secret.star", Invalid, []string{"is not a path below"}},
		{at("good.star"), Invalid, []string{"is not a path below"}},
		{".", Invalid, []string{"is not a path below"}},
		{"a\x00b.star", Invalid, []string{"is not a path below"}},
		{"NEWS", Invalid, []string{"file NEWS: its name does not imply a language (set language, or"}},
		{"folder.star", Invalid, []string{"file folder.star: is a directory (name the file in it)"}},
		{"empty.star", Invalid, []string{"file empty.star: is empty"}},
		{"bytes.star", Invalid, []string{"bytes.star:2:7: is not UTF-8: there is a byte 0xff (save the file as UTF-8)"}},
		{"link.star", Invalid, []string{"file link.star: is a link to a path outside of " + scripts + " (put the file itself there; a link inside the directory must be relative)"}},
		{"out/secret.star", Invalid, []string{"is a link to a path outside of"}},
		{"out/nothing.star", Invalid, []string{"is a link to a path outside of"}},
		{"zero.star", Invalid, []string{"is a link to a path outside of"}},
		{"absolute.star", Invalid, []string{"is a link to a path outside of"}},
		{"loop.star", Invalid, []string{"file loop.star: cannot be read: too many levels of symbolic links"}},
		{"pipe.star", Invalid, []string{"file pipe.star: is a named pipe and not a file (put a file in its place)"}},
		{"socket.star", Invalid, []string{"is a socket and not a file"}},
		{"huge.star", Invalid, []string{"file huge.star: is larger than the 1048576 bytes that a script may have"}},
		{"loads-link.star", Invalid, []string{"file link.star: is a link"}},
		{"loads-pipe.star", Invalid, []string{"file pipe.star: is a named pipe"}},
		{"loads-huge.star", Invalid, []string{"file huge.star: is larger"}},
		{"many.star", Invalid, []string{"other.star: the script's files are too large: with this one more than the 1048576 bytes that are allowed"}},
		{"good.star", "", nil},
		{"inside.star", "", nil},
		{"mentions.star", "", nil},
		{"dynamic.js", "", nil},
	} {
		made, err := from.Assemble(Wanted{File: c.file}, false)
		if c.reason != "" {
			refused(t, err, c.reason, c.want...)
		} else if err != nil {
			t.Errorf("%s: %v", c.file, err)
		} else if text := fmt.Sprint(contents(t, made.Script)); strings.Contains(text, "secret = ") {
			t.Errorf("%s: %s", c.file, text)
		}
	}
	_, err = Sources{}.Assemble(Wanted{File: "good.star"}, false)
	refused(t, err, NotFound, "file good.star: there is no scripts directory (start the server with --scripts-dir)")
	_, err = Sources{}.Assemble(Wanted{ConfigMap: Key{"a", "b", "c"}}, false)
	refused(t, err, NotFound, "ConfigMap a/b: there is no cluster")
}

// A library that cannot be read is an error for a script that loads from it, and a warning for others.
func TestAssembleWithAMissingLibrary(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"a/sync.star": "load('shared/x.star', 'x')",
		"a/sync.js":   "const name = 'shared/x.js'; require(name)",
		"b/sync.star": "x = 1",
	})
	shared := []Library{{File: "libs/shared"}}
	want := "library shared: file libs/shared: it is not in " + dir
	_, err := in(dir).Assemble(Wanted{File: "a/sync.star", Libraries: shared}, false)
	refused(t, err, NotFound, want)
	_, err = in(dir).Assemble(Wanted{File: "a/sync.js", Libraries: shared}, false)
	refused(t, err, NotFound, want)
	made, err := in(dir).Assemble(Wanted{File: "b/sync.star", Libraries: shared}, false)
	if err != nil || len(made.Warnings) != 1 || !strings.HasPrefix(made.Warnings[0], want) {
		t.Errorf("got warnings %q, %v", made.Warnings, err)
	}
	for _, c := range []struct {
		libraries []Library
		want      string
	}{
		{[]Library{{File: "a"}, {Name: "a", File: "b"}}, "library b: there are two libraries called a (give one of them another name)"},
		{[]Library{{File: "../x"}}, "library x: file ../x: is not a path below"},
		{[]Library{{File: "."}}, `library .: "." is not a name that scripts can load (give it a name)`},
		{[]Library{{Name: "/x", File: "a"}}, `"/x" is not a name`},
	} {
		made, err := in(dir).Assemble(Wanted{File: "b/sync.star", Libraries: c.libraries}, false)
		if text := fmt.Sprint(err, made.Warnings); !strings.Contains(text, c.want) {
			t.Errorf("got %s, want %s", text, c.want)
		}
	}
}

// asNobody calls do with the file permissions of an unprivileged user.
func asNobody(t *testing.T, do func()) {
	if os.Getuid() != 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // forever: the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

func TestAssembleUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"closed.star": "x = 1", "folder/sync.star": "", "loads.star": "load('closed.star', 'x')", "good.star": "x = 'closed.star'"})
	for name, mode := range map[string]os.FileMode{"closed.star": 0, "folder": 0, "../": 0o755, "../../": 0o755} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil && mode == 0 {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "folder"), 0o755)
	asNobody(t, func() {
		for _, file := range []string{"closed.star", "folder/sync.star", "loads.star"} {
			_, err := in(dir).Assemble(Wanted{File: file}, false)
			refused(t, err, Invalid, "cannot be read: permission denied (let the server's user read it and the directories above it)")
		}
		if _, err := in(dir).Assemble(Wanted{File: "good.star"}, false); err != nil {
			t.Error(err)
		}
		_, err := in(filepath.Join(dir, "folder")).Assemble(Wanted{File: "sync.star"}, false)
		refused(t, err, Invalid, "permission denied")
	})
}

// A file that changes during every attempt is an error, and is not read partially.
func TestAssembleFailsIfFilesAlwaysChange(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"sync.star": "x"})
	from := in(dir)
	count := 0
	from.ConfigMaps = func(string, string) (*ConfigMap, error) { // asked when the entry is found and not yet read
		count++
		put(t, dir, map[string]string{"sync.star": strings.Repeat("x", count+1)})
		return &ConfigMap{}, nil
	}
	_, err := from.Assemble(Wanted{File: "sync.star", Libraries: []Library{{ConfigMap: Key{"default", "lib", ""}}}}, false)
	refused(t, err, Unsettled, "file sync.star: its files change while they are read (it is tried again; write less often)")
	if count != maxAttempts {
		t.Errorf("tried %d times, want %d", count, maxAttempts)
	}
}

func TestSubPath(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"one.star": "load('lib/x.star', 'x')", "lib/x.star": "x = 1", "whole/y.star": "y = 1"})
	const rest = " rw,relatime - ext4 /dev/vda rw\n"
	from := in(dir)
	from.Folders.mounts = func() ([]byte, error) {
		return []byte("1 0 254:0 / /" + rest +
			"2 1 254:0 /var/lib/kubelet/pods/u/volumes/kubernetes.io~configmap/s/..2026_01_01/one.star " + dir + "/one.star" + rest +
			"3 1 254:0 /var/lib/kubelet/pods/u/volume-subpaths/s/c/0 " + dir + "/lib" + rest +
			"4 1 254:0 /var/lib/kubelet/pods/u/volumes/kubernetes.io~configmap/w " + dir + "/whole" + rest +
			"odd\n"), nil
	}
	for file, want := range map[string]string{
		"one.star":     "[lib/x.star is mounted by subPath, which is never updated: mount the whole volume one.star is mounted by subPath, which is never updated: mount the whole volume]",
		"lib/x.star":   "[lib/x.star is mounted by subPath, which is never updated: mount the whole volume]",
		"whole/y.star": "[]",
	} {
		made, err := from.Assemble(Wanted{File: file}, false)
		if err != nil || fmt.Sprint(made.Warnings) != want {
			t.Errorf("%s: got warnings %q, %v, want %q", file, made.Warnings, err, want)
		}
	}
	if got := neverUpdated("1 0 0:1 / "+strings.ReplaceAll(dir, "/", `/`)+`/a\040b`+rest, dir); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	put(t, dir, map[string]string{"a b": ""})
	if got := neverUpdated("1 0 0:1 / "+dir+`/a\040b`+rest, dir); len(got) != 1 || got[0] != dir+"/a b" {
		t.Errorf("got %q", got)
	}
}

func TestLimitCountsAllFilesWithTheirNames(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.star": "load('b.star', 'b')", "b.star": "b = 1"})
	size := int64(len("a.starload('b.star', 'b')b.starb = 1"))
	if _, err := in(dir).Assemble(Wanted{File: "a.star", Limit: size}, false); err != nil {
		t.Error(err)
	}
	_, err := in(dir).Assemble(Wanted{File: "a.star", Limit: size - 1}, false)
	refused(t, err, Invalid, "too large")
	made, err := in(dir).Assemble(Wanted{File: "a.star", Limit: size}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Digest(engine.Limits{Source: size}); err != nil {
		t.Error(err)
	}
}
