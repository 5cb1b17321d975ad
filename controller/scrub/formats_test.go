package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// formats are the ways in which people store a password in a Secret, each with the least percentage of copies of random passwords that must be
// replaced.
var formats = []struct {
	name  string
	store func(password string) string
	least int
}{
	{"the value", func(p string) string { return p }, 100},
	{"with a line break", func(p string) string { return p + "\n" }, 100},
	{"env", func(p string) string { return "DB_HOST=db.internal\nDB_PASSWORD=" + p + "\n" }, 90},
	{"env, another name", func(p string) string { return "A=b\nexport DATABASE=" + p + "\nB=c\n" }, 90},
	{"env, in quotes", func(p string) string {
		return `DB_PASSWORD="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p) + "\"\n"
	}, 90},
	{"libpq", func(p string) string { return "host=db password=" + libpq(p) + " user=app" }, 90},
	{"ini", func(p string) string { return "[client]\nuser = app\npassword = " + p + "\n" }, 90},
	{"properties", func(p string) string { return "# x\nspring.datasource.password: " + p + "\n" }, 90},
	{"netrc", func(p string) string { return "machine example.com login app password " + p + "\n" }, 90},
	{"pgpass", func(p string) string {
		return "db.internal:5432:app:app:" + strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(p)
	}, 90},
	{"user:password", func(p string) string { return "app:" + p }, 90},
	{"AWS", func(p string) string {
		return "[default]\naws_access_key_id = AKIA123\naws_secret_access_key = " + p + "\n"
	}, 90},
	{"YAML", func(p string) string { return asYAML(map[string]any{"db": map[string]any{"password": p}}) }, 90},
	{"JSON", func(p string) string { return goJSON(map[string]any{"db": []any{p}}) }, 100},
	{"URL", func(p string) string {
		return "postgres://app:" + url.QueryEscape(p) + "@db.internal:5432/app?sslmode=disable"
	}, 90},
	{"URL of Go", func(p string) string {
		return (&url.URL{Scheme: "amqp", User: url.UserPassword("app", p), Host: "mq"}).String()
	}, 90},
	{"registry", func(p string) string {
		return goJSON(map[string]any{"auths": map[string]any{"r.example.com": map[string]any{"auth": base64.StdEncoding.EncodeToString([]byte("app:" + p))}}})
	}, 90},
}

// copies are the ways in which a password is written somewhere else.
var copies = map[string]func(p string) string{
	"plain":              func(p string) string { return p },
	"in a sentence":      func(p string) string { return "it is " + p + " here" },
	"JSON of Go":         func(p string) string { return goJSON(map[string]any{"p": p}) },
	"JSON of Go, twice":  func(p string) string { return goJSON(goJSON(map[string]any{"p": p})) },
	"YAML":               func(p string) string { return asYAML(map[string]any{"p": p}) },
	"query":              url.QueryEscape,
	"query, lower case":  func(p string) string { return lowerEscapes(url.QueryEscape(p)) },
	"encodeURIComponent": encodeURIComponent,
	"path":               url.PathEscape,
	"user of a URL":      func(p string) string { return "x://" + url.UserPassword("a", p).String() + "@h" },
	"HTML":               html.EscapeString,
	"XML": func(p string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", "\"", "&#34;", "'", "&apos;").Replace(p)
	},
	"CRLF":             func(p string) string { return strings.ReplaceAll("x\n"+p+"\n", "\n", "\r\n") },
	"base64":           func(p string) string { return base64.StdEncoding.EncodeToString([]byte(p)) },
	"base64 of a URL":  func(p string) string { return base64.RawURLEncoding.EncodeToString([]byte("x" + p + "y")) },
	"base64 after two": func(p string) string { return base64.StdEncoding.EncodeToString([]byte("x:" + p + "y")) },
	"base64, wrapped":  func(p string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte(p + p + p))) },
	"base64 twice": func(p string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(p))))
	},
	"hex":        func(p string) string { return hex.EncodeToString([]byte(p)) },
	"upper case": asciiUpper,
	"lower case": strings.ToLower,
}

func goJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func asYAML(v any) string {
	text, _ := yaml.Marshal(v)
	return string(text)
}

func libpq(p string) string {
	if !strings.ContainsAny(p, ` '\`) {
		return p
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(p) + "'"
}

func encodeURIComponent(p string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%7E", "~").Replace(url.QueryEscape(p))
}

func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], strings.ToLower(string(out[i+1:i+3])))
		}
	}
	return string(out)
}

func wrapped(text string) string {
	var lines []string
	for line := range slices.Chunk([]byte(text), 16) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}

func asciiUpper(p string) string {
	out := []byte(p)
	for i, c := range out {
		if 'a' <= c && c <= 'z' {
			out[i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

// passwords are the alphabets of random passwords, with their least and greatest length.
var passwords = []struct {
	alphabet    string
	least, most int
}{
	{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 8, 40},
	{"0123456789abcdef", 32, 32},
	{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$%&*+-.:?@_~^=(){}<>|,;/#", 16, 24},
	{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöüß日本0123456789", 12, 20},
}

func randomPassword(r *rand.Rand) string {
	of := passwords[r.IntN(len(passwords))]
	alphabet := []rune(of.alphabet)
	p := make([]rune, of.least+r.IntN(of.most-of.least+1))
	for i := range p {
		p[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(p)
}

// FuzzFormats looks for passwords in all copies of them, whatever the format is in which the Secret has them.
func FuzzFormats(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		for _, format := range formats {
			const rounds = 20
			missed, tried, example := 0, 0, ""
			for range rounds {
				password := randomPassword(r)
				s := New()
				s.Add(secretWith(map[string]string{"file": format.store(password)}))
				for name, write := range copies {
					tried++
					if clean, changed := s.Text(write(password)); !changed || strings.Contains(clean, password) {
						missed++
						example = fmt.Sprintf("%q, %s: %q", format.store(password), name, clean)
					}
				}
			}
			if 100*(tried-missed) < format.least*tried {
				t.Errorf("%s: %d of %d are left, such as %s", format.name, missed, tried, example)
			}
		}
	})
}
