package site

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	answer = `document.getElementById("answer").textContent`
	failed = `document.getElementById("error").textContent`
	state  = `document.getElementById("state").textContent`
)

// choose selects an option by a part of its text.
func choose(list, option string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(`{
		const list = document.getElementById(%q);
		list.value = [...list.options].find(o => o.text.includes(%q)).value;
		list.dispatchEvent(new Event("change"));
	}`, list, option), nil)
}

// edit replaces a part of the text in the editor.
func edit(old, text string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(`{
		const text = document.getElementById("text");
		if (!text.value.includes(%[1]q)) throw new Error("the text has no " + %[1]q);
		text.value = text.value.replace(%[1]q, %[2]q);
		text.dispatchEvent(new Event("input"));
	}`, old, text), nil)
}

func TestPlayground(t *testing.T) {
	b := open(t)
	b.do(emulation.SetTimezoneOverride("Asia/Tokyo"), chromedp.Navigate(b.url+"/playground.html"))

	b.do(choose("example", "JavaScript: one Pod"), edit(`return {`, `console.log(new Date(2026, 0, 1).toISOString()); return {`), chromedp.Click("#run"))
	b.wait(`document.getElementById("log").textContent`, "2026-01-01T00:00:00.000Z") // a script does not notice the zone of the browser

	for _, language := range []string{"Starlark: one Pod", "JavaScript: one Pod", "Jsonnet: one Pod"} {
		b.do(choose("example", language), choose("file", "parent.yaml"), edit("nginx:1.29", "nginx:"+language[:4]), chromedp.Click("#run"))
		b.wait(answer, "image: nginx:"+language[:4])
	}

	b.do(choose("example", "a website"), chromedp.Click("#run"))
	b.wait(answer, "kind: Deployment")

	b.do(choose("example", "Starlark: one Pod"), choose("file", "controller.yaml"), edit(`-immortalpod`, `-edited`), chromedp.Click("#run"))
	b.wait(answer, "name: phoenix-edited")

	b.do(edit(`["image"]`, `["imagee"]`), chromedp.Click("#run"))
	b.wait(failed, `did you mean "image"?`)
	var text string
	b.do(chromedp.Evaluate(failed, &text))
	if !strings.HasPrefix(text, "controller.yaml:") || !strings.Contains(text, "\n") || !strings.Contains(text, "^") {
		t.Errorf("the error has no place, line and caret:\n%s", text)
	}

	for language, loop := range map[string][2]string{
		"Starlark: one Pod":   {`pods = children["Pod.v1"]`, `pods = [x for x in range(1000000000)]`},
		"JavaScript: one Pod": {`return {`, `for (;;) {} return {`},
	} {
		b.do(choose("example", language), edit(loop[0], loop[1]), chromedp.Click("#run"))
		b.wait(`String(document.getElementById("run").disabled)`, "false")
		b.do(chromedp.Evaluate(failed, &text)) // it has the limit of the engine, or that of the page
		if !strings.Contains(text, "step") && !strings.Contains(text, "more than") {
			t.Errorf("%s: an endless loop: %q", language, text)
		}
	}
	// Stop ends a script at once, and the next call starts the program again.
	b.do(choose("example", "JavaScript: one Pod"), edit(`return {`, `for (;;) {} return {`), chromedp.Click("#run"))
	b.wait(state, "Running")
	b.do(chromedp.Click("#stop"))
	b.wait(state, "Stopped")
	b.do(choose("example", "Jsonnet: one Pod"), chromedp.Click("#run"))
	b.wait(answer, "kind: Pod")

	b.do(edit(`-immortalpod`, `-shared`), chromedp.Click("#share"), chromedp.Evaluate(`location.href`, &text))
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(text))
	b.wait(`document.getElementById("text").value`, "-shared")
}
