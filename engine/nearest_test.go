package engine

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"finalize", "sync", "customize", "replicas", "a", strings.Repeat("x", 1000)}
	for name, want := range map[string]string{
		"snyc": "sync", "SYNC": "sync", "repilcas": "replicas", "re_plicas": "replicas", "b": "",
		"sync": "", "image": "", "": "", strings.Repeat("x", 999): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%.20q) is %q, want %q", name, got, want)
		}
	}
}
