package engine

import (
	"strings"
	"testing"
)

// Many values below long keys cost more than their number and their bytes: each is named by its path.
func TestWorkOfAnAnswerIsLimited(t *testing.T) {
	values := func(n int) map[string]any {
		m := map[string]any{}
		for range n {
			m[strings.Repeat("a", 3)+string(rune('0'+len(m)%10))+strings.Repeat("b", len(m)/10)] = true
		}
		return m
	}
	long := strings.Repeat("k", 1<<20)
	if err := CheckAnswer(map[string]any{"k": values(1000)}, Limits{}); err != nil {
		t.Errorf("a small answer: %v", err)
	}
	if err := CheckAnswer(map[string]any{long: []any{true}}, Limits{}); err != nil {
		t.Errorf("a long key: %v", err)
	}
	wantKind(t, asError(CheckAnswer(map[string]any{long: values(1000)}, Limits{})), KindOutput)
}

func TestCheckAnswerHasTheLimitsOfAnswers(t *testing.T) {
	deep := any(1)
	for range 70 {
		deep = []any{deep}
	}
	for what, v := range map[string]any{"many": make([]any, 200_000), "deep": deep, "large": strings.Repeat("a", 5<<20)} {
		if err := CheckAnswer(v, Limits{}); err == nil || err.Kind != KindOutput {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, v := range []any{nil, true, "a", int64(1), 1.5, []any{map[string]any{"a": "b"}}} {
		if err := CheckAnswer(v, Limits{}); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func TestCheckTextCountsValuesBeforeTheyAreDecoded(t *testing.T) {
	for text, refused := range map[string]bool{
		"[" + strings.Repeat("{},", 90_000) + "{}]":    false,
		"[" + strings.Repeat("{},", 150_000) + "{}]":   true,
		`["` + strings.Repeat(`[\",{`, 300_000) + `"]`: false,
		"":   false,
		`"\`: false,
		`{"a": "` + strings.Repeat(",", 300_000) + `", "b": [1]}`: false,
	} {
		if got := CheckText([]byte(text), Limits{}); (got != nil) != refused {
			t.Errorf("a text of %d bytes: %v, want it refused: %t", len(text), got, refused)
		}
	}
}

func asError(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}
