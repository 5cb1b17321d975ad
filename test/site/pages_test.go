package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// audit returns what is wrong with a page.
const audit = `(() => {
	const wrong = [], all = selector => [...document.querySelectorAll(selector)];
	if (!document.title.trim()) wrong.push("no title");
	if (document.documentElement.lang !== "en") wrong.push("no lang");
	if (!document.querySelector("meta[name=viewport]")) wrong.push("no viewport");
	let last = 0;
	for (const heading of all("h1, h2, h3, h4, h5, h6")) {
		const level = Number(heading.tagName[1]);
		if (level > last + 1) wrong.push("heading after a higher level: " + heading.textContent);
		last = level;
	}
	if (all("h1").length !== 1) wrong.push(all("h1").length + " h1");
	for (const image of all("img:not([alt])")) wrong.push("no alt: " + image.src);
	for (const field of all("input, select, textarea")) if (!field.labels.length) wrong.push("no label: " + field.id);
	for (const field of all("button, a")) if (!field.textContent.trim()) wrong.push("no text: " + field.outerHTML);
	const ids = all("[id]").map(e => e.id);
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("id twice: " + id);
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the window: " + document.documentElement.scrollWidth);

	const numbers = color => color.match(/[\d.]+/g).map(Number);
	const luminance = color => {
		const [r, g, b] = numbers(color).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = element => {
		for (; element; element = element.parentElement) {
			const color = getComputedStyle(element).backgroundColor;
			if (numbers(color)[3] !== 0) return color;
		}
		return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(0, 0, 0)" : "rgb(255, 255, 255)";
	};
	const seen = new Set();
	for (const element of all("body *")) {
		const text = [...element.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
		if (!(text || element.matches("input, textarea")) || !element.checkVisibility() || element.matches("script, option")) continue;
		const pair = getComputedStyle(element).color + " on " + behind(element);
		if (seen.has(pair)) continue;
		seen.add(pair);
		const [a, b] = pair.split(" on ").map(luminance);
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) wrong.push("contrast " + contrast.toFixed(2) + ": " + pair + ": " + element.outerHTML.slice(0, 80));
	}
	return wrong;
})()`

func TestEveryPage(t *testing.T) {
	b := open(t)
	links, ids := map[string][]string{}, map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(width, 800, 1, false))
			for _, page := range pages(t) {
				var wrong, hrefs, named []string
				b.do(chromedp.Navigate(b.url+"/"+page), chromedp.Evaluate(audit, &wrong),
					chromedp.Evaluate(`[...document.querySelectorAll("a[href]")].map(a => a.href)`, &hrefs),
					chromedp.Evaluate(`[...document.querySelectorAll("[id]")].map(e => e.id)`, &named))
				for _, text := range wrong {
					t.Errorf("%s, %s, width %d: %s", page, scheme, width, text)
				}
				links[page] = hrefs
				ids[page] = true
				for _, id := range named {
					ids[page+"#"+id] = true
				}
			}
		}
	}
	for page, hrefs := range links {
		for _, href := range hrefs {
			if to, internal := strings.CutPrefix(href, b.url+"/"); internal && !ids[to] && !ids["index.html"+to] {
				t.Errorf("%s: there is no %s", page, to)
			}
		}
	}
}

func TestWeight(t *testing.T) {
	for _, page := range pages(t) {
		if info, err := os.Stat(filepath.Join(built, page)); err != nil || info.Size() > 200<<10 {
			t.Errorf("%s: more than 200 KiB, or an error: %v", page, err)
		}
	}
}

func TestSearch(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.url+"/index.html"), chromedp.Focus("#query"), chromedp.SendKeys("#query", "ScriptHeld"))
	b.wait(`[...document.querySelectorAll("#results a")].map(a => a.href).join(" ")`, "/reasons.html")
	b.do(chromedp.Evaluate(`document.getElementById("query").value = ""`, nil), chromedp.SendKeys("#query", "nosuchword"))
	b.wait(`document.getElementById("results").textContent`, "No page has these words")
}

// The Tab key reaches every control of the playground, and each shows that it has the focus.
func TestKeyboard(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.url + "/playground.html"))
	missing := map[string]bool{"query": true, "example": true, "file": true, "text": true, "run": true, "share": true}
	for range 60 {
		var focus struct{ ID, Outline string }
		b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(`(({id, tagName}, {outlineStyle, outlineWidth}) => (
			{ID: id || tagName, Outline: outlineStyle === "none" ? "" : outlineWidth}))(document.activeElement, getComputedStyle(document.activeElement))`, &focus))
		if focus.Outline == "" && focus.ID != "BODY" {
			t.Errorf("%s: the focus is not visible", focus.ID)
		}
		delete(missing, focus.ID)
	}
	for id := range missing {
		t.Errorf("the Tab key does not reach %s", id)
	}
	b.do(chromedp.Focus("#text"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl+Enter
	b.wait(answer, "kind: Pod")
}
