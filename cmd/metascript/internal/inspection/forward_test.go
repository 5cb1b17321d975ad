package inspection

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostNameOfPod(t *testing.T) {
	pod := func(name string, spec corev1.PodSpec) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	for _, c := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{pod("metascript-0", corev1.PodSpec{}), "metascript-0"},
		{pod("metascript-0", corev1.PodSpec{Hostname: "other"}), "other"},
		{pod("metascript-0", corev1.PodSpec{HostNetwork: true, NodeName: "node-1"}), "node-1"},
		{pod(strings.Repeat("a", 62)+"-"+"bcdef", corev1.PodSpec{}), strings.Repeat("a", 62)},
		{pod(strings.Repeat("a", 70), corev1.PodSpec{}), strings.Repeat("a", 63)},
	} {
		if got := hostOf(c.pod); got != c.want {
			t.Errorf("Pod %s has the host name %q, want %q", c.pod.Name, got, c.want)
		}
	}
}
