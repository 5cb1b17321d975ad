package hook

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/engine"
)

// drawing is a script that draws a password and a choice, and prints and raises the password.
func drawing(key func(context.Context, *object.Object) ([]byte, error), log func(*Request, engine.Message)) *Script {
	return &Script{Function: Sync, Key: key, Log: log, Program: &program{call: func(ctx context.Context, _ string, _ map[string]any, env engine.Env) (map[string]any, error) {
		key, err := env.Random.FindKey(ctx)
		if err != nil {
			return nil, err
		}
		password := "password of " + string(key)
		for _, d := range []engine.Draw{{Label: "p", Value: password, Secret: true}, {Label: "c", Value: `"north"`}} {
			if err := env.Random.Draw(d); err != nil {
				return nil, err
			}
		}
		env.Log(engine.Message{Text: password + " in north"})
		return nil, errors.New("it is not " + password)
	}}}
}

func TestDrawnValuesAreSecret(t *testing.T) {
	req, redactor, printed := newRequest(t), redact.New(), ""
	req.Draws = &Draws{}
	key := func(_ context.Context, parent *object.Object) ([]byte, error) {
		if parent != req.Parent {
			t.Error("the key is that of another parent")
		}
		return []byte("hT7fkQ2x"), nil
	}
	_, err := drawing(key, func(_ *Request, m engine.Message) { printed = m.Text }).Call(redact.NewContext(t.Context(), redactor), req)
	if printed != "[redacted] in north" || err == nil || err.Error() != "it is not [redacted]" {
		t.Errorf("printed %q, error %v", printed, err)
	}
	if _, texts := redactor.Secrets(); len(texts) != 1 {
		t.Errorf("the redactor of the reconcile has %q", texts)
	}
	if diff := cmp.Diff(map[string]string{"p": "password of hT7fkQ2x", "c": `"north"`}, req.Draws.All()); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableKeyFailsCall(t *testing.T) {
	key := func(context.Context, *object.Object) ([]byte, error) { return nil, errors.New("the Secret is gone") }
	if _, err := drawing(key, nil).Call(t.Context(), newRequest(t)); err == nil || !strings.Contains(err.Error(), "the Secret is gone") {
		t.Error(err)
	}
}

func TestNoAnswerHasSecretOfServer(t *testing.T) {
	s := &Script{Function: Sync, Program: &program{call: func(context.Context, string, map[string]any, engine.Env) (map[string]any, error) {
		return map[string]any{"children": []any{map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "metascript-random-key"}, "type": object.PrivateSecret,
		}}}, nil
	}}}
	if _, err := s.Call(t.Context(), newRequest(t)); err == nil || !strings.Contains(err.Error(), "is that of Secrets of the server itself") {
		t.Error(err)
	}
}

// What a script passes back is found by its value, in a copy of the Secret too. It is not drawn, and the recordings do not have it.
func TestHoldersAreSecretsWithValuesThatArePassedBack(t *testing.T) {
	req := newRequest(t)
	req.Children, req.Draws = &object.Set{}, &Draws{}
	for name, value := range map[string]string{"held": "aHVudGVyMg==", "other": "b3RoZXI=", "copy": "aHVudGVyMg=="} {
		req.Children.Put(object.New(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "default", "name": name, "uid": "uid-of-" + name}, "data": map[string]any{"password": value},
		}))
	}
	draws := []engine.Draw{{Label: "p", Value: "other", Secret: true}}
	s := &Script{Function: Sync, Program: &program{call: func(_ context.Context, _ string, _ map[string]any, env engine.Env) (map[string]any, error) {
		for _, d := range draws {
			if err := env.Random.Draw(d); err != nil {
				return nil, err
			}
		}
		return map[string]any{"children": []any{}}, nil
	}}}
	for _, want := range []Holders{nil, {"uid-of-held": {"aHVudGVyMg=="}, "uid-of-copy": {"aHVudGVyMg=="}}} {
		answer, err := s.Call(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, answer.Holders); diff != "" {
			t.Error(diff)
		}
		draws = append(draws, engine.Draw{Value: "hunter2", Secret: true, Observed: true})
	}
	if diff := cmp.Diff(map[string]string{"p": "other"}, req.Draws.All()); diff != "" {
		t.Error(diff)
	}
}
