package library

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

func useBytesBuffer() func() {
	var b bytes.Buffer
	return func() { b.WriteString("x") }
}

func TestRaceBytesBuffer(t *testing.T)   { race(t, useBytesBuffer()) }
func TestNoRaceBytesBuffer(t *testing.T) { noRace(t, useBytesBuffer()) }

func useBytesReader() func() {
	r := bytes.NewReader(make([]byte, 64))
	return func() { r.ReadByte() }
}

func TestRaceBytesReader(t *testing.T)   { race(t, useBytesReader()) }
func TestNoRaceBytesReader(t *testing.T) { noRace(t, useBytesReader()) }

func useStringsBuilder() func() {
	var b strings.Builder
	return func() { b.WriteByte('x') }
}

func TestRaceStringsBuilder(t *testing.T)   { race(t, useStringsBuilder()) }
func TestNoRaceStringsBuilder(t *testing.T) { noRace(t, useStringsBuilder()) }

func useStringsReader() func() {
	r := strings.NewReader("some text")
	return func() { r.ReadByte() }
}

func TestRaceStringsReader(t *testing.T)   { race(t, useStringsReader()) }
func TestNoRaceStringsReader(t *testing.T) { noRace(t, useStringsReader()) }

func useBufioWriter() func() {
	w := bufio.NewWriter(io.Discard)
	return func() { w.WriteByte('x') }
}

func TestRaceBufioWriter(t *testing.T)   { race(t, useBufioWriter()) }
func TestNoRaceBufioWriter(t *testing.T) { noRace(t, useBufioWriter()) }

func useBufioReader() func() {
	r := bufio.NewReader(strings.NewReader("some text"))
	return func() { r.ReadByte() }
}

func TestRaceBufioReader(t *testing.T)   { race(t, useBufioReader()) }
func TestNoRaceBufioReader(t *testing.T) { noRace(t, useBufioReader()) }

func useBufioScanner() func() {
	s := bufio.NewScanner(strings.NewReader("a\nb\nc\n"))
	return func() { s.Scan() }
}

func TestRaceBufioScanner(t *testing.T)   { race(t, useBufioScanner()) }
func TestNoRaceBufioScanner(t *testing.T) { noRace(t, useBufioScanner()) }

func useTabWriter() func() {
	w := &meetingWriter{w: tabwriter.NewWriter(io.Discard, 0, 8, 1, ' ', 0)}
	return func() { fmt.Fprintln(w, "a\tb") }
}

func TestRaceTabWriter(t *testing.T)   { race(t, useTabWriter()) }
func TestNoRaceTabWriter(t *testing.T) { noRace(t, useTabWriter()) }

func useFprintf() func() {
	w := &meetingWriter{w: new(bytes.Buffer)}
	return func() { fmt.Fprintf(w, "%d", 1) }
}

func TestRaceFprintf(t *testing.T)   { race(t, useFprintf()) }
func TestNoRaceFprintf(t *testing.T) { noRace(t, useFprintf()) }

func useIoCopy() func() {
	var b bytes.Buffer
	return func() { io.Copy(&b, strings.NewReader("some text")) }
}

func TestRaceIOCopy(t *testing.T)   { race(t, useIoCopy()) }
func TestNoRaceIOCopy(t *testing.T) { noRace(t, useIoCopy()) }

func useIoReadFull() func() {
	b := make([]byte, 4)
	return func() { io.ReadFull(strings.NewReader("some text"), b) }
}

func TestRaceIOReadFull(t *testing.T)   { race(t, useIoReadFull()) }
func TestNoRaceIOReadFull(t *testing.T) { noRace(t, useIoReadFull()) }

func useFileRead() func() {
	b := make([]byte, 4)
	return func() {
		f, err := os.Open("/dev/zero")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		f.Read(b)
	}
}

func TestRaceFileRead(t *testing.T)   { race(t, useFileRead()) }
func TestNoRaceFileRead(t *testing.T) { noRace(t, useFileRead()) }

func useFileWrite() func() {
	b := make([]byte, 4)
	return func() {
		b[0]++
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		f.Write(b)
	}
}

func TestRaceFileWrite(t *testing.T)   { race(t, useFileWrite()) }
func TestNoRaceFileWrite(t *testing.T) { noRace(t, useFileWrite()) }
