// Package version says which version of the program this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// number is the version of a release. The linker sets it: -ldflags "-X metascript/cmd/metascript/internal/version.number=v1.2.3"; the
// Makefile does so.
var number = ""

// Info is what a bug report needs. Its JSON form is the output of "metascript version -o json".
type Info struct {
	Version  string `json:"version"`            // of the release, or of the module, or else the commit
	Revision string `json:"revision,omitempty"` // the commit, if the Go toolchain has recorded it
	Modified bool   `json:"modified,omitempty"` // there were changes that are not in the commit
	Go       string `json:"go"`                 // the version of Go
	Platform string `json:"platform"`           // such as linux/amd64
}

// Get returns the Info of this program.
func Get() Info {
	build, _ := debug.ReadBuildInfo() // nil in a program that was built without modules
	return infoOf(number, build)
}

// infoOf returns the Info of a program that was linked with a number, with the BuildInfo of the Go toolchain, which may be nil. The
// module has a version if it was installed with "go install MODULE@VERSION"; in a directory with a repository, the version is
// "(devel)" or one that the toolchain makes of the commit.
func infoOf(number string, build *debug.BuildInfo) Info {
	info := Info{Version: number, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build == nil {
		build = &debug.BuildInfo{}
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = setting.Value
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

// UserAgent returns the user agent of requests to the API server, which derives the name of a field manager from the part before the
// slash. This part is the one of Metacontroller: otherwise the fields of objects that Metacontroller wrote would have two managers.
func UserAgent() string {
	info := Get()
	return "metacontroller/" + info.Version + " (metascript; " + info.Platform + ")"
}
