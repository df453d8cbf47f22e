package report
import ("testing";"path/filepath";"io/fs";"strings";"time";"github.com/heisen-go/heisen")
func TestOneOff(t *testing.T) {
	s := NewSources(); n:=0
	start:=time.Now()
	filepath.WalkDir("/usr/local/go/src", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") { return nil }
		f := s.file(p); if f == nil {return nil}
		for i := range f.lines { for _, op := range []heisen.Op{heisen.Read,heisen.Write} { s.At(Frame{Func:"p.f",File:p,Line:i+1}, op); n++ } 
		if len(f.lines) > 3000 && i > 300 {break} }
		if time.Since(start) > 60*time.Second {return fs.SkipAll}
		return nil
	})
	t.Log(n, time.Since(start))
}
