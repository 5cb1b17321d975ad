package finalizers

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

func TestIgnoredGroupsAreNoError(t *testing.T) {
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "a.example.com", Version: "v1"}: errors.New("stale"), {Group: "b.example.com", Version: "v1"}: errors.New("stale"), {Group: "b.example.com", Version: "v2"}: errors.New("stale"),
	}}
	for _, c := range []struct {
		ignored []string
		flags   string
	}{
		{nil, "with --ignore-group a.example.com --ignore-group b.example.com"},
		{[]string{"a.example.com", "c.example.com"}, "with --ignore-group b.example.com"},
		{[]string{"a.example.com", "b.example.com"}, ""},
	} {
		collector := Collector{Ignored: c.ignored}
		err := collector.withoutIgnored(failed)
		if c.flags == "" && err != nil || c.flags != "" && (err == nil || !strings.HasSuffix(err.Error(), c.flags)) {
			t.Errorf("without %v: %v, want %q", c.ignored, err, c.flags)
		}
	}
	if other := errors.New("no"); (&Collector{}).withoutIgnored(other) != other {
		t.Error("another error is changed")
	}
}
