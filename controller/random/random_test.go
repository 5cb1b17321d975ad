package random

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"metascript/controller/account"
	"metascript/controller/object"
	"metascript/controller/spec"
)

func parentOf(kind, namespace, name, uid string) *object.Object {
	return object.New(map[string]any{"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name, "uid": uid}})
}

// Each part of the subject and of the parent makes another key; the version of the API and what else the parent has do not.
func TestKeysBelongToControllerAccountAndParent(t *testing.T) {
	key, err := Offline.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	subject := func(kind, name, namespace, service string) Subject {
		return Subject{Controller: spec.ID{Kind: kind, Name: name}, Account: account.Account{Namespace: namespace, Name: service}}
	}
	first, parent := subject("CompositeController", "c", "", ""), parentOf("Site", "n", "p", "u")
	seen := map[string]string{}
	for what, c := range map[string]struct {
		key    Key
		of     Subject
		parent *object.Object
	}{
		"first":              {key, first, parent},
		"key":                {Key{strings.Repeat("k", size)}, first, parent},
		"kind of controller": {key, subject("DecoratorController", "c", "", ""), parent},
		"name of controller": {key, subject("CompositeController", "d", "", ""), parent},
		"account":            {key, subject("CompositeController", "c", "n", "a"), parent},
		"other account":      {key, subject("CompositeController", "c", "a", "n"), parent},
		"kind of parent":     {key, first, parentOf("Page", "n", "p", "u")},
		"namespace":          {key, first, parentOf("Site", "m", "p", "u")},
		"name":               {key, first, parentOf("Site", "n", "q", "u")},
		"moved name":         {key, first, parentOf("Site", "np", "", "u")},
		"UID":                {key, first, parentOf("Site", "n", "p", "v")},
	} {
		got, err := c.key.For(c.of, c.parent)
		if err != nil || len(got) != size {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		if before, twice := seen[string(got)]; twice {
			t.Errorf("%s and %s have the same key", before, what)
		}
		seen[string(got)] = what
	}
	newer := object.Copy(parent)
	newer.SetAPIVersion("example.com/v2")
	newer.SetResourceVersion("2")
	if got, err := key.For(first, newer); err != nil || seen[string(got)] != "first" {
		t.Errorf("another version of the parent has another key, %v", err)
	}
}

func TestKeyIsNeverShown(t *testing.T) {
	key := Key{"hidden"}
	text, err := json.Marshal(map[string]any{"key": key})
	if shown := fmt.Sprintf("%s %v %+v %#v %s %v", key, key, key, key, text, err); strings.Contains(shown, "hidden") || strings.Count(shown, "[key]") != 5 {
		t.Error(shown)
	}
}
