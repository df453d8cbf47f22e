// Command aget downloads a file from a server on this machine in several parts at a time, and writes to a log how far it
// is, as aget does when it is interrupted. The number of bytes has a mutex, which the log forgets.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

type download struct {
	mu      sync.Mutex
	written int64
	file    *os.File
	url     string
}

// part downloads the bytes from first up to last.
func (d *download) part(first, last int64) error {
	request, err := http.NewRequest("GET", d.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, last-1))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	chunk := make([]byte, 16<<10)
	for at := first; at < last; {
		n, err := io.ReadFull(answer.Body, chunk[:min(int64(len(chunk)), last-at)])
		if err != nil {
			return err
		}
		if _, err := d.file.WriteAt(chunk[:n], at); err != nil {
			return err
		}
		at += int64(n)
		d.mu.Lock()
		d.written += int64(n)
		d.mu.Unlock()
	}
	return nil
}

// save returns what is needed to go on later: the number of bytes, the file, and the number again.
func (d *download) save() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "written %d\n", d.written)
	fmt.Fprintf(&b, "from %s to %s\n", d.url, d.file.Name())
	fmt.Fprintf(&b, "resume at %d\n", d.written)
	return b.Bytes()
}

func main() {
	megabytes := flag.Int("n", 128, "size of the file in MiB")
	workers := flag.Int("workers", 8, "parts")
	every := flag.Duration("every", time.Millisecond, "time between two logs; 0 for none")
	calm := flag.Bool("calm", false, "download one part after the other, and write a log after each of them, as a regression test does")
	flag.Parse()
	content := make([]byte, *megabytes<<20)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "file", time.Time{}, bytes.NewReader(content))
	}))
	dir, err := os.MkdirTemp("", "aget-")
	if err != nil {
		log.Fatal(err)
	}
	wrong := run(dir, "http://"+listener.Addr().String(), content, *workers, *every, *calm)
	os.RemoveAll(dir)
	if wrong != nil {
		log.Fatal(wrong)
	}
}

// logs counts logs with two different numbers.
type logs struct {
	file string
	torn int
}

// write writes a log.
func (l *logs) write(d *download) error {
	text := d.save()
	var first, again int64
	var from, to string
	if _, err := fmt.Sscanf(string(text), "written %d\nfrom %s to %s\nresume at %d\n", &first, &from, &to, &again); err != nil || first != again {
		l.torn++
	}
	return os.WriteFile(l.file, text, 0o666)
}

func run(dir, url string, content []byte, workers int, every time.Duration, calm bool) error {
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return err
	}
	defer file.Close()
	d := &download{file: file, url: url}
	failed := make(chan error, 2*workers+1) // each sends one at most
	logs := &logs{file: filepath.Join(dir, "log")}
	var working sync.WaitGroup
	size := int64(len(content))
	for i := range int64(workers) {
		working.Go(func() {
			if err := d.part(size*i/int64(workers), size*(i+1)/int64(workers)); err != nil {
				failed <- err
			}
		})
		if calm {
			working.Wait()
			working.Go(func() {
				if err := logs.write(d); err != nil {
					failed <- err
				}
			})
			working.Wait()
		}
	}
	stop, saved := make(chan bool), make(chan bool)
	go func() {
		defer close(saved)
		if every == 0 {
			return
		}
		interrupts := time.NewTicker(every)
		defer interrupts.Stop()
		for {
			if err := logs.write(d); err != nil {
				failed <- err
				return
			}
			select {
			case <-stop:
				return
			case <-interrupts.C:
			}
		}
	}()
	working.Wait()
	close(stop)
	<-saved
	select {
	case err := <-failed:
		return err
	default:
	}
	for chunk, at := make([]byte, 1<<20), 0; at < len(content); at += len(chunk) {
		if _, err := file.ReadAt(chunk, int64(at)); err != nil {
			return err
		}
		if !bytes.Equal(chunk, content[at:at+len(chunk)]) {
			return fmt.Errorf("the bytes after %d are others", at)
		}
	}
	if logs.torn > 0 || d.written != size {
		return fmt.Errorf("%d of %d bytes are written; %d logs are torn", d.written, size, logs.torn)
	}
	return nil
}
