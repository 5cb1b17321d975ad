package flagvalue

import "testing"

func TestAChoiceIsOneOfItsWords(t *testing.T) {
	c := OneOf("console", "json")
	if c.String() != "console" || c.Words() != "console, json" {
		t.Errorf("by default it is %s of %s", &c, c.Words())
	}
	if err := c.Set("json"); err != nil || c.String() != "json" {
		t.Errorf("set to json, it is %s, error %v", &c, err)
	}
	for word, want := range map[string]string{
		"jsn": "want console or json; did you mean json?",
		"xml": "want console or json",
	} {
		if err := c.Set(word); err == nil || err.Error() != want {
			t.Errorf("set to %s: error %v, want %s", word, err, want)
		}
		if c.String() != "json" {
			t.Errorf("after %s it is %s", word, &c)
		}
	}
}

// What the command line says wins, even where it is the word that would be the default.
func TestADefaultIsForAChoiceThatIsNotSet(t *testing.T) {
	c := OneOf("console", "json")
	c.SetDefault("json")
	if c.String() != "json" {
		t.Errorf("with the default json it is %s", &c)
	}
	if err := c.Set("console"); err != nil {
		t.Fatal(err)
	}
	if c.SetDefault("json"); c.String() != "console" {
		t.Errorf("set to console, with the default json, it is %s", &c)
	}
}

func TestBytesAreShownAsAPersonWritesThem(t *testing.T) {
	size := Bytes(256 << 20)
	if size.String() != "256Mi" || size.Value() != 256<<20 {
		t.Errorf("256 << 20 bytes are %s, value %d", &size, size.Value())
	}
	if err := size.Set("1Gi"); err != nil || size.Value() != 1<<30 {
		t.Errorf("1Gi is %d, error %v", size.Value(), err)
	}
}
