package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/account"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	tenant  = account.Account{Namespace: "a", Name: "tenant"}
	secrets = schema.GroupResource{Resource: "secrets"}
)

// cluster is what the Reviewer of a test uses: an API server that answers reviews by a list of grants.
type cluster struct {
	*Reviewer
	client *fake.FakeDynamicClient

	mu      sync.Mutex
	granted map[string]bool // such as "list secrets a", or "list secrets a/name"
	asked   []string        // the same
	fails   error
	changes []account.Account
}

// Create implements Creator.
func (c *cluster) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := review.Spec.ResourceAttributes
	text := fmt.Sprintf("%s %s %s", at.Verb, at.Resource, at.Namespace)
	if at.Name != "" {
		text += "/" + at.Name
	}
	c.asked = append(c.asked, text)
	if review.Spec.User != "system:serviceaccount:a:tenant" || !slices.Equal(review.Spec.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"}) {
		return nil, fmt.Errorf("asked about %s of %q", review.Spec.User, review.Spec.Groups)
	}
	review.Status.Allowed = c.granted[text]
	return review, c.fails
}

// grant changes the grants to these.
func (c *cluster) grant(all ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granted = map[string]bool{}
	for _, one := range all {
		c.granted[one] = true
	}
}

// takeAsked returns what was asked since the last call.
func (c *cluster) takeAsked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// newCluster returns a cluster with the account tenant and with objects. It must be called in a synctest bubble.
func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{
		serviceAccounts: "ServiceAccountList", roles: "RoleList", clusterRoles: "ClusterRoleList",
		roleBindings: "RoleBindingList", clusterRoleBindings: "ClusterRoleBindingList",
	}
	c := &cluster{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(append(objects, made("v1", "ServiceAccount", "a", "tenant"))...)...)}
	c.Reviewer = New(c, informer.NewFactory(c.client, slog.New(slog.DiscardHandler)), func(who account.Account) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changes = append(c.changes, who)
	})
	t.Cleanup(c.Close)
	return c
}

func made(apiVersion, kind, namespace, name string) *object.Object {
	o := object.New(map[string]any{"apiVersion": apiVersion, "kind": kind})
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetResourceVersion("1")
	return o
}

const rbacVersion = "rbac.authorization.k8s.io/v1"

func TestWhatAnAccountMayRead(t *testing.T) {
	for _, c := range []struct {
		name    string
		granted []string
		scope   Scope
		asked   []string
		want    string // a part of the error; "" if there is none
	}{
		{"everything of a kind", []string{"list secrets ", "watch secrets "}, Scope{secrets, "b", "s"}, []string{"list secrets ", "watch secrets "}, ""},
		{"a namespace", []string{"list secrets b", "watch secrets b"}, Scope{secrets, "b", ""}, []string{"list secrets ", "list secrets b", "watch secrets ", "watch secrets b"}, ""},
		{"one object", []string{"list secrets b/s", "watch secrets b/s"}, Scope{secrets, "b", "s"}, []string{"list secrets ", "list secrets b", "list secrets b/s", "watch secrets ", "watch secrets b", "watch secrets b/s"}, ""},
		{"another namespace", []string{"list secrets a", "watch secrets a"}, Scope{secrets, "b", ""}, []string{"list secrets ", "list secrets b", "watch secrets ", "watch secrets b"},
			"service account a/tenant may not list and watch secrets in namespace b; to permit it, run: kubectl create role tenant-get-list-watch-secrets --namespace=b --verb=get,list,watch --resource=secrets && kubectl create rolebinding tenant-get-list-watch-secrets --namespace=b --role=tenant-get-list-watch-secrets --serviceaccount=a:tenant"},
		{"only list", []string{"list secrets "}, Scope{secrets, "", ""}, []string{"list secrets ", "watch secrets "},
			"may not watch secrets in all namespaces; to permit it, run: kubectl create clusterrole tenant-get-list-watch-secrets --verb=get,list,watch --resource=secrets && kubectl create clusterrolebinding"},
	} {
		synctest.Test(t, func(t *testing.T) {
			world := newCluster(t)
			world.grant(c.granted...)
			err := world.MayRead(t.Context(), tenant, c.scope)
			if diff := cmp.Diff(c.asked, world.takeAsked()); diff != "" {
				t.Errorf("%s: reviews (-want +got):\n%s", c.name, diff)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			if err != nil && !apierrors.IsForbidden(err) {
				t.Errorf("%s: the error is no refusal: %v", c.name, err)
			}
		})
	}
}

func TestServerMayReadEverything(t *testing.T) {
	r := &Reviewer{}
	if err := errors.Join(r.MayRead(t.Context(), account.Account{}, Scope{GroupResource: secrets}), r.Exists(t.Context(), account.Account{})); err != nil {
		t.Error(err)
	}
}

func TestAnswersAreRememberedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.grant("list secrets ", "watch secrets ")
		if err := c.Exists(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * Settling) // after the changes that filling the caches has reported
		for _, step := range []struct {
			after time.Duration
			asked int
		}{{0, 2}, {0, 0}, {59 * time.Second, 0}, {2 * time.Second, 2}} {
			time.Sleep(step.after)
			if err := c.MayRead(t.Context(), tenant, Scope{GroupResource: secrets}); err != nil {
				t.Fatal(err)
			}
			if n := len(c.takeAsked()); n != step.asked {
				t.Errorf("after %s: %d reviews, want %d", step.after, n, step.asked)
			}
		}
	})
}

// Whatever fails, nothing is permitted, and a failure is not remembered.
func TestFailedReviewPermitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.grant("list secrets ", "watch secrets ")
		c.fails = errors.New("no answer")
		err := c.MayRead(t.Context(), tenant, Scope{GroupResource: secrets})
		if err == nil || !strings.Contains(err.Error(), "ask the API server whether service account a/tenant may list secrets: no answer") || apierrors.IsForbidden(err) {
			t.Errorf("error %v", err)
		}
		c.fails = nil
		if err := c.MayRead(t.Context(), tenant, Scope{GroupResource: secrets}); err != nil {
			t.Errorf("the failure is remembered: %v", err)
		}
	})
}

func TestAccountMustExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var denied *DeniedError
		err := c.MayRead(t.Context(), account.Account{Namespace: "a", Name: "other"}, Scope{GroupResource: secrets})
		if !errors.As(err, &denied) || !denied.Missing || err.Error() != "service account a/other does not exist; to create it, run: kubectl create serviceaccount other --namespace=a" {
			t.Errorf("error %v", err)
		}
		if asked := c.takeAsked(); asked != nil {
			t.Errorf("reviews of an account that does not exist: %q", asked)
		}
	})
}

// A change of roles is a reason to ask again, for the accounts that it concerns and no others.
func TestAnswersAreDroppedWhenRolesChange(t *testing.T) {
	binding := func(kind, namespace string, role map[string]any, subject map[string]any) *object.Object {
		o := made(rbacVersion, kind, namespace, "binding")
		o.Map()["roleRef"], o.Map()["subjects"] = role, []any{subject}
		return o
	}
	role := map[string]any{"kind": "Role", "name": "r"}
	itself := map[string]any{"kind": "ServiceAccount", "namespace": "a", "name": "tenant"}
	for _, c := range []struct {
		name    string
		before  []runtime.Object
		changed schema.GroupVersionResource
		object  *object.Object
		asked   int // reviews of the answers that concern the change
	}{
		{"its binding", nil, roleBindings, binding("RoleBinding", "b", role, itself), 2},
		{"a binding of its user", nil, clusterRoleBindings, binding("ClusterRoleBinding", "", role, map[string]any{"kind": "User", "name": "system:serviceaccount:a:tenant"}), 4},
		{"a binding of all accounts of its namespace", nil, roleBindings, binding("RoleBinding", "b", role, map[string]any{"kind": "Group", "name": "system:serviceaccounts:a"}), 2},
		{"a binding of all users", nil, roleBindings, binding("RoleBinding", "b", role, map[string]any{"kind": "Group", "name": "system:authenticated"}), 2},
		{"its binding in another namespace", nil, roleBindings, binding("RoleBinding", "c", role, itself), 0},
		{"a binding of another account", nil, roleBindings, binding("RoleBinding", "b", role, map[string]any{"kind": "ServiceAccount", "namespace": "b", "name": "tenant"}), 0},
		{"its role", []runtime.Object{binding("RoleBinding", "b", role, itself)}, roles, made(rbacVersion, "Role", "b", "r"), 2},
		{"a role of that name in another namespace", []runtime.Object{binding("RoleBinding", "b", role, itself)}, roles, made(rbacVersion, "Role", "c", "r"), 0},
		{"a role that is bound to nobody", nil, roles, made(rbacVersion, "Role", "b", "r"), 0},
		{"its ClusterRole", []runtime.Object{binding("RoleBinding", "b", map[string]any{"kind": "ClusterRole", "name": "r"}, itself)}, clusterRoles, made(rbacVersion, "ClusterRole", "", "r"), 4},
		{"another account", nil, serviceAccounts, made("v1", "ServiceAccount", "b", "tenant"), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			world := newCluster(t, c.before...)
			world.grant("list secrets b", "watch secrets b")
			read := func() int {
				if err := world.MayRead(t.Context(), tenant, Scope{GroupResource: secrets, Namespace: "b"}); err != nil {
					t.Fatal(err)
				}
				return len(world.takeAsked())
			}
			read()
			synctest.Wait()
			time.Sleep(2 * Settling) // after the changes that filling the caches has reported
			read()
			if n := read(); n != 0 {
				t.Fatalf("%s: %d reviews although nothing has changed", c.name, n)
			}
			if _, err := world.client.Resource(c.changed).Namespace(c.object.GetNamespace()).Create(t.Context(), c.object.Unstructured(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(time.Millisecond)
			want := c.asked
			if n := read(); n != want {
				t.Errorf("%s: %d reviews after the change, want %d; it was noticed at %s", c.name, n, want, world.ChangedAt(tenant))
			}
			if n := read(); n != 0 {
				t.Errorf("%s: %d reviews at once after the answers", c.name, n)
			}
			time.Sleep(2 * time.Second) // the API server may have answered by its old roles
			if n := read(); n != want {
				t.Errorf("%s: %d reviews soon after the change, want %d", c.name, n, want)
			}
			time.Sleep(Settling)
			read()
			time.Sleep(30 * time.Second)
			if n := read(); n != 0 {
				t.Errorf("%s: %d reviews long after the change", c.name, n)
			}
		})
	}
}

// Who may edit roles in a namespace must not keep the server busy with the accounts of others.
func TestChangesAreNotifiedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		if err := c.Exists(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(2 * Settling)
		c.mu.Lock()
		before := len(c.changes)
		c.mu.Unlock()
		for range 10 {
			c.affected("b", func(account.Account) bool { return true })
			time.Sleep(Settling / 5)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.changes) - before; n != 2 {
			t.Errorf("%d notifications of ten changes in twice the time, want 2", n)
		}
	})
}

func TestReaderShowsOnlyWhatItMayRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.grant("list secrets a", "watch secrets a")
		r := NewReader(tenant, c.Reviewer, Kind{secrets, true})
		here, there := Scope{GroupResource: secrets, Namespace: "a"}, Scope{GroupResource: secrets, Namespace: "b"}
		if r.Shows(here) {
			t.Error("it shows what was not reviewed")
		}
		if err := r.MayReadParents(t.Context(), here); err != nil || !r.Shows(here) {
			t.Errorf("its own namespace: %v", err)
		}
		if err := r.MayReadParents(t.Context(), there); err == nil || r.Shows(there) {
			t.Error("it shows another namespace")
		}
		limited, err := r.Problem(t.Context())
		if want := "only parents in namespaces where service account a/tenant may list and watch secrets are reconciled"; limited != want || err != nil {
			t.Errorf("limited %q, %v", limited, err)
		}
	})
}
