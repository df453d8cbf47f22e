package htmlreport

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a Chromium without a window that shows one page. It is driven by the Chrome DevTools
// Protocol over two pipes.
type browser struct {
	t       *testing.T
	out     *os.File
	in      *bufio.Reader
	number  int
	session string
	problem []string // errors and warnings of the page
}

// startBrowser starts a browser. Where there is none, it skips the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium, so the page is not tried in a browser")
	}
	toIn, toOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromIn, fromOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toIn, fromOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toIn.Close()
	fromOut.Close()
	b := &browser{t: t, out: toOut, in: bufio.NewReader(fromIn)}
	watchdog := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil)
		cmd.Wait()
		watchdog.Stop()
		toOut.Close()
		fromIn.Close()
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})["sessionId"].(string)
	for _, domain := range []string{"Runtime", "Log", "Page"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call calls a method and returns its result.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.number++
	message := map[string]any{"id": b.number, "method": method, "params": params}
	if params == nil {
		delete(message, "params")
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		answer := b.read()
		if id, ok := answer["id"].(float64); !ok || int(id) != b.number {
			continue
		}
		if problem := answer["error"]; problem != nil {
			b.t.Fatalf("%s: %v", method, problem)
		}
		result, _ := answer["result"].(map[string]any)
		return result
	}
}

// read reads a message, and notes it if it is about a problem of the page.
func (b *browser) read() map[string]any {
	b.t.Helper()
	text, err := b.in.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser has ended: %v", err)
	}
	var message map[string]any
	if err := json.Unmarshal(text[:len(text)-1], &message); err != nil {
		b.t.Fatal(err)
	}
	switch message["method"] {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening":
		b.problem = append(b.problem, fmt.Sprint(message["params"]))
	}
	return message
}

// open shows a page and waits until it is loaded.
func (b *browser) open(file string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: file}).String()})
	for b.read()["method"] != "Page.loadEventFired" {
	}
}

// value evaluates an expression in the page.
func (b *browser) value(expression string) any {
	b.t.Helper()
	answer := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if problem := answer["exceptionDetails"]; problem != nil {
		b.t.Fatalf("%s: %v", expression, problem)
	}
	return answer["result"].(map[string]any)["value"]
}

// want checks the value of an expression.
func (b *browser) want(expression string, want any) {
	b.t.Helper()
	if got := b.value(expression); got != want {
		b.t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	switch {
	case len(key) == 1:
		down["text"] = key
	case key == "Enter":
		down["text"], down["windowsVirtualKeyCode"] = "\r", 13
	}
	b.call("Input.dispatchKeyEvent", down)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// size sets the size of the screen.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
}

// theme makes the browser prefer light or dark pages.
func (b *browser) theme(name string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": name}}})
}

// picture writes a picture of the screen into the folder that the environment names, if any.
func (b *browser) picture(name string) {
	b.t.Helper()
	folder := os.Getenv("HEISEN_TEST_PICTURES")
	if folder == "" {
		return
	}
	data, err := base64.StdEncoding.DecodeString(b.call("Page.captureScreenshot", nil)["data"].(string))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// fine checks that the page has neither errors nor warnings.
func (b *browser) fine() {
	b.t.Helper()
	if len(b.problem) > 0 {
		b.t.Errorf("the browser complains:\n%s", strings.Join(b.problem, "\n"))
	}
	b.problem = nil
}
