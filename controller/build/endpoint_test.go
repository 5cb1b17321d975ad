package build

import (
	"slices"
	"strings"
	"testing"

	"metascript/controller/spec/spectest"
	"metascript/test/authority"
)

func TestHostOfAnEndpointConfigMatchesHostAndPort(t *testing.T) {
	for _, c := range []struct {
		address, host string
		want          bool
	}{
		{"https://hooks.example.com/sync", "hooks.example.com", true},
		{"https://hooks.example.com/sync", "HOOKS.Example.com", true},
		{"https://hooks.example.com/sync", "hooks.example.com:443", true},
		{"https://hooks.example.com:443/sync", "hooks.example.com", true},
		{"https://hooks.example.com/sync", "hooks.example.com:80", false},
		{"https://hooks.example.com:8443/sync", "hooks.example.com", false},
		{"https://hooks.example.com:8443/sync", "hooks.example.com:8443", true},
		{"http://hooks.example.com/sync", "hooks.example.com:80", true},
		{"http://catset.hooks:80/sync", "catset.hooks", true}, // a Service
		{"https://catset.hooks:8443/sync", "catset.hooks:8443", true},
		{"https://catset.hooks:80/sync", "catset.hooks", false},
		{"https://admin:secret@hooks.example.com/sync", "hooks.example.com", true},
		{"https://hooks.example.com/sync", "example.com", false},
		{"https://[::1]:8443/sync", "[::1]:8443", true},
		{"https://hooks.example.com/sync", "", false},
		{"https://hooks.example.com/sync", "[", false},
		{"https://hooks.example.com/sync", "https://hooks.example.com", false},
	} {
		if got := hasHost(c.address, c.host); got != c.want {
			t.Errorf("an entry for %q applies to %s: %t, want %t", c.host, c.address, got, c.want)
		}
	}
}

// refs lists the Secrets and ConfigMaps that a controller's webhooks refer to.
func refs(loaded Built) []string {
	var names []string
	for r := range loaded.Clients.Credentials.objects {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return names
}

const (
	tokenSettings = "authorization: {secretRef: {name: token, namespace: ns, key: t}}"
	caSettings    = "caBundle: {secretRef: {name: ca, namespace: ns}}"
)

func TestWebhookRefersToTheObjectsInItsSettings(t *testing.T) {
	hooks := func(webhook string) string { return "hooks: {sync: {webhook: {url: 'https://x/'" + webhook + "}}}" }
	for name, c := range map[string]struct{ spec, want string }{
		"nothing":                               {hooks(""), ""},
		"a Secret":                              {hooks(", " + caSettings), "Secret ns/ca"},
		"a ConfigMap":                           {hooks(", caBundle: {configMapRef: {name: ca, namespace: ns}}"), "ConfigMap ns/ca"},
		"everything":                            {hooks(", " + caSettings + ", clientTLS: {secretRef: {name: tls, namespace: ns}}, basicAuth: {secretRef: {name: admin, namespace: ns}}"), "Secret ns/admin, Secret ns/ca, Secret ns/tls"},
		"the entry for its host":                {"{endpointConfigs: [{host: elsewhere, " + tokenSettings + "}, {host: x, " + caSettings + "}], " + hooks("") + "}", "Secret ns/ca"},
		"the first of two entries":              {"{endpointConfigs: [{host: x, " + tokenSettings + "}, {host: x, " + caSettings + "}], " + hooks("") + "}", "Secret ns/token"},
		"its own settings in place of an entry": {"{endpointConfigs: [{host: x, " + caSettings + "}], " + hooks(", "+tokenSettings) + "}", "Secret ns/token"},
		"an entry for another host":             {"{endpointConfigs: [{host: elsewhere, " + caSettings + "}], " + hooks("") + "}", ""},
	} {
		if got := strings.Join(refs(load(t, newBuilder(), c.spec)), ", "); got != c.want {
			t.Errorf("%s: the webhook refers to %q, want %q", name, got, c.want)
		}
	}
}

func TestEndpointConfigsApplyToDecoratorControllers(t *testing.T) {
	d := spectest.Decorator(t, "{resources: [{apiVersion: v1, resource: pods}], endpointConfigs: [{host: x, "+caSettings+"}], hooks: {sync: {webhook: {url: 'https://x/'}}}}")
	loaded, err := newBuilder().ReadAndBuild(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(refs(loaded), ", "); got != "Secret ns/ca" {
		t.Errorf("the webhook refers to %q, want the Secret of the entry", got)
	}
}

func TestUnusedEndpointConfigIsAWarning(t *testing.T) {
	entry := func(host string) string { return "{host: " + host + ", " + caSettings + "}" }
	loaded := load(t, newBuilder(), "{endpointConfigs: ["+entry("x")+", "+entry("elsewhere")+", "+entry("x:443")+"], hooks: {sync: {webhook: {url: 'https://x/'}}}}")
	if len(loaded.Warnings) != 2 || !strings.HasPrefix(loaded.Warnings[0], "endpointConfigs[1] has no effect: no webhook at elsewhere takes") || !strings.HasPrefix(loaded.Warnings[1], "endpointConfigs[2] ") {
		t.Errorf("warnings: %q, want one about each of [1] and [2]", loaded.Warnings)
	}
}

func TestInvalidConnectionSettingsAreErrors(t *testing.T) {
	secret := "secretRef: {name: s, namespace: ns}"
	for name, c := range map[string]struct{ settings, want string }{
		"two credentials":              {tokenSettings + ", basicAuth: {" + secret + "}", "authorization and basicAuth exclude each other"},
		"Basic":                        {"authorization: {type: ' basic', " + strings.TrimPrefix(tokenSettings, "authorization: {"), "use basicAuth"},
		"no CA":                        {"caBundle: {}", "caBundle: give it exactly one of inline, secretRef and configMapRef"},
		"two CAs":                      {"caBundle: {" + secret + ", configMapRef: {name: c, namespace: ns}}", "exactly one"},
		"no certificate":               {"caBundle: {inline: hunter2}", "caBundle: inline: it contains no certificate in PEM format"},
		"an empty bundle":              {"caBundle: {inline: ''}", "it contains no certificate"},
		"an empty bundle and a Secret": {"caBundle: {inline: '', " + secret + "}", "exactly one"},
	} {
		for path, spec := range map[string]string{
			"hooks.sync.webhook": "hooks: {sync: {webhook: {url: 'https://x/', " + c.settings + "}}}",
			"endpointConfigs[0]": "{endpointConfigs: [{host: x, " + c.settings + "}], hooks: {sync: {webhook: {url: 'https://x/'}}}}",
		} {
			_, err := newBuilder().ReadAndBuild(t.Context(), spectest.Composite(t, spec))
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: error %v, want one that begins with %s and has %q", name, err, path, c.want)
			}
		}
	}
	ca, err := authority.New("ours")
	if err != nil {
		t.Fatal(err)
	}
	load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'https://x/', caBundle: {inline: \""+strings.ReplaceAll(ca.PEM, "\n", `\n`)+"\"}}}}")
}

func TestMalformedURLIsReportedButNotShown(t *testing.T) {
	for webhook, problem := range map[string]malformedError{
		"{url: 'hunter2'}": noScheme, "{url: 'ftp://admin:hunter2@x/'}": noURL, "{url: 'http://admin:hunter2@[/'}": noURL, "{url: 'http:///hunter2'}": noURL,
		"{url: 'http://::1:8080/hunter2'}": noBrackets, "{url: 'https://fd00:a::8/hunter2'}": noBrackets,
		"{service: {name: s, namespace: ns}, path: hunter2}": noSlash,
	} {
		want := "hooks.sync.webhook: " + problem.Error()
		loaded, err := newBuilder().ReadAndBuild(t.Context(), spectest.Composite(t, "hooks: {sync: {webhook: "+webhook+"}}"))
		if err != nil || len(loaded.Warnings) != 1 || loaded.Warnings[0] != want+"; until then every call fails" {
			t.Errorf("%s: error %v, warnings %q", webhook, err, loaded.Warnings)
			continue
		}
		if _, err := loaded.Sync.Call(t.Context(), nil); err == nil || err.Error() != want {
			t.Errorf("%s: a call returns error %v", webhook, err)
		}
	}
}
