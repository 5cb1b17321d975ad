package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"metascript/test/answers"
)

var updateAnswers = flag.Bool("update-answers", false, "replace the answers in test/answers by those of the cluster")

// The API server of the cluster answers the requests in package answers as the file there says. Package memapi has the same test.
func TestAnswersOfTheAPIServer(t *testing.T) {
	w, err := newWorld("exchange")
	if err != nil {
		t.Fatal(err)
	}
	defer w.leave()
	if err := w.createNamespace(); err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	all, err := answers.All()
	if err != nil {
		t.Fatal(err)
	}
	player := answers.Player{Client: client, Host: config.Host, Namespace: w.name}
	for i, want := range all {
		got, err := player.Play(want)
		if err != nil {
			t.Fatalf("%s: %v", want.Request, err)
		}
		if diff := cmp.Diff(want, got); diff != "" && !*updateAnswers {
			t.Errorf("%s (-want +got):\n%s", want.Request, diff)
		}
		all[i] = got
		if i == 0 {
			waitForGizmos(t, &player)
		}
	}
	if !*updateAnswers {
		return
	}
	text, err := answers.Format(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "test", "answers", "answers.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// waitForGizmos waits until the kind that the first exchange defines is served.
func waitForGizmos(t *testing.T, player *answers.Player) {
	t.Helper()
	err := eventually(func() error {
		got, err := player.Play(answers.Exchange{Request: "GET /apis/answers.example.com/v1/namespaces/$NS/gizmos"})
		if err == nil && got.Code != 200 {
			err = os.ErrNotExist
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
