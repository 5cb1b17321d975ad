package lease

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestOnlyHolderReleasesLease(t *testing.T) {
	for _, c := range []struct{ name, holder, want string }{
		{"ours", "me", ""},
		{"another's", "you", "you"},
		{"nobody's", "", ""},
	} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease"}}
		lease.Spec.HolderIdentity = &c.holder
		client := kubefake.NewClientset(lease).CoordinationV1()
		lock := &resourcelock.LeaseLock{LeaseMeta: lease.ObjectMeta, Client: client, LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
		if err := release(lock); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		stored, err := client.Leases("ns").Get(t.Context(), "lease", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := *stored.Spec.HolderIdentity; got != c.want {
			t.Errorf("%s: its holder is %q, want %q", c.name, got, c.want)
		}
	}
	none := &resourcelock.LeaseLock{Client: kubefake.NewClientset().CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
	if err := release(none); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
}
