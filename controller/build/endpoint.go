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

// An endpoint has the connection settings of a webhook. Values in Secrets and ConfigMaps are read for each call, so that a
// change applies to the next call. A selector is nil if the setting is not used.
type endpoint struct {
	inline           hook.Material // caBundle.inline
	ca               *keySelector  // caBundle, from a Secret or a ConfigMap
	certificate, key *keySelector  // clientTLS
	scheme           string        // authorization.type; default Bearer
	token            *keySelector  // authorization
	user, password   *keySelector  // basicAuth
	credentials      *Credentials
}

// newEndpoint makes an endpoint, and adds the objects that settings refer to to credentials.
func newEndpoint(settings v1alpha1.EndpointConfig, credentials *Credentials) (*endpoint, error) {
	e := &endpoint{credentials: credentials}
	if settings.Authorization != nil && settings.BasicAuth != nil {
		return nil, errors.New("authorization and basicAuth exclude each other: keep one")
	}
	if err := e.setCA(settings.CABundle); err != nil {
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

func (e *endpoint) setCA(bundle *v1alpha1.CABundle) error {
	if bundle == nil {
		return nil
	}
	count := 0
	if bundle.Inline != nil {
		count++
		e.inline = hook.Material{PEM: *bundle.Inline, Where: "inline"}
	}
	if ref := bundle.SecretRef; ref != nil {
		count++
		e.ca = e.selector(references.Secret, ref.Namespace, ref.Name, cmp.Or(ref.Key, "ca.crt"))
	}
	if ref := bundle.ConfigMapRef; ref != nil {
		count++
		e.ca = e.selector(references.ConfigMap, ref.Namespace, ref.Name, cmp.Or(ref.Key, "ca.crt"))
	}
	if count != 1 {
		return errors.New("give it exactly one of inline, secretRef and configMapRef")
	}
	return hook.TLS{CA: e.inline}.Check()
}

func (e *endpoint) secret(ref v1alpha1.SecretRef, key, defaultKey string) *keySelector {
	return e.selector(references.Secret, ref.Namespace, ref.Name, cmp.Or(key, defaultKey))
}

// selector returns a keySelector, and adds its object to the credentials.
func (e *endpoint) selector(kind, namespace, name, key string) *keySelector {
	s := keySelector{references.Object{Kind: kind, Namespace: namespace, Name: name}, key}
	e.credentials.objects[s.Object] = true
	return &s
}

// current reads the values and returns how to connect to the server now.
func (e *endpoint) current() (hook.Endpoint, error) {
	result := hook.Endpoint{TLS: hook.TLS{CA: e.inline}}
	var err error
	for _, m := range []struct {
		setting  string
		selector *keySelector
		target   *hook.Material
	}{
		{"caBundle", e.ca, &result.CA},
		{"clientTLS", e.certificate, &result.Certificate},
		{"clientTLS", e.key, &result.Key},
	} {
		if m.selector == nil {
			continue
		}
		if *m.target, err = e.credentials.material(*m.selector); err != nil {
			return hook.Endpoint{}, fmt.Errorf("%s: %w", m.setting, err)
		}
	}
	result.Authorization, err = e.authorization()
	return result, err
}

// authorization returns the Authorization header, or "".
func (e *endpoint) authorization() (string, error) {
	switch {
	case e.token != nil:
		token, err := e.credentials.headerValue(*e.token)
		if err != nil {
			return "", fmt.Errorf("authorization: %w", err)
		}
		return e.scheme + " " + token, nil
	case e.user != nil:
		user, err := e.credentials.headerValue(*e.user)
		if err != nil {
			return "", fmt.Errorf("basicAuth: %w", err)
		}
		password, err := e.credentials.headerValue(*e.password)
		if err != nil {
			return "", fmt.Errorf("basicAuth: %w", err)
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), nil
	}
	return "", nil
}

// settingsFor returns the connection settings of a webhook, and the index of the entry that they are from. If the webhook has
// any settings itself, only these apply. If not, the first entry for its host applies. The index is -1 if no entry applies.
func settingsFor(w *v1alpha1.Webhook, address string, entries []v1alpha1.EndpointConfig) (v1alpha1.EndpointConfig, int) {
	own := v1alpha1.EndpointConfig{CABundle: w.CABundle, ClientTLS: w.ClientTLS, Authorization: w.Authorization, BasicAuth: w.BasicAuth}
	if own != (v1alpha1.EndpointConfig{}) {
		return own, -1
	}
	for i, entry := range entries {
		if hasHost(address, entry.Host) {
			return entry, i
		}
	}
	return own, -1
}

// defaultPorts are the default ports of the URL schemes that a webhook can have.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// hasHost reports whether the URL address has that host. host may include a port; the default is the port of the URL's scheme.
func hasHost(address, host string) bool {
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
