package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/history"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/reconcile"
	"metascript/controller/redact"
	"metascript/controller/remember"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tokens accepts the token of a user, which is "of-" and the name. "audience-AUDIENCE-of-NAME" is one for this audience only.
type tokens struct {
	asked   atomic.Int32
	ignores bool // it does not know audiences
	refuses bool // all tokens
	failed  error
}

func (f *tokens) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	f.asked.Add(1)
	audience, name, found := strings.Cut(r.Spec.Token, "of-")
	audience, _ = strings.CutPrefix(strings.TrimSuffix(audience, "-"), "audience-")
	found = found && !f.refuses && (f.ignores || audience == strings.Join(r.Spec.Audiences, ""))
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: found, User: authenticationv1.UserInfo{Username: name}}
	if !f.ignores {
		r.Status.Audiences = r.Spec.Audiences
	}
	return r, f.failed
}

// rights permits what is in the list, such as "jane get widgets ns web".
type rights struct {
	permitted []string
	failed    error
	asked     atomic.Int32
}

func (f *rights) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	f.asked.Add(1)
	a := r.Spec.ResourceAttributes
	for _, line := range f.permitted {
		if strings.Join(strings.Fields(line), " ") == strings.Join(strings.Fields(strings.Join([]string{r.Spec.User, a.Verb, a.Resource, a.Namespace, a.Name}, " ")), " ") {
			r.Status.Allowed = true
		}
	}
	return r, f.failed
}

// served is discovery with the kinds of objecttest.
type served struct{}

func (served) ServerResourcesForGroupVersionWithContext(_ context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	switch groupVersion {
	case "v1":
		return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get"}}}}, nil
	case objecttest.WidgetRef("", "").Kind.GroupVersion().String():
		return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: metav1.Verbs{"get"}}}}, nil
	}
	return &metav1.APIResourceList{GroupVersion: groupVersion}, nil
}

// A fixture is a handler whose server has the history of a parent.
type fixture struct {
	*httptest.Server
	handler *Handler
	tokens  *tokens
	rights  *rights
	leader  string // "" leads itself
}

func newFixture(t *testing.T, permitted ...string) *fixture {
	t.Helper()
	f := &fixture{tokens: &tokens{}, rights: &rights{permitted: permitted}}
	h := history.New(1 << 20)
	configMap := object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m", "namespace": "ns"}})
	h.Reconciled(&observe.Reconcile{
		About: observe.About{Kind: "CompositeController", Controller: "c", Parent: objecttest.WidgetRef("ns", "web")}, Why: queue.ParentChanged, Began: time.Unix(1, 0), Redactor: redact.New(), Source: remember.Computed,
		Causes: []observe.Cause{{Reason: queue.ParentChanged, Object: objecttest.WidgetRef("ns", "web"), Change: observe.Changed, Fields: []string{"spec.size"}}},
		Writes: []observe.Write{{Op: plan.Op{Verb: plan.Create, Object: configMap}, Err: errors.New("quota of m")}}, Err: errors.New("quota of m"),
	})
	f.handler = New(Server{
		Tokens: f.tokens, Rights: f.rights, Resources: kube.NewResources(served{}, time.Minute), Running: func() []*reconcile.Reconciler { return nil },
		Leader: func() (string, bool) { return f.leader, f.leader == "" }, APIServer: func() string { return "" },
	}, h)
	f.Server = httptest.NewServer(f.handler)
	t.Cleanup(f.Close)
	return f
}

// get sends a request for a parent as a user, and returns the status and the body.
func (f *fixture) get(t *testing.T, user, kind, name string) (int, string) {
	t.Helper()
	return f.getAt(t, "/v1/why", user, kind, name)
}

func (f *fixture) getAt(t *testing.T, path, user, kind, name string) (int, string) {
	t.Helper()
	values := url.Values{"apiVersion": {objecttest.WidgetRef("", "").Kind.GroupVersion().String()}, "kind": {kind}, "namespace": {"ns"}, "name": {name}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+path+"?"+values.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.Header.Set("Authorization", "Bearer of-"+user)
	}
	if user == "stranger" {
		r.Header.Set("Authorization", "Bearer nonsense")
	}
	response, err := f.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestWhoMayAskWhy(t *testing.T) {
	f := newFixture(t, "jane get widgets ns web", "jane get widgets ns x", "jane list configmaps ns", "john get widgets ns web", "joe get widgets ns webb", "joe list widgets ns")
	for _, c := range []struct {
		user, kind, name string
		code             int
		want, not        string
	}{
		{"jane", "Widget", "web", 200, `"name":"m"`, `"hidden":`},
		{"john", "Widget", "web", 200, `"hidden":1`, "quota"},
		{"john", "Widget", "web", 200, `"spec.size"`, `"m"`},
		{"joe", "Widget", "web", 403, `user \"joe\" may not get widgets.`, "spec"},
		{"", "Widget", "web", 401, "kubectl create token", "spec"},
		{"stranger", "Widget", "web", 401, "does not accept the token", "spec"},
		{"jane", "Widget", "x", 404, "there is no Widget ns/x", "did you mean"},
		{"joe", "Widget", "webb", 404, `did you mean \"web\"?`, "spec"},
		{"jane", "Gadget", "web", 404, "does not serve the kind Gadget", ""},
		{"jane", "", "w", 400, "needs the parameters", ""},
	} {
		code, text := f.get(t, c.user, c.kind, c.name)
		if code != c.code || !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s asks about %s %s: %d %s, want %d with %q without %q", c.user, c.kind, c.name, code, text, c.code, c.want, c.not)
		}
	}
}

func TestWhoMayAskForATree(t *testing.T) {
	f := newFixture(t, "jane get widgets ns web", "jane list widgets ns")
	for _, c := range []struct {
		user, kind, name string
		code             int
		want             string
	}{
		{"jane", "Widget", "web", 404, "there is no Widget ns/web"}, // no controller runs
		{"joe", "Widget", "web", 403, `user \"joe\" may not get widgets.`},
		{"", "Widget", "web", 401, "kubectl create token"},
		{"jane", "", "web", 400, "needs the parameters"},
	} {
		if code, text := f.getAt(t, "/v1/tree", c.user, c.kind, c.name); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s asks about %s %s: %d %s, want %d with %q", c.user, c.kind, c.name, code, text, c.code, c.want)
		}
	}
}

func TestStandbyNamesTheLeader(t *testing.T) {
	f := newFixture(t)
	f.leader = "other_1"
	code, text := f.get(t, "jane", "Widget", "web")
	var p Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != 503 || p.Leader != "other_1" || !p.Standby {
		t.Errorf("got %d %s, %v", code, text, err)
	}
}

func TestReviewsAreRemembered(t *testing.T) {
	f := newFixture(t, "jane get widgets ns web", "jane list configmaps ns")
	for range 5 {
		f.get(t, "jane", "Widget", "web")
	}
	if f.tokens.asked.Load() != 2 || f.rights.asked.Load() != 2 {
		t.Errorf("%d TokenReviews and %d SubjectAccessReviews", f.tokens.asked.Load(), f.rights.asked.Load())
	}
}

// A token of the commands is for servers of this program only, and one of a person for the API server. A token for another program is
// that of nobody.
func TestAudiencesOfTokens(t *testing.T) {
	for _, c := range []struct {
		token   string
		ignores bool
		want    string
	}{
		{"of-jane", false, "jane"},
		{"audience-" + Audience + "-of-jane", false, "jane"},
		{"audience-another-of-jane", false, ""},
		{"nonsense", false, ""},
		{"of-jane", true, "jane"}, // an API server that does not know audiences
	} {
		v := newReviews(Server{Tokens: &tokens{ignores: c.ignores}})
		user, err := v.review(t.Context(), c.token)
		if err == nil && user.Username != c.want || err != nil && c.want != "" {
			t.Errorf("%s: got %v, %v, want %q", c.token, user, err, c.want)
		}
	}
}

func TestReviewFails(t *testing.T) {
	f := newFixture(t)
	f.rights.failed = errors.New("the API server is down")
	if code, text := f.get(t, "jane", "Widget", "web"); code != 503 || !strings.Contains(text, "API server is down") {
		t.Errorf("got %d %s", code, text)
	}
	f.rights.failed = apierrors.NewInternalError(errors.New("something else"))
	if code, text := f.get(t, "jane", "Widget", "web"); code != 500 || !strings.Contains(text, "something else") {
		t.Errorf("got %d %s", code, text)
	}
}

// While the API server does not answer, the answers of the last five minutes count, those that permit as well as those that do not. Who was
// not reviewed is refused, and so is a token that the API server has refused since.
func TestEarlierReviewsAreUsedWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	for name, failure := range map[string]error{
		"429":       apierrors.NewTooManyRequestsError("wait"),
		"503":       apierrors.NewServiceUnavailable("down"),
		"no answer": &url.Error{Op: "Post", URL: "https://x", Err: errors.New("connection refused")},
		"500":       apierrors.NewInternalError(errors.New("broken")),
		"403":       apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tokens, rights := &tokens{}, &rights{permitted: []string{"jane get widgets ns web"}}
				v := newReviews(Server{Tokens: tokens, Rights: rights})
				as := func(name string) (*Caller, error) {
					r := httptest.NewRequest(http.MethodGet, "/", nil)
					r.Header.Set("Authorization", "Bearer of-"+name)
					return v.callerOf(r)
				}
				widgets := schema.GroupResource{Resource: "widgets"}
				jane, err := as("jane")
				if err != nil || jane.May(t.Context(), "get", widgets, "ns", "web") != nil || jane.May(t.Context(), "get", widgets, "ns", "other") == nil || jane.Reviewed() != nil {
					t.Fatalf("while it answers: %v", err)
				}
				began := time.Now()
				tokens.failed, rights.failed = failure, failure
				time.Sleep(4 * time.Minute)
				silent := name == "429" || name == "503" || name == "no answer"
				jane, err = as("jane")
				if (err == nil) != silent {
					t.Fatalf("after 4 minutes: %v", err)
				}
				if silent {
					var refused *Problem
					if at := jane.Reviewed(); at == nil || !at.Equal(began) {
						t.Errorf("it was reviewed at %v", at)
					}
					if err := jane.May(t.Context(), "get", widgets, "ns", "web"); err != nil {
						t.Error(err)
					}
					if err := jane.May(t.Context(), "get", widgets, "ns", "other"); !errors.As(err, &refused) || refused.Status != 403 {
						t.Errorf("what was refused: %v", err)
					}
					if err := jane.May(t.Context(), "list", widgets, "ns", ""); err == nil {
						t.Error("what was not asked is permitted")
					}
				}
				if _, err := as("joe"); err == nil {
					t.Error("a user who was not reviewed is accepted")
				}
				time.Sleep(time.Minute)
				if _, err := as("jane"); err == nil {
					t.Error("it is remembered for more than 5 minutes")
				}
			})
		})
	}
}

func TestRefusedTokenIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := &tokens{}
		v := newReviews(Server{Tokens: tokens})
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer of-jane")
		if _, err := v.callerOf(r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		tokens.refuses = true
		if _, err := v.callerOf(r); err == nil {
			t.Error("a token that is refused is accepted")
		}
		tokens.failed = apierrors.NewServiceUnavailable("down")
		if _, err := v.callerOf(r); err == nil {
			t.Error("the earlier answer is used")
		}
	})
}

func TestTooManyRequests(t *testing.T) {
	f := newFixture(t)
	began, end := make(chan bool), make(chan bool)
	f.handler.Handle("GET /v1/slow", Limits{Requests: 2}, func(_ *Caller, w http.ResponseWriter, _ *http.Request) error {
		began <- true
		<-end
		return respond(w, "done")
	})
	get := func() int {
		r := httptest.NewRequest(http.MethodGet, "/v1/slow", nil)
		r.Header.Set("Authorization", "Bearer of-jane")
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		return w.Code
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if code := get(); code != 200 {
				t.Errorf("got %d", code)
			}
		})
		<-began
	}
	if code := get(); code != 429 {
		t.Errorf("the third gets %d", code)
	}
	close(end)
	all.Wait()
}

func TestKindThatIsNotServedAnyMore(t *testing.T) {
	f := newFixture(t, "admin get * ns", "admin list * ns", "jane get gadgets ns", "jane list gadgets ns")
	for user, want := range map[string]bool{"admin": true, "jane": false} {
		s := &sight{f.handler, &Caller{UserInfo: authenticationv1.UserInfo{Username: user}, reviews: f.handler.reviews}, map[scope]bool{}}
		s.caller.token[0] = user[0]
		may, err := s.sees(t.Context(), history.Object{APIVersion: "example.com/v1", Kind: "Gadget", Namespace: "ns", Name: "g"})
		if may != want || err != nil {
			t.Errorf("%s sees it: %t, %v", user, may, err)
		}
	}
}
