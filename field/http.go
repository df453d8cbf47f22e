package field

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/heisen-go/heisen/report"
)

// ServeHTTP looks, unless that would go beyond the share, and answers with all that is known: as text, or as
// lines of JSON with ?format=json. It answers GET and HEAD. Like those of net/http/pprof, the pages tell
// names of functions, files and labels, and cost time: do not serve them to strangers.
func (w *Watcher) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		rw.Header().Set("Allow", "GET, HEAD")
		http.Error(rw, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	format := r.FormValue("format")
	write, kind := report.WriteText, "text/plain; charset=utf-8"
	switch format {
	case "", "text":
	case "json":
		write, kind = report.WriteJSON, "application/jsonl"
	default:
		http.Error(rw, fmt.Sprintf("format %q: want text or json", format), http.StatusBadRequest)
		return
	}
	found, failed := w.lookWithin()
	var page bytes.Buffer
	for i := range found {
		if err := write(&page, &found[i]); err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if kind != "application/jsonl" {
		page.WriteString(w.summary(len(found)))
		if failed != nil {
			fmt.Fprintln(&page, failed)
		}
	}
	rw.Header().Set("Content-Type", kind)
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = rw.Write(page.Bytes())
}

// summary is the last line of a page.
func (w *Watcher) summary(found int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("Found %d; looked at %s, which took %v\n", found, w.looked.UTC().Format(time.RFC3339), w.took.Round(time.Microsecond))
}
