package adversary

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// children runs commands side by side, under a deadline that must not pass.
//
//adversary:fragment outside
func children(r *run) {
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	var all sync.WaitGroup
	for i := range r.n(1, 2) {
		all.Go(func() {
			out, err := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("sleep 0.01; echo %d", i)).Output()
			no(r, err, "a child")
			check(r, string(out), fmt.Sprintln(i), "what a child says")
		})
	}
	all.Wait()
}

// childPipes writes to a child and reads from it through pipes.
//
//adversary:fragment outside
func childPipes(r *run) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if !no(r, err, "pipe") {
		return
	}
	out, err := cmd.StdoutPipe()
	if !no(r, err, "pipe") || !no(r, cmd.Start(), "start") {
		return
	}
	lines := r.n(1, 20)
	go func() {
		for i := range lines {
			fmt.Fprintln(in, i)
		}
		in.Close()
	}()
	n := 0
	for s := bufio.NewScanner(out); s.Scan(); n++ {
		check(r, s.Text(), fmt.Sprint(n), "a line of a child")
	}
	no(r, cmd.Wait(), "wait")
	check(r, n, lines, "lines of a child")
}

// childAnswers waits for a line of a child beside a long timeout.
//
//adversary:fragment outside
func childAnswers(r *run) {
	in, out, err := os.Pipe()
	if !no(r, err, "pipe") {
		return
	}
	defer in.Close()
	cmd := exec.Command("sh", "-c", "sleep 0.02; echo hi")
	cmd.Stdout = out
	err = cmd.Start()
	out.Close()
	if !no(r, err, "start") {
		return
	}
	line := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(in)
		line <- string(b)
	}()
	timeout := time.NewTimer(time.Duration(r.n(30, 60)) * time.Minute)
	defer timeout.Stop()
	select {
	case s := <-line:
		check(r, s, "hi\n", "what a child writes")
	case <-timeout.C:
		r.Errorf("no answer of a child")
		<-line
	}
	no(r, cmd.Wait(), "wait")
}

// childStatus waits in a goroutine for a child that fails.
//
//adversary:fragment outside
func childStatus(r *run) {
	want := r.n(1, 9)
	cmd := exec.Command("sh", "-c", fmt.Sprintf("sleep 0.01; exit %d", want))
	if !no(r, cmd.Start(), "start") {
		return
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	timeout := time.NewTimer(time.Hour)
	defer timeout.Stop()
	select {
	case err := <-done:
		exit, is := err.(*exec.ExitError)
		check(r, is && exit.ExitCode() == want, true, "status of a child")
	case <-timeout.C:
		r.Errorf("no end of a child")
		<-done
	}
}

// childKilled ends a child that would run for long.
//
//adversary:fragment outside
func childKilled(r *run) {
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "sleep", "600")
	if !no(r, cmd.Start(), "start") {
		stop()
		return
	}
	go stop()
	err := cmd.Wait()
	check(r, err != nil, true, "a child that was killed has an error")
}

// signaled sends itself a signal and waits for it beside a timeout.
//
//adversary:fragment outside
func signaled(r *run) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	no(r, syscall.Kill(os.Getpid(), syscall.SIGUSR1), "kill")
	timeout := time.NewTimer(time.Duration(r.n(30, 60)) * time.Second)
	defer timeout.Stop()
	select {
	case s := <-c:
		check(r, s, os.Signal(syscall.SIGUSR1), "the signal")
	case <-timeout.C:
		r.Errorf("no signal")
	}
}

// signalContext ends a context by a signal.
//
//adversary:fragment outside
func signalContext(r *run) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR2)
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if no(r, err, "process") && no(r, self.Signal(syscall.SIGUSR2), "signal") {
		<-ctx.Done()
	}
	check(r, ctx.Err(), context.Canceled, "error after a signal")
}

// echo answers on a listener with what it reads, until the listener is closed.
func echo(r *run, l net.Listener) (stop func()) {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, err := io.Copy(c, c)
				no(r, err, "echo")
			})
		}
	})
	return func() {
		l.Close()
		all.Wait()
	}
}

// sockets talks to a server over TCP and over a socket of the file system, with deadlines.
//
//adversary:fragment outside
func sockets(r *run) {
	network, address := "tcp", "127.0.0.1:0"
	if r.n(0, 1) == 0 {
		folder, err := os.MkdirTemp("", "adversary")
		if !no(r, err, "folder") {
			return
		}
		defer os.RemoveAll(folder)
		network, address = "unix", filepath.Join(folder, "s")
	}
	l, err := net.Listen(network, address)
	if !no(r, err, "listen") {
		return
	}
	defer echo(r, l)()
	var clients sync.WaitGroup
	for i := range r.n(1, 2) {
		clients.Go(func() {
			c, err := net.Dial(network, l.Addr().String())
			if !no(r, err, "dial") {
				return
			}
			defer c.Close()
			no(r, c.SetDeadline(time.Now().Add(time.Hour)), "deadline")
			want := fmt.Sprintf("client %d\n", i)
			_, err = io.WriteString(c, want)
			no(r, err, "write")
			got, err := bufio.NewReader(c).ReadString('\n')
			no(r, err, "read")
			check(r, got, want, "what a server sends back")
		})
	}
	clients.Wait()
}

// datagrams sends to itself over UDP.
//
//adversary:fragment outside
func datagrams(r *run) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if !no(r, err, "listen") {
		return
	}
	defer c.Close()
	got := make(chan int, 1)
	go func() {
		b := make([]byte, 100)
		n, _, err := c.ReadFrom(b)
		no(r, err, "read")
		got <- n
	}()
	n := r.n(1, 90)
	_, err = c.WriteTo(make([]byte, n), c.LocalAddr())
	no(r, err, "write")
	check(r, <-got, n, "bytes of a datagram")
}

// deadlines lets a read time out.
//
//adversary:fragment outside
func deadlines(r *run) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if !no(r, err, "listen") {
		return
	}
	defer echo(r, l)()
	c, err := net.Dial("tcp", l.Addr().String())
	if !no(r, err, "dial") {
		return
	}
	defer c.Close()
	no(r, c.SetReadDeadline(time.Now().Add(time.Duration(r.n(1, 500))*time.Microsecond)), "deadline")
	_, err = c.Read(make([]byte, 1))
	failed, is := err.(net.Error)
	check(r, is && failed.Timeout(), true, "a read after its deadline")
}

// netPipes uses the synchronous connection in memory.
//
//adversary:fragment bubble
func netPipes(r *run) {
	a, b := net.Pipe()
	n := r.n(1, 50)
	go func() {
		_, err := a.Write(make([]byte, n))
		no(r, err, "write")
		no(r, a.Close(), "close")
	}()
	got, err := io.ReadAll(b)
	no(r, err, "read")
	check(r, len(got), n, "bytes of a connection in memory")
	no(r, b.Close(), "close")
}

// files are written by several goroutines, under a name that no other program has.
//
//adversary:fragment outside
func files(r *run) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("adversary-%x", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if !no(r, err, "a file of a random name") {
		return
	}
	defer os.Remove(name)
	defer f.Close()
	var all sync.WaitGroup
	n := r.n(1, 3)
	for i := range n {
		all.Go(func() {
			_, err := f.WriteAt([]byte(strings.Repeat("x", 10)), int64(10*i))
			no(r, err, "write")
		})
	}
	all.Wait()
	b, err := os.ReadFile(name)
	no(r, err, "read")
	check(r, len(b), 10*n, "bytes of a file")
}

// folders makes files in a folder of its own.
//
//adversary:fragment outside
func folders(r *run) {
	folder, err := os.MkdirTemp("", "adversary-*")
	if !no(r, err, "folder") {
		return
	}
	defer os.RemoveAll(folder)
	var all sync.WaitGroup
	n := r.n(1, 4)
	for i := range n {
		all.Go(func() {
			no(r, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), []byte("x"), 0o600), "write")
		})
	}
	all.Wait()
	entries, err := os.ReadDir(folder)
	no(r, err, "folder")
	check(r, len(entries), n, "files of a folder")
}

// systemCalls blocks a thread in the kernel beside a timeout.
//
//adversary:fragment outside
func systemCalls(r *run) {
	done := make(chan error, 1)
	go func() {
		done <- syscall.Nanosleep(&syscall.Timespec{Nsec: int64(r.n(1, 20)) * 1e6}, nil)
	}()
	timeout := time.NewTimer(time.Hour)
	defer timeout.Stop()
	select {
	case err := <-done:
		if err != syscall.EINTR {
			no(r, err, "nanosleep")
		}
	case <-timeout.C:
		r.Errorf("a system call of some milliseconds took an hour")
		<-done
	}
}
