package library

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"
)

func useJsonEncoder() func() {
	e := json.NewEncoder(&meetingWriter{w: new(bytes.Buffer)})
	return func() { e.Encode(1) }
}

func TestRaceJSONEncoder(t *testing.T)   { race(t, useJsonEncoder()) }
func TestNoRaceJSONEncoder(t *testing.T) { noRace(t, useJsonEncoder()) }

// meetingValue meets when it is decoded.
type meetingValue struct{ meeting }

func (m *meetingValue) UnmarshalJSON([]byte) error {
	m.meet()
	return nil
}

func useJsonUnmarshal() func() {
	var v struct {
		First meetingValue // Go 1.27 takes decoders from a pool
		A     int
	}
	return func() { json.Unmarshal([]byte(`{"First":0,"A":1}`), &v) }
}

func TestRaceJSONUnmarshal(t *testing.T)   { race(t, useJsonUnmarshal()) }
func TestNoRaceJSONUnmarshal(t *testing.T) { noRace(t, useJsonUnmarshal()) }

func useJsonDecoder() func() {
	d := json.NewDecoder(strings.NewReader("1 2 3 4"))
	return func() {
		var n int
		d.Decode(&n)
	}
}

func TestRaceJSONDecoder(t *testing.T)   { race(t, useJsonDecoder()) }
func TestNoRaceJSONDecoder(t *testing.T) { noRace(t, useJsonDecoder()) }

func useXmlEncoder() func() {
	e := xml.NewEncoder(new(bytes.Buffer))
	return func() { e.Encode(1) }
}

func TestRaceXMLEncoder(t *testing.T)   { race(t, useXmlEncoder()) }
func TestNoRaceXMLEncoder(t *testing.T) { noRace(t, useXmlEncoder()) }

func useCsvWriter() func() {
	w := csv.NewWriter(io.Discard)
	return func() { w.Write([]string{"a", "b"}) }
}

func TestRaceCSVWriter(t *testing.T)   { race(t, useCsvWriter()) }
func TestNoRaceCSVWriter(t *testing.T) { noRace(t, useCsvWriter()) }

func useGzip() func() {
	w := gzip.NewWriter(io.Discard)
	return func() { w.Write([]byte("some text")) }
}

func TestRaceGzip(t *testing.T)   { race(t, useGzip()) }
func TestNoRaceGzip(t *testing.T) { noRace(t, useGzip()) }

func useTar() func() {
	w := tar.NewWriter(io.Discard)
	return func() { w.WriteHeader(&tar.Header{Name: "a"}) }
}

func TestRaceTar(t *testing.T)   { race(t, useTar()) }
func TestNoRaceTar(t *testing.T) { noRace(t, useTar()) }

func useMultipart() func() {
	w := multipart.NewWriter(io.Discard)
	return func() { w.WriteField("a", "b") }
}

func TestRaceMultipart(t *testing.T)   { race(t, useMultipart()) }
func TestNoRaceMultipart(t *testing.T) { noRace(t, useMultipart()) }

func useSscan() func() {
	var n int
	var m meeting
	return func() { fmt.Fscan(io.MultiReader(readerFunc(m.meet), strings.NewReader("1")), &n) }
}

func TestRaceSscan(t *testing.T)   { race(t, useSscan()) }
func TestNoRaceSscan(t *testing.T) { noRace(t, useSscan()) }

func useErrorsAs() func() {
	var target *fs.PathError
	return func() { errors.As(&fs.PathError{Op: "open"}, &target) }
}

func TestRaceErrorsAs(t *testing.T)   { race(t, useErrorsAs()) }
func TestNoRaceErrorsAs(t *testing.T) { noRace(t, useErrorsAs()) }

func useRegexp() func() {
	r := regexp.MustCompile("a*")
	return func() { r.Longest() }
}

func TestRaceRegexp(t *testing.T)   { race(t, useRegexp()) }
func TestNoRaceRegexp(t *testing.T) { noRace(t, useRegexp()) }

func useLogger() func() {
	w := &meetingWriter{w: new(bytes.Buffer)}
	return func() { log.New(w, "", 0).Print("a") }
}

func TestRaceLogger(t *testing.T)   { race(t, useLogger()) }
func TestNoRaceLogger(t *testing.T) { noRace(t, useLogger()) }

func useSlogHandler() func() {
	w := &meetingWriter{w: new(bytes.Buffer)}
	return func() { slog.New(slog.NewTextHandler(w, nil)).Info("a") }
}

func TestRaceSlogHandler(t *testing.T)   { race(t, useSlogHandler()) }
func TestNoRaceSlogHandler(t *testing.T) { noRace(t, useSlogHandler()) }
