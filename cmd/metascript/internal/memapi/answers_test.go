package memapi

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/test/answers"
)

// The answers are those of a real API server, which a test of package e2e confirms.
func TestAnswersAreThoseOfARealAPIServer(t *testing.T) {
	all, err := answers.All()
	if err != nil {
		t.Fatal(err)
	}
	player := answers.Player{Client: &http.Client{Transport: New("exchange")}, Host: "https://memory", Namespace: "exchange"}
	for _, want := range all {
		got, err := player.Play(want)
		if err != nil {
			t.Fatalf("%s: %v", want.Request, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %v%v (-want +got):\n%s", want.Request, want.Body, want.Patch, diff)
		}
	}
}
