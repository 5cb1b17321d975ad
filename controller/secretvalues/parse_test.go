package secretvalues

import (
	"encoding/base64"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func TestTextsInValues(t *testing.T) {
	for value, want := range map[string]string{
		"":                                               "",
		"abc":                                            "",
		"default":                                        "",
		"  hunter2 \n":                                   "hunter2",
		"A=b\nDB_PASSWORD=hunter2\n":                     "hunter2",
		`export DB_PASSWORD="hun\"ter"`:                  `hun"ter`,
		"password = hunter2 # old":                       "hunter2",
		"host=db password='hun ter2'":                    "hun ter2",
		"db:\n  password: hunter2\n":                     "hunter2",
		"machine h login l password hunter2":             "hunter2",
		"h:5432:d:u:hunter2":                             "hunter2",
		"app:hunter2":                                    "hunter2",
		"postgres://app:hunt%40r2@db/x":                  "hunt@r2",
		"https://h/?token=hunter2&x=y":                   "hunter2",
		`{"db": {"password": "hunter2"}}`:                "hunter2",
		`{"pin": 271828}`:                                "271828",
		`{"auth": "` + encode("app:hunter2") + `"}`:      "hunter2",
		"-----BEGIN X-----\nMIIBszCCAVmgAwIBAgIU\n":      "MIIBszCCAVmgAwIBAgIU",
		"the words here, and the one s3cretW0rd, strong": "s3cretW0rd",
	} {
		found := want == ""
		for text := range Texts(value) {
			if want == "" {
				t.Errorf("%q has %q", value, text.Text)
			}
			found = found || text.Text == want
		}
		if !found {
			t.Errorf("%q: %q is not found", value, want)
		}
	}
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// A Secret is found when its generation of the filter is dropped, also if it is not used meanwhile.
func TestSearchAfterGenerationsOfTheFilter(t *testing.T) {
	secret := func(value string) *object.Object {
		return objecttest.Packed(t, object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"a": value}}))
	}
	before, other := secret("zQx7Kp2mVw9RtB4n"), OfTexts([]string{"another-Passw0rd"})
	for generations := range 4 {
		values, _ := Of([]*object.Object{before}, 1<<20)
		for range generations {
			known.reserve(most + 1)
		}
		for _, values := range [][]*Values{values, append(values, other)} {
			if found := Search([]string{"it is zQx7Kp2mVw9R"}, values); len(found[0]) != 1 || found[0][0].Plain != "zqx7kp2mvw9r" {
				t.Errorf("after %d generations: found %v", generations, found)
			}
		}
	}
	values, _ := Of([]*object.Object{before}, 1<<20)
	if now := known.now(); values[0].age.Load() != now {
		t.Errorf("it is of the generation %d, and not put into %d again", values[0].age.Load(), now)
	}
}

// What is in no cache does not use the place of what is.
func TestOtherSecretsAreNotKnown(t *testing.T) {
	before := known.count
	Of([]*object.Object{object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"a": "zQx7Kp2mVw9RtB4n"}})}, 1<<20)
	if known.count != before {
		t.Errorf("%d hashes were put", known.count-before)
	}
}
