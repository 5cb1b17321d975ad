package controller

import (
	"errors"
	"testing"

	"metascript/controller/api/v1alpha1"
)

func TestWhyAFinalizeHookCannotBeCalled(t *testing.T) {
	active := &loaded{}
	paused := &declaration{Settings: v1alpha1.ControllerSettings{Paused: true}}
	for _, c := range []struct {
		name string
		d    *declaration
		v    *verdict
		want string
	}{
		{"it runs", &declaration{}, &verdict{active: active, filled: true}, ""},
		{"it is about to start", &declaration{}, &verdict{}, ""},
		{"its caches are being filled", &declaration{}, &verdict{active: active}, ""},
		{"its caches cannot be filled", &declaration{}, &verdict{active: active, trouble: errors.New("no")}, "cannot start before its caches are filled"},
		{"it is paused", paused, &verdict{}, "is paused"},
		{"it does not load", &declaration{}, &verdict{spec: errors.New("it is wrong")}, "does not load"},
		{"an edit does not load, and the version before runs", &declaration{}, &verdict{spec: errors.New("it is wrong"), active: active, filled: true}, ""},
	} {
		if why, way := whyWaiting(c.d, c.v); why != c.want || (why == "") != (way == "") {
			t.Errorf("%s: got %q and %q, want %q", c.name, why, way, c.want)
		}
	}
}
