package build

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/references"
)

// An endpoint finds out how a webhook's server is met. It is what connection settings say, each value named; nil: there
// is none.
type endpoint struct {
	inline           hook.Material // the caBundle's own text
	ca               *keySelector
	certificate, key *keySelector
	scheme           string // before the token
	token            *keySelector
	user, password   *keySelector
	keys             *Credentials
}

// newEndpoint reads settings and notes in keys what they refer to.
func newEndpoint(settings v1alpha1.EndpointConfig, keys *Credentials) (*endpoint, error) {
	e := &endpoint{keys: keys}
	if settings.Authorization != nil && settings.BasicAuth != nil {
		return nil, errors.New("authorization and basicAuth exclude each other: keep one")
	}
	if err := e.setAuthority(settings.CABundle); err != nil {
		return nil, fmt.Errorf("caBundle: %w", err)
	}
	if c := settings.ClientTLS; c != nil {
		e.certificate = e.secret(c.SecretRef, c.CertKey, "tls.crt")
		e.key = e.secret(c.SecretRef, c.PrivateKeyKey, "tls.key")
	}
	if a := settings.Authorization; a != nil {
		e.scheme = cmp.Or(strings.TrimSpace(a.Type), "Bearer")
		if strings.EqualFold(e.scheme, "Basic") {
			return nil, errors.New("authorization.type Basic: use basicAuth")
		}
		e.token = e.secret(v1alpha1.SecretRef{Name: a.SecretRef.Name, Namespace: a.SecretRef.Namespace}, a.SecretRef.Key, "")
	}
	if b := settings.BasicAuth; b != nil {
		e.user = e.secret(b.SecretRef, b.UsernameKey, "username")
		e.password = e.secret(b.SecretRef, b.PasswordKey, "password")
	}
	return e, nil
}

func (e *endpoint) setAuthority(bundle *v1alpha1.CABundle) error {
	if bundle == nil {
		return nil
	}
	set := 0
	if bundle.Inline != nil {
		set++
		e.inline = hook.Material{PEM: *bundle.Inline, Where: "inline"}
	}
	if ref := bundle.SecretRef; ref != nil {
		set++
		e.ca = e.at(references.Secret, ref.Namespace, ref.Name, cmp.Or(ref.Key, "ca.crt"))
	}
	if ref := bundle.ConfigMapRef; ref != nil {
		set++
		e.ca = e.at(references.ConfigMap, ref.Namespace, ref.Name, cmp.Or(ref.Key, "ca.crt"))
	}
	if set != 1 {
		return errors.New("give it exactly one of inline, secretRef and configMapRef")
	}
	return hook.TLS{CA: e.inline}.Check()
}

func (e *endpoint) secret(ref v1alpha1.SecretRef, key, otherwise string) *keySelector {
	return e.at(references.Secret, ref.Namespace, ref.Name, cmp.Or(key, otherwise))
}

func (e *endpoint) at(kind, namespace, name, key string) *keySelector {
	at := keySelector{references.Object{Kind: kind, Namespace: namespace, Name: name}, key}
	e.keys.objects[at.Object] = true
	return &at
}

// now is how the server is met by a call that begins now.
func (e *endpoint) now() (hook.Endpoint, error) {
	met := hook.Endpoint{TLS: hook.TLS{CA: e.inline}}
	var err error
	for _, m := range []struct {
		setting string
		at      *keySelector
		into    *hook.Material
	}{
		{"caBundle", e.ca, &met.CA},
		{"clientTLS", e.certificate, &met.Certificate},
		{"clientTLS", e.key, &met.Key},
	} {
		if m.at == nil {
			continue
		}
		if *m.into, err = e.keys.material(*m.at); err != nil {
			return hook.Endpoint{}, fmt.Errorf("%s: %w", m.setting, err)
		}
	}
	met.Authorization, err = e.authorization()
	return met, err
}

// authorization is the header of that name.
func (e *endpoint) authorization() (string, error) {
	switch {
	case e.token != nil:
		token, err := e.keys.line(*e.token)
		if err != nil {
			return "", fmt.Errorf("authorization: %w", err)
		}
		return e.scheme + " " + token, nil
	case e.user != nil:
		user, err := e.keys.line(*e.user)
		if err != nil {
			return "", fmt.Errorf("basicAuth: %w", err)
		}
		password, err := e.keys.line(*e.password)
		if err != nil {
			return "", fmt.Errorf("basicAuth: %w", err)
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), nil
	}
	return "", nil
}

// settingsFor gives the connection settings of a webhook, and where they are: its own if it has any, as a whole, or
// else those of the first entry for its host. It gives the entry's number, or -1.
func settingsFor(w *v1alpha1.Webhook, address string, entries []v1alpha1.EndpointConfig) (v1alpha1.EndpointConfig, int) {
	own := v1alpha1.EndpointConfig{CABundle: w.CABundle, ClientTLS: w.ClientTLS, Authorization: w.Authorization, BasicAuth: w.BasicAuth}
	if own != (v1alpha1.EndpointConfig{}) {
		return own, -1
	}
	for i, entry := range entries {
		if isAt(address, entry.Host) {
			return entry, i
		}
	}
	return own, -1
}

// defaultPorts are those of the protocols.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// isAt reports whether address is at host, which may have a port.
func isAt(address, host string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	entry, err := url.Parse("//" + host)
	if err != nil {
		return false
	}
	port := defaultPorts[u.Scheme]
	return strings.EqualFold(u.Hostname(), entry.Hostname()) && cmp.Or(u.Port(), port) == cmp.Or(entry.Port(), port)
}
