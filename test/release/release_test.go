// Package release tests what "make release" has built: the archives, their SBOMs, checksums and provenance, and the signatures of them
// and of the image. It is a separate Go module, because the release has to be built first: see "make test-release".
package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

const (
	repository = "../.."
	built      = repository + "/build"
	dist       = built + "/dist"
	checksums  = "checksums.txt"
)

// version is what "metascript version -o json" prints.
type version struct{ Version, Revision, Date, Go, Platform string }

// released is the version of the release.
var released version

// TestMain reads the version from the program that "make release" has built for this machine.
func TestMain(m *testing.M) {
	out, err := exec.Command(built+"/metascript", "version", "-o", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &released)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "the version of %s/metascript: %v: run make release\n", built, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	return text
}

// run runs a command and returns what it prints.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// platforms are those of the archives.
var platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}

// archiveName returns the name of the archive for a platform.
func archiveName(platform string) string {
	name := "metascript_" + released.Version + "_" + platform
	if strings.HasPrefix(platform, "windows") {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// sbomName returns the name of the SBOM for a platform.
func sbomName(platform string) string {
	return "metascript_" + released.Version + "_" + platform + ".cdx.json"
}

// program returns the name of the program in the archive for a platform.
func program(platform string) string {
	if strings.HasPrefix(platform, "windows") {
		return "metascript.exe"
	}
	return "metascript"
}

// entry is a file in an archive.
type entry struct {
	os.FileInfo
	text []byte
}

// entries returns the files of an archive by their names.
func entries(t *testing.T, path string) map[string]entry {
	t.Helper()
	found := map[string]entry{}
	if strings.HasSuffix(path, ".zip") {
		r, err := zip.OpenReader(path)
		check(t, err)
		defer r.Close()
		for _, f := range r.File {
			opened, err := f.Open()
			check(t, err)
			text, err := io.ReadAll(opened)
			check(t, errors.Join(err, opened.Close()))
			found[f.Name] = entry{f.FileInfo(), text}
		}
		return found
	}
	opened, err := os.Open(path)
	check(t, err)
	defer opened.Close()
	unzipped, err := gzip.NewReader(opened)
	check(t, err)
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		check(t, err)
		text, err := io.ReadAll(r)
		check(t, err)
		if h.Uname != "root" || h.Gname != "root" {
			t.Errorf("%s: %s belongs to %s:%s", path, h.Name, h.Uname, h.Gname)
		}
		found[h.Name] = entry{h.FileInfo(), text}
	}
}

// pages returns the manual pages: one for the program, and one for each command in its help.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"man/man1/metascript.1"}
	_, list, _ := strings.Cut(run(t, exec.Command(built+"/metascript", "help")), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; name != "help" {
			names = append(names, "man/man1/metascript-"+name+".1")
		}
	}
	for _, shell := range shells {
		names = append(names, "man/man1/metascript-completion-"+shell+".1")
	}
	if len(names) < 15 {
		t.Fatalf("the help has only these commands: %s", names)
	}
	return names
}

var shells = []string{"bash", "fish", "powershell", "zsh"}

func TestArchives(t *testing.T) {
	wanted := append(pages(t), "LICENSE", "README.md")
	for _, shell := range shells {
		wanted = append(wanted, "completions/metascript."+shell)
	}
	date, err := time.Parse(time.RFC3339, released.Date)
	check(t, err)
	for _, platform := range platforms {
		name := archiveName(platform)
		files := entries(t, filepath.Join(dist, name))
		wanted := slices.Sorted(slices.Values(append(wanted, program(platform))))
		var names []string
		for n, f := range files {
			names = append(names, n)
			mode := os.FileMode(0o644)
			if n == program(platform) {
				mode = 0o755
			}
			if f.Mode() != mode || !f.ModTime().Equal(date) || len(f.text) == 0 {
				t.Errorf("%s: %s has %d bytes, mode %s and time %s; want mode %s and the time of the commit, %s", name, n, len(f.text), f.Mode(), f.ModTime(), mode, date)
			}
		}
		if slices.Sort(names); !slices.Equal(names, wanted) {
			t.Errorf("%s has the files\n%s\nwant\n%s", name, strings.Join(names, " "), strings.Join(wanted, " "))
		}

		info, err := buildinfo.Read(bytes.NewReader(files[program(platform)].text))
		check(t, err)
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if got := settings["GOOS"] + "_" + settings["GOARCH"]; got != platform || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
			t.Errorf("%s: the program was built for %s with %v", name, got, settings)
		}
		for _, text := range []string{released.Version, released.Revision, released.Date} {
			if !bytes.Contains(files[program(platform)].text, []byte(text)) {
				t.Errorf("%s: %q is not in the program", name, text)
			}
		}
	}
}

// unpack writes the archive for this machine to a directory.
func unpack(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, f := range entries(t, filepath.Join(dist, archiveName(runtime.GOOS+"_"+runtime.GOARCH))) {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, f.text, f.Mode()))
	}
	return dir
}

func TestProgramOfThisMachine(t *testing.T) {
	dir := unpack(t)
	var got version
	check(t, json.Unmarshal([]byte(run(t, exec.Command(filepath.Join(dir, "metascript"), "version", "-o", "json"))), &got))
	if got != released || got.Revision == "" || got.Date == "" {
		t.Errorf("the program says it is %+v, want %+v", got, released)
	}
	// kubectl finds the plugin by its name.
	check(t, os.Symlink("metascript", filepath.Join(dir, "kubectl-metascript")))
	cluster, err := filepath.Abs(built + "/cluster")
	check(t, err)
	for args, want := range map[string]string{
		"version": "metascript " + released.Version + " ",
		"test " + repository + "/examples/immortalcontainer": "all as expected",
		"check --as=somebody -n=default --help":              "Usage:\n  metascript check",
	} {
		plugin := exec.Command(cluster, append([]string{"kubectl", "metascript"}, strings.Fields(args)...)...)
		plugin.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out := run(t, plugin); !strings.Contains(out, want) {
			t.Errorf("kubectl metascript %s has printed %q, want %q", args, out, want)
		}
	}
}

// The script for bash completes commands with the program.
func TestCompletion(t *testing.T) {
	dir := unpack(t)
	complete := exec.Command("bash", "-c", `
		_get_comp_words_by_ref() { cur=$COMP_WORD prev= words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; } # as the package bash-completion does
		source completions/metascript.bash
		COMP_WORDS=(metascript simu) COMP_CWORD=1 COMP_WORD=simu COMP_LINE="metascript simu" COMP_POINT=15 COMP_TYPE=9
		__start_metascript 2>/dev/null # compopt works only in a completion
		echo "${COMPREPLY[@]}"`)
	complete.Dir = dir
	complete.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out := strings.TrimSpace(run(t, complete)); out != "simulate" {
		t.Errorf("bash completes simu to %q", out)
	}
}

// sums returns the digests in checksums.txt by the names of the files.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(dir, checksums)))) {
		digest, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s: %q", checksums, line)
		}
		found[name] = digest
	}
	return found
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func TestChecksums(t *testing.T) {
	listed := sums(t, dist)
	charts, err := filepath.Glob(dist + "/metascript-*.tgz")
	check(t, err)
	if len(charts) != 1 {
		t.Fatalf("the charts are %s", charts)
	}
	wanted := []string{filepath.Base(charts[0])}
	for _, platform := range platforms {
		wanted = append(wanted, archiveName(platform), sbomName(platform))
	}
	for _, name := range wanted {
		if got := digest(read(t, filepath.Join(dist, name))); got != listed[name] {
			t.Errorf("%s: the digest is %s, and %q in %s", name, got, listed[name], checksums)
		}
		delete(listed, name)
	}
	if len(listed) > 0 {
		t.Errorf("%s has other files too: %v", checksums, listed)
	}
}

func TestSecondBuildIsTheSame(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chtimes(repository+"/manifests/chart/Chart.yaml", time.Time{}, time.Now())) // as in another checkout
	again := exec.Command("make", "release", "DIST="+dir, "VERSION="+released.Version)
	again.Dir = repository
	run(t, again)
	first, second := sums(t, dist), sums(t, dir)
	for name, digest := range first {
		if second[name] != digest {
			t.Errorf("%s: the digests of two builds are %s and %s", name, digest, second[name])
		}
	}
	if len(first) != len(second) {
		t.Errorf("the builds have %d and %d files", len(first), len(second))
	}
}

// The SBOM of a program names the same modules, with their versions, as the program itself.
func TestSBOMs(t *testing.T) {
	for _, platform := range platforms {
		name := sbomName(platform)
		bom := new(cyclonedx.BOM)
		check(t, cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, filepath.Join(dist, name))), cyclonedx.BOMFileFormatJSON).Decode(bom))
		main := bom.Metadata.Component
		if main.Name != "metascript" || main.Version != released.Version || !strings.Contains(main.PackageURL, strings.Split(platform, "_")[0]) {
			t.Errorf("%s: the component is %s %s %s", name, main.Name, main.Version, main.PackageURL)
		}
		var got []string
		licensed := 0
		for _, c := range *bom.Components {
			got = append(got, c.Name+"@"+c.Version)
			if c.Evidence != nil && c.Evidence.Licenses != nil || c.Licenses != nil {
				licensed++
			}
		}
		text := entries(t, filepath.Join(dist, archiveName(platform)))[program(platform)].text
		info, err := buildinfo.Read(bytes.NewReader(text))
		check(t, err)
		want := []string{"std@" + info.GoVersion}
		for _, d := range info.Deps {
			want = append(want, d.Path+"@"+d.Version)
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s has the modules\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if licensed < len(want)*9/10 {
			t.Errorf("%s has the licenses of %d of %d modules", name, licensed, len(want))
		}
		hash := ""
		for _, p := range *bom.Metadata.Properties {
			if p.Name == "cdx:gomod:binary:hash:SHA-256" {
				hash = p.Value
			}
		}
		if hash != digest(text) {
			t.Errorf("%s: the digest of the program is %s, and %q in the SBOM", name, digest(text), hash)
		}
	}
}
