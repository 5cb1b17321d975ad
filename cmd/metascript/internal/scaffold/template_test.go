package scaffold

import "testing"

func TestArticle(t *testing.T) {
	for noun, want := range map[string]string{
		"Pod": "a Pod", "Ingress": "an Ingress", "HTTPRoute": "an HTTPRoute", "APIService": "an APIService", "PVC": "a PVC", "Service": "a Service", "UFO": "a UFO", "X": "a X",
	} {
		if got := a(noun); got != want {
			t.Errorf("%s: got %s, want %s", noun, got, want)
		}
	}
}
