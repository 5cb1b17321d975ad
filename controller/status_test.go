package controller

import (
	"errors"
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/status"
)

func TestReasonFinalizeHookCannotBeCalled(t *testing.T) {
	active := &build.Loaded{}
	paused := &spec.Declaration{Settings: v1alpha1.ControllerSettings{Paused: true}}
	for _, c := range []struct {
		name   string
		d      *spec.Declaration
		result *status.Result
		want   string
	}{
		{"it runs", &spec.Declaration{}, &status.Result{Active: active, Snapshot: reconcile.Snapshot{Synced: true}}, ""},
		{"it is about to start", &spec.Declaration{}, &status.Result{}, ""},
		{"its caches are being filled", &spec.Declaration{}, &status.Result{Active: active}, ""},
		{"its caches cannot be filled", &spec.Declaration{}, &status.Result{Active: active, Snapshot: reconcile.Snapshot{CacheError: errors.New("no")}}, "cannot start before its caches are filled"},
		{"it is paused", paused, &status.Result{}, "is paused"},
		{"it does not load", &spec.Declaration{}, &status.Result{SpecErr: errors.New("it is wrong")}, "does not load"},
		{"an edit does not load, and the version before runs", &spec.Declaration{}, &status.Result{SpecErr: errors.New("it is wrong"), Active: active, Snapshot: reconcile.Snapshot{Synced: true}}, ""},
	} {
		if why, remedy := whyBlocked(c.d, c.result); why != c.want || (why == "") != (remedy == "") {
			t.Errorf("%s: got %q and %q, want %q", c.name, why, remedy, c.want)
		}
	}
}
