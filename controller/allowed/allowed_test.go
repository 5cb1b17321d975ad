package allowed

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

func TestWordsOfNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(string) []string
		want  string
		like  string
	}{
		{"my web!", validation.IsValidLabelValue, "a label value must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit", "my-web"},
		{"My_Blogs", validation.IsDNS1123Subdomain, "it must have only lower-case letters, digits, '-' and '.', and begin and end with a letter or a digit", "my-blogs"},
		{"My.Blogs", validation.IsDNS1123Label, "it must have only lower-case letters, digits and '-', and begin and end with a letter or a digit", "my-blogs"},
		{"1_a", validation.IsDNS1035Label, "it must have only lower-case letters, digits and '-', begin with a letter, and end with a letter or a digit", "1-a"},
		{"a b", validation.IsConfigMapKey, "it must have only letters, digits, '-', '_' and '.'", "a-b"},
		{"my key", validation.IsQualifiedName, "a key must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit", "my-key"},
		{"a/b/c", validation.IsQualifiedName, "a key must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; a domain and '/' may be before it", "a-b-c"},
	} {
		wrong := c.check(c.name)
		if len(wrong) == 0 {
			t.Errorf("%q is valid", c.name)
			continue
		}
		if got := Words(wrong[0]); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
		if got := Like(c.name, wrong[0]); got != c.like {
			t.Errorf("%q: meant is %q, want %q", c.name, got, c.like)
		}
	}
}

func TestWordsOfOtherTexts(t *testing.T) {
	const text = "must be no more than 63 characters"
	if got := Words(text); got != text || Like("a", text) != "" {
		t.Errorf("got %q", got)
	}
}

func TestQuantity(t *testing.T) {
	const any = "write a number with a suffix, such as 500m, 64M or 64Mi"
	for text, want := range map[string]string{
		"64MB": "write 64M or 64Mi", "64 mb": "write 64M or 64Mi", "64MiB": "write 64Mi", "1.5gi": "write 1.5Gi", "5kb": "write 5k or 5Ki",
		"100 bytes": "write 100", "lots": any, "": any, "-": any,
	} {
		if got := Quantity(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const any = "write a number with a unit, such as 500ms, 5s or 1m30s"
	for text, want := range map[string]string{
		"5 seconds": "write 5s", "5": "write it with a unit, such as 5s", "2 Minutes": "write 2m", "1 hour": "write 1h", "10 ms": "write 10ms", "3 milliseconds": "write 3ms",
		"1 day": "there is no unit for days: write hours, such as 24h", "soon": any, "": any, "-5s": any,
	} {
		if got := Duration(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSelector(t *testing.T) {
	for text, want := range map[string]string{
		"{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}": "",
		"{matchLabels: {a: two words}}":                                         `matchLabels["a"]: the value "two words" is not valid: a label value must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; did you mean "two-words"?`,
		"{matchLabels: {two words: a}}":                                         `matchLabels["two words"]: the key "two words" is not valid: a key must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; did you mean "two-words"?`,
		"{matchExpressions: [{key: a, operator: Contains, values: [b]}]}":       `matchExpressions[0]: operator is "Contains", want In, NotIn, Exists or DoesNotExist`,
		"{matchExpressions: [{key: a, operator: exists}]}":                      `matchExpressions[0]: operator is "exists", want In, NotIn, Exists or DoesNotExist; did you mean "Exists"?`,
		"{matchExpressions: [{key: a, operator: Exists, values: [b]}]}":         `matchExpressions[0]: operator Exists takes no values: remove them, or write In`,
		"{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}":   `matchExpressions[0]: operator DoesNotExist takes no values: remove them, or write NotIn`,
		"{matchExpressions: [{key: a, operator: In}]}":                          `matchExpressions[0]: operator In needs values, such as [a, b]`,
		"{matchExpressions: [{key: a, operator: In, values: [b, c d]}]}":        `matchExpressions[0]: the value "c d" is not valid: a label value must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; did you mean "c-d"?`,
		"{matchExpressions: [{key: \"\", operator: Exists}]}":                   `matchExpressions[0]: the key "" is not valid: a key must not be empty`,
	} {
		var s metav1.LabelSelector
		if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		_, err := Selector(&s)
		switch {
		case err == nil && want != "":
			t.Errorf("%s is valid", text)
		case err != nil && err.Error() != want:
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
