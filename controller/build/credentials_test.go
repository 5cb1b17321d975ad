package build

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/references"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// secret is one of those values, in the namespace ns.
func secret(name string, values map[string]string) *object.Object {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &object.Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "ns"}, "data": data,
	}}
}

// openLinks loads a controller whose one webhook has these settings and opens what it refers to in a cluster that has
// these objects.
func openLinks(t *testing.T, settings string, objects ...runtime.Object) (*hook.Webhook, *WebhookClients, *fake.FakeDynamicClient) {
	t.Helper()
	return openLinksIn(t, settings, func(*fake.FakeDynamicClient) {}, objects...)
}

func openLinksIn(t *testing.T, settings string, prepare func(*fake.FakeDynamicClient), objects ...runtime.Object) (*hook.Webhook, *WebhookClients, *fake.FakeDynamicClient) {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{secrets: "SecretList", objecttest.ConfigMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	prepare(client)
	loaded := Load(t, NewLoader(), "hooks: {sync: {webhook: {url: 'https://127.0.0.1:1/', "+settings+"}}}")
	l := &loaded.Clients
	if err := l.Open(references.NewWatcher(informer.NewFactory(client, slog.New(slog.DiscardHandler))), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return loaded.Sync.(*hook.Webhook), l, client
}

func TestWhatAWebhookRefersToIsReadOrNamed(t *testing.T) {
	configMap := &object.Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "ca", "namespace": "ns"}, "data": map[string]any{"other": "hunter2"},
	}}
	garbled := secret("token", nil)
	garbled.Object["data"] = map[string]any{"t": "%hunter2"}
	basic := "basicAuth: {secretRef: {name: admin, namespace: ns}}"
	for name, c := range map[string]struct {
		settings string
		there    runtime.Object
		header   string
		want     string // of the error
	}{
		"a token":              {byToken, secret("token", map[string]string{"t": " hunter2\n"}), "Bearer hunter2", ""},
		"another scheme":       {"authorization: {type: Token, secretRef: {name: token, namespace: ns, key: t}}", secret("token", map[string]string{"t": "x"}), "Token x", ""},
		"a password":           {basic, secret("admin", map[string]string{"username": "admin", "password": "hunter2\n"}), "Basic YWRtaW46aHVudGVyMg==", ""},
		"other keys":           {"basicAuth: {secretRef: {name: admin, namespace: ns}, usernameKey: u, passwordKey: p}", secret("admin", map[string]string{"u": "admin", "p": "hunter2"}), "Basic YWRtaW46aHVudGVyMg==", ""},
		"no Secret":            {byToken, secret("other", nil), "", "authorization: Secret ns/token does not exist"},
		"no key":               {byToken, secret("token", map[string]string{"u": "hunter2"}), "", "authorization: Secret ns/token has no key t"},
		"no data":              {byToken, secret("token", nil), "", "authorization: Secret ns/token has no key t"},
		"an empty value":       {byToken, secret("token", map[string]string{"t": ""}), "", "authorization: key t of Secret ns/token is empty"},
		"two lines":            {byToken, secret("token", map[string]string{"t": "hunter2\nhunter3"}), "", "authorization: key t of Secret ns/token has more than one line"},
		"no base64":            {byToken, garbled, "", "authorization: key t of Secret ns/token is not in base64"},
		"no user name":         {basic, secret("admin", map[string]string{"password": "hunter2"}), "", "basicAuth: Secret ns/admin has no key username"},
		"no password":          {basic, secret("admin", map[string]string{"username": "hunter2"}), "", "basicAuth: Secret ns/admin has no key password"},
		"no authority":         {byBundle, secret("ca", map[string]string{"ca.pem": "hunter2"}), "", "caBundle: Secret ns/ca has no key ca.crt"},
		"none in a ConfigMap":  {"caBundle: {configMapRef: {name: ca, namespace: ns}}", configMap, "", "caBundle: ConfigMap ns/ca has no key ca.crt"},
		"no ConfigMap":         {"caBundle: {configMapRef: {name: cb, namespace: ns}}", configMap, "", "caBundle: ConfigMap ns/cb does not exist"},
		"no key of a key pair": {"clientTLS: {secretRef: {name: c, namespace: ns}}", secret("c", map[string]string{"tls.crt": "hunter2"}), "", "clientTLS: Secret ns/c has no key tls.key"},
	} {
		t.Run(name, func(t *testing.T) {
			h, l, _ := openLinks(t, c.settings, c.there)
			l.Credentials.Settled(t.Context())
			met, err := h.Client.Endpoint()
			if got := text(err); got != c.want || met.Authorization != c.header {
				t.Errorf("header %q, error %q, want %q and %q", met.Authorization, got, c.header, c.want)
			}
			if problems := l.Problems(); (len(problems) > 0) != (err != nil) {
				t.Errorf("problems %q beside error %v", problems, err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAPermissionThatIsMissingIsNamed(t *testing.T) {
	const refusal = `secrets is forbidden: User "u" cannot list resource "secrets" in API group "" in the namespace "ns"`
	h, l, _ := openLinksIn(t, byToken, func(client *fake.FakeDynamicClient) {
		client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: refusal}}
		})
	})
	l.Credentials.Settled(t.Context())
	_, err := h.Client.Endpoint()
	if got := text(err); !strings.HasPrefix(got, "authorization: Secret ns/token cannot be read: ") || !strings.HasSuffix(got, refusal) {
		t.Errorf("error %q, want one that names the Secret, the verb and the resource", got)
	}
}

func TestWithoutAClusterNothingIsReferredTo(t *testing.T) {
	loaded := Load(t, NewLoader(), "hooks: {sync: {webhook: {url: 'https://127.0.0.1:1/', "+byToken+"}}}")
	_, err := loaded.Sync.Call(t.Context(), AboutWidget())
	if want := "webhook https://127.0.0.1:1/: authorization: Secret ns/token cannot be read without a cluster"; text(err) != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestAChangeOfWhatASecretHoldsIsToldAndNoOther(t *testing.T) {
	h, l, client := openLinks(t, byToken)
	changes := make(chan struct{}, 10)
	if err := l.Credentials.Listen(func() { changes <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	l.Credentials.Settled(t.Context())
	if _, err := client.Resource(secrets).Namespace("ns").Create(t.Context(), secret("token", map[string]string{"t": "one"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect := func(header string) {
		t.Helper()
		<-changes
		if met, err := h.Client.Endpoint(); met.Authorization != header || (err != nil) != (header == "") {
			t.Errorf("header %q, error %v, want %q", met.Authorization, err, header)
		}
	}
	put := func(o *object.Object) {
		t.Helper()
		if _, err := client.Resource(secrets).Namespace("ns").Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expect("Bearer one")
	labelled := secret("token", map[string]string{"t": "one"})
	labelled.SetLabels(map[string]string{"a": "b"})
	put(labelled)
	put(secret("token", map[string]string{"t": "two"}))
	expect("Bearer two")
	if err := client.Resource(secrets).Namespace("ns").Delete(t.Context(), "token", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("")
	if len(changes) > 0 {
		t.Error("a label was taken for a change of what the Secret holds")
	}
}
