// Command nszip extracts the files of an archive in several goroutines, as Mozilla's nszip does. The header of a file is
// skipped when the file is first wanted, without a lock.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"sync"
)

// item is a file in the archive.
type item struct {
	sum    uint32
	size   int64
	offset int64 // of its header, and then of its data
	seeked bool
}

type archive struct {
	data  []byte
	mu    sync.Mutex
	items []*item
	next  int
}

// seek returns the offset of the data.
func (a *archive) seek(i *item) int64 {
	if !i.seeked {
		header := a.data[i.offset:]
		i.offset += 30 + int64(binary.LittleEndian.Uint16(header[26:])) + int64(binary.LittleEndian.Uint16(header[28:]))
		i.seeked = true
	}
	return i.offset
}

// take returns the next file; each one comes twice.
func (a *archive) take() *item {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == 2*len(a.items) {
		return nil
	}
	i := a.items[a.next/2]
	a.next++
	return i
}

// extract extracts files until there are no more. It returns how many are corrupted.
func (a *archive) extract() (corrupted int) {
	var text bytes.Buffer
	r := flate.NewReader(bytes.NewReader(nil))
	for i := a.take(); i != nil; i = a.take() {
		at := a.seek(i)
		if at+i.size > int64(len(a.data)) {
			corrupted++
			continue
		}
		if err := r.(flate.Resetter).Reset(bytes.NewReader(a.data[at:at+i.size]), nil); err != nil {
			panic(err) // there is no dictionary
		}
		text.Reset()
		if _, err := io.Copy(&text, r); err != nil || crc32.ChecksumIEEE(text.Bytes()) != i.sum {
			corrupted++
		}
	}
	return corrupted
}

// pack makes an archive.
func pack(files int) (*archive, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for n := range files {
		f, err := w.Create(fmt.Sprintf("chrome/file%d", n))
		if err != nil {
			return nil, err
		}
		for line := range 40 {
			fmt.Fprintf(f, "var v%d = %d;\n", line, n*line)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, err
	}
	a := &archive{data: b.Bytes()}
	for _, f := range r.File {
		data, err := f.DataOffset()
		if err != nil {
			return nil, err
		}
		a.items = append(a.items, &item{sum: f.CRC32, size: int64(f.CompressedSize64), offset: data - 30 - int64(len(f.Name))})
	}
	return a, nil
}

func main() {
	files := flag.Int("n", 4000, "files")
	workers := flag.Int("workers", 8, "goroutines")
	flag.Parse()
	a, err := pack(*files)
	if err != nil {
		log.Fatal(err)
	}
	corrupted := make(chan int, *workers)
	for range *workers {
		go func() { corrupted <- a.extract() }()
	}
	sum := 0
	for range *workers {
		sum += <-corrupted
	}
	if sum > 0 {
		log.Fatalf("%d files are corrupted", sum)
	}
}
