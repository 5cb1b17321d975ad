// Package site tests the built documentation, and its playground, in Chromium. "make test-site" builds the site first.
package site

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// built is the directory with the site.
const built = "../../build/site"

// A browser is a tab, and what it must not do.
type browser struct {
	context.Context
	t   *testing.T
	url string // of the site

	mu    sync.Mutex
	wrong []string // requests to other servers, and errors in the console
}

// open starts Chromium and a server for the site. At the end of the test, it reports requests to other servers and errors in the console.
func open(t *testing.T) *browser {
	program := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		t.Fatal("there is no Chromium: install the package chromium, or set CHROMIUM to the path of the program")
	}
	if _, err := os.Stat(filepath.Join(built, "index.html")); err != nil {
		t.Fatalf("the site is not built, run make site: %v", err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(built)))
	t.Cleanup(server.Close)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))...) // no sandbox: tests may run as root
	t.Cleanup(cancel)
	limited, cancel := context.WithTimeout(allocator, 5*time.Minute)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(limited)
	t.Cleanup(cancel)
	b := &browser{Context: tab, t: t, url: server.URL}
	chromedp.ListenTarget(tab, func(event any) {
		switch event := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := event.Request.URL; !strings.HasPrefix(url, b.url+"/") && !strings.HasPrefix(url, "blob:"+b.url) && url != "about:blank" {
				b.add("request to " + url)
			}
		case *network.EventResponseReceived:
			if event.Response.Status >= 400 {
				b.add(event.Response.URL + ": " + event.Response.StatusText)
			}
		case *runtime.EventExceptionThrown:
			b.add("exception: " + event.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if event.Type == runtime.APITypeError {
				b.add("error in the console")
			}
		}
	})
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, wrong := range b.wrong {
			t.Error(wrong)
		}
	})
	b.do(network.Enable(), runtime.Enable())
	return b
}

func (b *browser) add(wrong string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, wrong)
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// wait waits until a text of the page, which an expression of JavaScript returns, has a part.
func (b *browser) wait(expression, part string) {
	b.t.Helper()
	limited, cancel := context.WithTimeout(b, 2*time.Minute)
	defer cancel()
	for {
		err := chromedp.Run(limited, chromedp.PollFunction(`part => (`+expression+`).includes(part)`, nil,
			chromedp.WithPollingArgs(part), chromedp.WithPollingTimeout(2*time.Minute)))
		if err == nil {
			return
		}
		if limited.Err() == nil && !errors.Is(err, chromedp.ErrPollingTimeout) {
			continue // the page was replaced while it was polled
		}
		var got string
		_ = chromedp.Run(b, chromedp.Evaluate(expression, &got))
		b.t.Fatalf("%s has no %q: %v\n%s", expression, part, err, got)
	}
}

// pages returns the names of all pages.
func pages(t *testing.T) []string {
	files, err := filepath.Glob(built + "/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages in %s: %v", built, err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}
