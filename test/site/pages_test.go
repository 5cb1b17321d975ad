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
	if ((document.querySelector("meta[name=description]")?.content ?? "").length < 20) wrong.push("no description");
	for (const landmark of ["body > header", "main", "nav", "[role=search]"]) {
		if (all(landmark).length !== 1) wrong.push(all(landmark).length + " landmarks " + landmark);
	}
	for (const part of all("nav, section")) if (!part.ariaLabel) wrong.push("no label: " + part.outerHTML.slice(0, 80));
	for (const element of all("body :is(a, p, h1, h2, h3, ul, table, pre)")) {
		if (!element.closest("header, main, nav, .skip")) wrong.push("outside of the landmarks: " + element.outerHTML.slice(0, 80));
	}
	for (const target of all("a, button, input, select, textarea")) { // one in a text may be small
		const {width, height, right} = target.getBoundingClientRect();
		if (right < 0 || !target.checkVisibility() || target.matches("main a")) continue;
		if (width < 24 || height < 24) wrong.push("small target, " + width + " by " + height + ": " + target.outerHTML.slice(0, 80));
	}
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
	const contrast = (one, other) => {
		const [a, b] = [one, other].map(luminance);
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	};
	for (const field of all("input, select, button, .editor")) {
		const ratio = contrast(getComputedStyle(field).borderTopColor, behind(field.parentElement));
		if (ratio < 3) wrong.push("contrast of the border " + ratio.toFixed(2) + ": " + field.outerHTML.slice(0, 80));
	}
	const seen = new Set();
	for (const element of all("body *")) {
		const text = [...element.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
		if (!(text || element.matches("input, textarea")) || !element.checkVisibility() || element.matches("script, option")) continue;
		const pair = getComputedStyle(element).color + " on " + behind(element);
		if (seen.has(pair)) continue;
		seen.add(pair);
		const ratio = contrast(...pair.split(" on "));
		if (ratio < 4.5) wrong.push("contrast " + ratio.toFixed(2) + ": " + pair + ": " + element.outerHTML.slice(0, 80));
	}
	return wrong;
})()`

func TestEveryPage(t *testing.T) {
	b := open(t)
	links, ids, titles := map[string][]string{}, map[string]bool{}, map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(width, 800, 1, false))
			for _, page := range pages(t) {
				var wrong, hrefs, named []string
				var title string
				b.do(chromedp.Navigate(b.url+"/"+page), chromedp.Evaluate(audit, &wrong), chromedp.Title(&title),
					chromedp.Evaluate(`[...document.querySelectorAll("a[href]")].map(a => a.href)`, &hrefs),
					chromedp.Evaluate(`[...document.querySelectorAll("[id]")].map(e => e.id)`, &named))
				for _, text := range wrong {
					t.Errorf("%s, %s, width %d: %s", page, scheme, width, text)
				}
				if other := titles[title]; other != "" && other != page {
					t.Errorf("%s and %s have the title %q", page, other, title)
				}
				titles[title] = page
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

// The weight of a page is the number of bytes of all files that it loads, without those that it loads when it is used.
func TestWeight(t *testing.T) {
	b := open(t)
	for _, page := range pages(t) {
		var files []string
		b.do(chromedp.Navigate(b.url+"/"+page), chromedp.Evaluate(`performance.getEntriesByType("resource").map(file => new URL(file.name).pathname)`, &files))
		total := int64(0)
		for _, file := range append(files, page) {
			info, err := os.Stat(filepath.Join(built, file))
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		t.Logf("%s: %d KiB in %d files", page, (total+1023)>>10, len(files)+1)
		if total > 200<<10 {
			t.Errorf("%s has more than 200 KiB", page)
		}
	}
}

func TestSearch(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.url+"/index.html"), chromedp.Focus("#query"), chromedp.SendKeys("#query", "ScriptHeld"))
	b.wait(`[...document.querySelectorAll("#results a")].map(a => a.href).join(" ")`, "/reasons.html")
	for text, page := range map[string]string{"metascript_queue_oldest_wait_seconds": "/metrics.html", "constrained-impersonation": "/command-rbac.html"} {
		b.do(chromedp.Evaluate(`document.getElementById("query").value = ""`, nil), chromedp.SendKeys("#query", text))
		b.wait(`[...document.querySelectorAll("#results a")].map(a => a.href).join(" ")`, page)
	}
	b.do(chromedp.Evaluate(`document.getElementById("query").value = ""`, nil), chromedp.SendKeys("#query", "nosuchword"))
	b.wait(`document.getElementById("results").textContent`, "No page has these words")
}

// The Tab key reaches the controls of the playground in their order, and each shows that it has the focus.
func TestKeyboard(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.url + "/playground.html"))
	var reached []string
	for range 12 {
		var focus struct{ ID, Outline string }
		b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(`(({id, tagName, textContent}, {outlineStyle, outlineWidth, outlineColor}) => (
			{ID: id || textContent, Outline: outlineStyle === "none" ? "" : outlineWidth + " " + outlineColor}))(document.activeElement, getComputedStyle(document.activeElement))`, &focus))
		if !strings.HasPrefix(focus.Outline, "3px ") {
			t.Errorf("%s: the focus is not visible: its outline is %q", focus.ID, focus.Outline)
		}
		reached = append(reached, focus.ID)
	}
	const want = "Skip to the content, metascript, Playground, query, example, file, text, run, share, answer, log"
	if got := strings.Join(reached, ", "); !strings.HasPrefix(got, want) {
		t.Errorf("the Tab key reaches %s, want %s", got, want)
	}
	b.do(chromedp.Focus("#text"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl+Enter
	b.wait(answer, "kind: Pod")
}

// Enter in the field of the search leads to the results, which the Tab key reaches next.
func TestKeyboardInSearch(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(b.url+"/index.html"), chromedp.Focus("#query"), chromedp.SendKeys("#query", "ScriptHeld"+kb.Enter))
	b.wait(`[...document.querySelectorAll("#results a")].map(a => a.href).join(" ")`, "/reasons.html")
	b.do(chromedp.KeyEvent(kb.Tab))
	b.wait(`document.activeElement.closest("#results") ? "in the results" : document.activeElement.outerHTML`, "in the results")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`document.activeElement.id`, "query")
}
