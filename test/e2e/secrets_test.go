package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cmdUntold searches for secret values, and for each part of four characters of them and of their base64, in every text that
// servers produce: their logs, the events, conditions of controllers, metrics and probes. With ! some part must be found,
// which proves that the search works. Random values can have any four characters by chance, so that only longer parts of them are
// searched for.
func cmdUntold(ts *testscript.TestScript, neg bool, args []string) {
	part := 4
	if args[0] == "random" {
		part, args = 12, args[1:]
	}
	texts, err := worldOf(ts).allTexts(ts)
	ts.Check(err)
	found := ""
	for where, text := range texts {
		for _, secret := range args {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
				if digits := hexadecimal.FindString(form); digits != "" && part == 4 {
					ts.Fatalf("%s can be a part of a UID: use a value without it in place of %s", digits, secret)
				}
				if at := leak(text, form, part); at >= 0 {
					found = fmt.Sprintf("%s has a part of %q: ...%s...", where, form, text[max(0, at-200):min(len(text), at+200)])
				}
			}
		}
	}
	if (found == "") == neg {
		ts.Fatalf("%s in %d texts", found, len(texts))
	}
}

// hexadecimal matches what is in a UID by chance.
var hexadecimal = regexp.MustCompile("[0-9a-f]{4}")

// leak returns the index of so many characters of form in a row in text, or -1.
func leak(text, form string, part int) int {
	for i := 0; i+part <= len(form); i++ {
		if at := strings.Index(text, form[i:i+part]); at >= 0 {
			return at
		}
	}
	return -1
}

// allTexts returns the texts, by their source.
func (w *world) allTexts(ts *testscript.TestScript) (map[string]string, error) {
	texts := map[string]string{}
	logs, err := filepath.Glob(ts.MkAbs("log*"))
	if err != nil {
		return nil, err
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts[filepath.Base(path)] = string(text)
	}
	for _, variable := range []string{"METRICS", "HEALTH"} {
		for _, page := range []string{"/metrics", "/healthz", "/readyz"} {
			if url := ts.Getenv(variable); url != "" {
				texts[url+page], _ = fetch(url + page) // empty for a server that has ended
			}
		}
	}
	return texts, w.textsInCluster(texts)
}

// textsInCluster adds all events, and the status of the controller objects of this script.
func (w *world) textsInCluster(texts map[string]string) error {
	events, err := w.client.Resource(eventsResource).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		event.SetManagedFields(nil)
		text, err := plain(event.Object)
		if err != nil {
			return err
		}
		texts["event "+event.GetName()] = text
	}
	for _, resource := range []string{"compositecontrollers", "decoratorcontrollers"} {
		r, err := w.named(resource + ".metacontroller.k8s.io")
		if err != nil {
			return err
		}
		controllers, err := r.List(context.Background(), metav1.ListOptions{LabelSelector: serverLabel + "=" + w.name})
		if err != nil {
			return err
		}
		for _, c := range controllers.Items {
			text, err := plain(c.Object["status"])
			if err != nil {
				return err
			}
			texts["status of "+c.GetName()] = text
		}
	}
	return nil
}

// plain returns JSON without HTML escapes.
func plain(v any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return text.String(), err
}
