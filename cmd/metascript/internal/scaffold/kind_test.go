package scaffold

import (
	"strings"
	"testing"
)

func TestParseKind(t *testing.T) {
	for _, c := range []struct{ name, want, plural string }{
		{"Deployment.apps/v1", "Deployment.apps/v1", "deployments"},
		{"Service.v1", "Service.v1", "services"},
		{"Deployment", "Deployment.apps/v1", "deployments"},
		{"Deployment.apps", "Deployment.apps/v1", "deployments"},
		{"HorizontalPodAutoscaler", "HorizontalPodAutoscaler.autoscaling/v2", "horizontalpodautoscalers"},
		{"HorizontalPodAutoscaler.autoscaling/v1", "HorizontalPodAutoscaler.autoscaling/v1", "horizontalpodautoscalers"},
		{"Event.events.k8s.io", "Event.events.k8s.io/v1", "events"},
		{"Gateway.gateway.networking.k8s.io/v1", "Gateway.gateway.networking.k8s.io/v1", "gateways"},
		{"Redis.db.example.com/v1beta1", "Redis.db.example.com/v1beta1", "redis"},
	} {
		kind, err := ParseKind(c.name)
		if err != nil || kind.Name() != c.want || kind.Plural != c.plural || !kind.Namespaced {
			t.Errorf("%s: got %+v, error %v", c.name, kind, err)
		}
		if kind.Custom != strings.Contains(c.want, "example.com") && !strings.Contains(c.want, "gateway.") {
			t.Errorf("%s: custom %t", c.name, kind.Custom)
		}
	}
}

func TestParseKindErrors(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", `"" is not a kind: write it with its group and version, such as Deployment.apps/v1 or Service.v1`},
		{"Deploymnet.apps/v1", "Kubernetes has no kind Deploymnet.apps/v1; did you mean Deployment.apps/v1?"},
		{"Deploymnet", "Kubernetes has no kind Deploymnet; did you mean Deployment.apps/v1?"},
		{"Foo", "Kubernetes has no kind Foo. For a kind of a CustomResourceDefinition, write its group and version too, such as Foo.example.com/v1"},
		{"Deployment.extensions/v1beta1", "Kubernetes has no kind Deployment.extensions/v1beta1; did you mean Deployment.apps/v1?"},
		{"Deployment.apps/v1beta1", "Kubernetes has no kind Deployment.apps/v1beta1; did you mean Deployment.apps/v1?"},
		{"Deployment.v1", "Kubernetes has no kind Deployment.v1; did you mean Deployment.apps/v1?"},
		{"apps/v1", `"apps/v1" is not a kind: write it with its group and version, such as Deployment.apps/v1 or Service.v1`},
		{"deployments", "Kubernetes has no kind deployments; did you mean Deployment.apps/v1?"},
		{"deploy", "Kubernetes has no kind deploy; did you mean Deployment.apps/v1?"},
		{"Elephant", "Kubernetes has no kind Elephant. For a kind of a CustomResourceDefinition, write its group and version too, such as Elephant.example.com/v1"},
		{"Event", "several groups have the kind Event: write Event.events.k8s.io/v1 or Event.v1"},
		{"TokenReview", "TokenReview.authentication.k8s.io/v1 cannot be watched and created, so it cannot be a parent or a child"},
		{"TokenReview.authentication.k8s.io/v1", "TokenReview.authentication.k8s.io/v1 cannot be watched and created, so it cannot be a parent or a child"},
		{"Redis.db.example.com", "Redis.db.example.com has no version: write it after the group, such as Redis.db.example.com/v1"},
		{"redis.db.example.com/v1", "redis.db.example.com/v1: write the kind, which begins with a capital letter, and not the resource; did you mean Redis.db.example.com/v1?"},
		{"My_Kind.example.com/v1", `My_Kind.example.com/v1: the kind "My_Kind" must have only letters and digits, beginning with a letter`},
		{"Redis.Example.com/v1", `Redis.Example.com/v1: the group "Example.com" must have only lower-case letters, digits, dashes and dots`},
		{"Redis.example.com/1", `Redis.example.com/1: the version "1" must be a word such as v1`},
		{"Redis.example.com/", "Redis.example.com has no version: write it after the group, such as Redis.example.com/v1"},
	} {
		if kind, err := ParseKind(c.name); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, error\n  %v, want\n  %s", c.name, kind.Name(), err, c.want)
		}
	}
}
