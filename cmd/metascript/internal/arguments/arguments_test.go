package arguments

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLongNamesMayHaveOneDash(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-zap-log-level=4 -workers 5 --burst 1", "--zap-log-level=4 --workers 5 --burst 1"},
		{"controller -kubeconfig=-", "controller --kubeconfig=-"},
		{"-v=1 -v 1 -v1 -h", "-v=1 -v 1 -v1 -h"},
		{"-workers -5", "--workers -5"},
		{"controller -- -workers", "controller -- -workers"},
		{"run -parent p.yaml", "run -parent p.yaml"},
		{"", ""},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(strings.Join(TwoDashes(strings.Fields(c.args)), " "))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}
