//go:build cgo

package adversary

/*
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

extern int adversaryCallback(int);

static int twice(int n) { return 2 * n; }
static int called(int n) { return adversaryCallback(n) + 1; }
static void fill(char *p, int c, size_t n) { memset(p, c, n); }

static void *on_thread(void *arg) { *(int *)arg = adversaryCallback(*(int *)arg); return 0; }
static int by_thread(int n) {
	pthread_t t;
	if (pthread_create(&t, 0, on_thread, &n)) return -1;
	pthread_join(t, 0);
	return n;
}
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

//export adversaryCallback
func adversaryCallback(n C.int) C.int {
	c := make(chan C.int)
	go func() { c <- n * n }()
	return <-c
}

// callsC calls C functions, which call back, from several goroutines.
//
//adversary:fragment outside
func callsC(r *run) {
	var all sync.WaitGroup
	for i := range r.n(1, 3) {
		all.Go(func() {
			check(r, int(C.twice(C.int(i))), 2*i, "a C function")
			check(r, int(C.called(C.int(i))), i*i+1, "a callback")
			check(r, int(C.by_thread(C.int(i))), i*i, "a callback of a C thread")
		})
	}
	all.Wait()
}

// memoryOfC is filled by C and read by Go, and the other way round.
//
//adversary:fragment bubble
func memoryOfC(r *run) {
	n := r.n(1, 100)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			p := C.malloc(C.size_t(n))
			defer C.free(p)
			C.fill((*C.char)(p), C.int(i+1), C.size_t(n))
			b := unsafe.Slice((*byte)(p), n)
			check(r, b[n-1], byte(i+1), "memory of C")
			mine := make([]byte, n)
			runtime.GC()
			C.fill((*C.char)(unsafe.Pointer(&mine[0])), 7, C.size_t(n))
			check(r, mine[n-1], 7, "memory of Go after C")
			text := C.CString("text")
			check(r, C.GoString(text), "text", "a string of C")
			C.free(unsafe.Pointer(text))
		})
	}
	all.Wait()
}
