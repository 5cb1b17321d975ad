// Package version says which version of the program this is.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// The linker sets these variables: -ldflags "-X metascript/cmd/metascript/internal/version.number=v1.2.3"; the Makefile does so. They
// are empty in a program that was built otherwise.
var (
	number   string // the version of a release
	revision string // the commit
	date     string // of the commit, in RFC 3339: a program that is built twice is the same twice
)

// Info is what a bug report needs. Its JSON form is the output of "metascript version -o json".
type Info struct {
	Version  string `json:"version"`            // of the release, or of the module, or else the commit
	Revision string `json:"revision,omitempty"` // the commit
	Date     string `json:"date,omitempty"`     // of the commit, in RFC 3339
	Modified bool   `json:"modified,omitempty"` // there were changes that are not in the commit
	Go       string `json:"go"`                 // the version of Go
	Platform string `json:"platform"`           // such as linux/amd64
}

// Get returns the Info of this program.
func Get() Info {
	build, _ := debug.ReadBuildInfo() // nil in a program that was built without modules
	return infoOf(Info{Version: number, Revision: revision, Date: date}, build)
}

// infoOf returns the Info of a program that was linked with some fields of it, with the BuildInfo of the Go toolchain, which may be nil.
// The module has a version if it was installed with "go install MODULE@VERSION"; in a directory with a repository, the version is
// "(devel)" or one that the toolchain makes of the commit.
func infoOf(info Info, build *debug.BuildInfo) Info {
	info.Go, info.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	if build == nil {
		build = &debug.BuildInfo{}
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = cmp.Or(info.Revision, setting.Value)
		case "vcs.time":
			info.Date = cmp.Or(info.Date, setting.Value)
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	switch {
	case info.Version != "":
	case build.Main.Version != "" && build.Main.Version != "(devel)":
		info.Version = build.Main.Version
	case info.Revision != "":
		info.Version = info.Revision
	default:
		info.Version = "unknown"
	}
	return info
}

// String returns the Info in one line.
func (i Info) String() string {
	line := "metascript " + i.Version
	for _, known := range []string{i.Revision, i.Date, i.Go, i.Platform} {
		if known != "" && known != i.Version {
			line += " " + known
		}
	}
	return line
}

// Collector returns the metric metascript_build_info, whose labels are the Info.
func (i Info) Collector() prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "metascript_build_info",
		Help: "Always 1. The labels are the version of the program.",
		ConstLabels: prometheus.Labels{
			"version": i.Version, "revision": i.Revision, "date": i.Date, "goversion": i.Go, "platform": i.Platform,
		},
	})
	info.Set(1)
	return info
}

// UserAgent returns the user agent of requests to the API server, which derives the name of a field manager from the part before the
// slash. This part is the one of Metacontroller: otherwise the fields of objects that Metacontroller wrote would have two managers.
func UserAgent() string {
	info := Get()
	return "metacontroller/" + info.Version + " (metascript; " + info.Platform + ")"
}
