package place

import (
	"fmt"
	"strings"
	"testing"
)

func TestFew(t *testing.T) {
	var few Few
	made := 0
	for n := range 16_000 {
		few.Add(func() *Error { made++; return &Error{Msg: fmt.Sprint(n)} })
	}
	texts := Texts(few.All())
	if made != Most || len(texts) != Most+1 || texts[0] != "0" || texts[Most] != "and 15,980 more" {
		t.Errorf("%d were made: %q", made, texts)
	}
	again := Texts(First(append([]*Error{{Msg: "other"}}, few.All()...)))
	if len(again) != Most+1 || again[0] != "other" || again[Most] != "and 15,981 more" {
		t.Errorf("the first of these and another one are %q", again)
	}
	if got := Texts(First([]*Error{{Msg: "a"}})); len(got) != 1 || First(nil) != nil {
		t.Errorf("one error becomes %q", got)
	}
	long := First([]*Error{{Msg: strings.Repeat("x", 3<<20), About: strings.Repeat("y", 3<<20)}})[0].Error()
	if len(long) > 3000 || !strings.HasSuffix(long, "…") {
		t.Errorf("the text has %d bytes", len(long))
	}
	if got := FirstTexts(make([]string, 1_234_567+Most)); len(got) != Most+1 || got[Most] != "and 1,234,567 more" {
		t.Errorf("the first texts are %q", got)
	}
}
