package status

import (
	"errors"
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
)

func TestReasonFinalizeHookCannotBeCalled(t *testing.T) {
	active := &build.Loaded{}
	paused := &spec.Declaration{Settings: v1alpha1.ControllerSettings{Paused: true}}
	for _, c := range []struct {
		name   string
		d      *spec.Declaration
		result *Result
		want   string
	}{
		{"it runs", &spec.Declaration{}, &Result{Active: active, Snapshot: reconcile.Snapshot{Synced: true}}, ""},
		{"it is about to start", &spec.Declaration{}, &Result{}, ""},
		{"its caches are being filled", &spec.Declaration{}, &Result{Active: active}, ""},
		{"its caches cannot be filled", &spec.Declaration{}, &Result{Active: active, Snapshot: reconcile.Snapshot{CacheError: errors.New("no")}}, "cannot start before its caches are filled"},
		{"it is paused", paused, &Result{}, "is paused"},
		{"it does not load", &spec.Declaration{}, &Result{SpecErr: errors.New("it is wrong")}, "does not load"},
		{"an edit does not load, and the version before runs", &spec.Declaration{}, &Result{SpecErr: errors.New("it is wrong"), Active: active, Snapshot: reconcile.Snapshot{Synced: true}}, ""},
	} {
		if why, remedy := WhyBlocked(c.d, c.result); why != c.want || (why == "") != (remedy == "") {
			t.Errorf("%s: got %q and %q, want %q", c.name, why, remedy, c.want)
		}
	}
}
