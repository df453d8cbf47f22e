// Command upload has clients that send files to a server over the loopback network. The
// server writes each to a folder, reads it again to check it, and answers how long it is.
//
// The bug: the server adds up the sizes without a lock. One of two additions at the same time can
// be lost, and then the program panics.
//
// A schedule does not control the network and the file system. So executions under a schedule
// differ in their cost, and are not repeated exactly.
//
//	heisen fuzz run ./examples/racefuzz/upload
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

const clients = 3

// server stores files.
type server struct {
	dir   string
	fixed bool

	mu       sync.Mutex
	received int64 // should be guarded by mu
}

// serve handles connections until there are no more.
func (s *server) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go s.handle(c)
	}
}

// handle stores the files that come from a client.
func (s *server) handle(c net.Conn) {
	defer c.Close()
	var head [2]uint32 // number and length
	for binary.Read(c, binary.LittleEndian, &head) == nil {
		name := filepath.Join(s.dir, strconv.Itoa(int(head[0])))
		text := make([]byte, head[1])
		if _, err := io.ReadFull(c, text); err != nil {
			return
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return
		}
		stored, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(stored, text) {
			return
		}
		s.add(int64(len(stored)))
		if binary.Write(c, binary.LittleEndian, head[1]) != nil {
			return
		}
	}
}

// add adds to what was received.
func (s *server) add(n int64) {
	if s.fixed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.received += n
		return
	}
	s.received += n // race:add
}

// send sends files and waits for the answer to each.
func send(addr string, first, files, size int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range files {
		text := bytes.Repeat([]byte{byte(i)}, size)
		if err := binary.Write(c, binary.LittleEndian, [2]uint32{uint32(first + i), uint32(size)}); err != nil {
			return err
		}
		if _, err := c.Write(text); err != nil {
			return err
		}
		var stored uint32
		if err := binary.Read(c, binary.LittleEndian, &stored); err != nil || int(stored) != size {
			return fmt.Errorf("%d bytes of %d were stored: %w", stored, size, err)
		}
	}
	return nil
}

// run uploads the files of all clients.
func run(files, size int, fixed bool) (received int64, err error) {
	dir, err := os.MkdirTemp("", "upload-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	s := &server{dir: dir, fixed: fixed}
	go s.serve(l)
	sent := make(chan error)
	for i := range clients {
		go func() { sent <- send(l.Addr().String(), i*files, files, size) }()
	}
	for range clients {
		if e := <-sent; e != nil {
			err = e
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received, err // race:sum
}

func main() {
	files := flag.Int("files", 20, "how many `files` each client sends")
	size := flag.Int("size", 64<<10, "their size in `bytes`")
	fixed := flag.Bool("fixed", false, "add up under a lock")
	flag.Parse()
	if *files < 1 || *size < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "upload: -files and -size are 1 or more, and there are no arguments")
		os.Exit(2)
	}
	received, err := run(*files, *size, *fixed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "upload:", err)
		os.Exit(1)
	}
	if want := int64(clients * *files * *size); received != want {
		panic(fmt.Sprintf("%d bytes of %d", received, want))
	}
	fmt.Printf("%d files, %d bytes\n", clients**files, received)
}
