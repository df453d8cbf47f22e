package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"os"
	"reflect"
	"time"
)

// libraryNoRaces are about the standard library, files, connections and signals.
func libraryNoRaces() map[string]func() {
	return map[string]func(){
		"std": func() {
			l := log.New(io.Discard, "", log.LstdFlags)
			parallel(8, func(i int) {
				l.Println("message", i)
				fmt.Fprintf(io.Discard, "%d %v %s\n", rand.Int(), pair{i, i}, time.Now())
				b, err := json.Marshal(map[string]any{"a": []pair{{1, 2}}, "b": i})
				if err != nil {
					panic(err)
				}
				var v any
				if err := json.Unmarshal(b, &v); err != nil {
					panic(err)
				}
				reflect.DeepEqual(v, pair{})
				os.Getenv("HOME")
				os.Setenv("PROG", "x")
			})
		},
		"io-pipe": func() {
			x := new(int)
			r, w := io.Pipe()
			both(func() { *x = 1; w.Write([]byte("hello")); w.Close() }, func() { io.ReadAll(r); *x = 2 })
		},
		"os-pipe": func() {
			x := new(int)
			r, w, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			both(func() { *x = 1; w.Write([]byte("hello")); w.Close() }, func() { io.ReadAll(r); *x = 2; r.Close() })
		},
		"net": func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			x := new(int)
			both(func() {
				c, err := l.Accept()
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, c)
				*x = 2
				c.Close()
			}, func() {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					panic(err)
				}
				*x = 1
				c.Write(bytes.Repeat([]byte("x"), 100_000))
				c.Close()
			})
			l.Close()
		},
	}
}
