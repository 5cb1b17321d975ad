package replay

import (
	"errors"
	"fmt"
	"slices"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/recording"
)

// A job is a recorded call.
type job struct {
	number   int // of the call, among those of the controller
	position int // among the selected ones
	call     *recording.Call
	of       *recording.Recorded
	recorded *loaded // of which the call was; nil: its scripts are not in the recording, or do not load

	serverSide bool // the server has written children by server-side apply
}

// weight returns about how many bytes of memory the call needs.
func (j *job) weight() int64 { return min(max(j.of.Size, minPending), maxPending) }

// errMissing is why a call with an object that is not known cannot be replayed.
var errMissing = errors.New("an object that it needs is not in the recording, or was edited there")

// load returns the objects with these digests.
func (j *job) load(digests []string) ([]*object.Object, error) {
	all := make([]*object.Object, len(digests))
	for i, digest := range digests {
		known, found := j.of.Object(digest)
		if !found {
			return nil, errMissing
		}
		all[i] = known.Object
	}
	return all, nil
}

// parent returns the parent of the request.
func (j *job) parent() (*object.Object, error) {
	all, err := j.load([]string{j.call.Parent})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// put adds the objects of groups to a set, without the kinds that is not true for. It declares the others.
func (j *job) put(set *object.Set, groups []recording.Group, is func(object.Kind) bool) error {
	for _, g := range groups {
		kind := kindOf(g.APIVersion, g.Kind)
		if !is(kind) {
			continue
		}
		set.Declare(kind)
		objects, err := j.load(g.Objects)
		if err != nil {
			return err
		}
		for _, o := range objects {
			set.Put(o)
		}
	}
	return nil
}

// answer returns the recorded answer.
func (j *job) answer() (*answer, error) {
	if j.call.Answer == nil {
		return &answer{failure: j.call.Error}, nil
	}
	children, err := j.load(j.call.Answer.Children)
	if err != nil {
		return nil, err
	}
	return recordedAnswer(j.call.Answer, children)
}

// isCustomize reports whether the call was of a customize hook.
func (j *job) isCustomize() bool { return j.call.Hook == hook.Customize }

// kindOf returns the kind with an API version.
func kindOf(apiVersion, kind string) object.Kind {
	return object.New(map[string]any{"apiVersion": apiVersion, "kind": kind}).GroupVersionKind()
}

// describe returns the kind and name of a recorded reference, such as "Pod default/web-0".
func describe(r recording.Ref) string {
	return fmt.Sprintf("%s %s", r.Kind, object.Key{Namespace: r.Namespace, Name: r.Name})
}

// selects reports whether the options select the calls about a parent.
func (o *Options) selects(r recording.Ref) bool {
	return (o.Namespace == "" || r.Namespace == o.Namespace) && (o.Parent == "" || slices.Contains([]string{r.Name, r.Kind + "/" + r.Name}, o.Parent))
}
