package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	built := func(module string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: module}}
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
		}
		return info
	}
	for _, c := range []struct {
		name, number string
		build        *debug.BuildInfo
		want         string
		modified     bool
	}{
		{"a release", "v1.2.3", built("(devel)", "vcs.revision=abc"), "v1.2.3", false},
		{"go install", "", built("v1.2.3"), "v1.2.3", false},
		{"go build in a repository", "", built("(devel)", "vcs.revision=abc", "vcs.modified=true"), "abc", true},
		{"go build without a repository", "", built("(devel)"), "unknown", false},
		{"without modules", "", nil, "unknown", false},
	} {
		if got := infoOf(Info{Version: c.number}, c.build); got.Version != c.want || got.Modified != c.modified || got.Go == "" || got.Platform == "" {
			t.Errorf("%s: got %+v, want version %s", c.name, got, c.want)
		}
	}
}

// What the linker sets is preferred to what the toolchain records.
func TestRevisionAndDate(t *testing.T) {
	build := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}}
	if got := infoOf(Info{}, build); got.Revision != "abc" || got.Date != "2026-01-02T03:04:05Z" {
		t.Errorf("of the toolchain: %+v", got)
	}
	got := infoOf(Info{Version: "v1", Revision: "def", Date: "2026-02-03T04:05:06Z"}, build)
	if !strings.HasPrefix(got.String(), "metascript v1 def 2026-02-03T04:05:06Z go") {
		t.Errorf("of the linker: %s", got)
	}
}

// The API server derives the name of a field manager from the part before the slash.
func TestUserAgent(t *testing.T) {
	name, rest, _ := strings.Cut(UserAgent(), "/")
	if name != "metacontroller" || !strings.HasPrefix(rest, Get().Version+" (metascript; ") {
		t.Errorf("the user agent is %q", UserAgent())
	}
}
