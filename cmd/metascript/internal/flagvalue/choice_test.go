package flagvalue

import "testing"

func TestChoiceSet(t *testing.T) {
	c := OneOf("console", "json")
	if c.String() != "console" || c.Words() != "console, json" {
		t.Errorf("the default is %s of %s", &c, c.Words())
	}
	if err := c.Set("json"); err != nil || c.String() != "json" {
		t.Errorf("after Set(json) it is %s, error %v", &c, err)
	}
	if err := c.Set("JSON"); err != nil || c.String() != "json" {
		t.Errorf("after Set(JSON) it is %s, error %v", &c, err)
	}
	for word, want := range map[string]string{
		"jsn": "want console or json; did you mean \"json\"?",
		"xml": "want console or json",
	} {
		if err := c.Set(word); err == nil || err.Error() != want {
			t.Errorf("Set(%s): error %v, want %s", word, err, want)
		}
		if c.String() != "json" {
			t.Errorf("after %s it is %s", word, &c)
		}
	}
}

// The command line has precedence over SetDefault, also if it has the default word.
func TestSetDefaultDoesNotReplaceASetChoice(t *testing.T) {
	c := OneOf("console", "json")
	c.SetDefault("json")
	if c.String() != "json" {
		t.Errorf("after SetDefault(json) it is %s", &c)
	}
	if err := c.Set("console"); err != nil {
		t.Fatal(err)
	}
	if c.SetDefault("json"); c.String() != "console" {
		t.Errorf("after Set(console) and SetDefault(json) it is %s", &c)
	}
}

func TestBytes(t *testing.T) {
	size := Bytes(256 << 20)
	if size.String() != "256Mi" || size.Value() != 256<<20 {
		t.Errorf("256 << 20 bytes are %s, value %d", &size, size.Value())
	}
	if err := size.Set("1Gi"); err != nil || size.Value() != 1<<30 {
		t.Errorf("1Gi is %d, error %v", size.Value(), err)
	}
}
