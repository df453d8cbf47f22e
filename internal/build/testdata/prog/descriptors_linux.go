package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// descriptors are programs that do with descriptors, processes and their
// environment what may hit those of the recorder.
func descriptors() map[string]func() {
	return map[string]func(){
		"close-all": func() {
			closeAll()
			racy()
		},
		"replace-all": func() {
			null, err := syscall.Open("/dev/null", syscall.O_RDWR, 0)
			check(err)
			takeAll(null)
			racy()
		},
		"connect": func() { // every descriptor becomes the program's own connection
			closeAll()
			conn, peer := connection()
			takeAll(conn, peer)
			racy()
			for i := range 10_000 {
				v[i%16]++
			}
			_, err := syscall.Write(conn, []byte("hello"))
			check(err)
			check(syscall.Shutdown(conn, syscall.SHUT_WR))
			got, err := io.ReadAll(os.NewFile(uintptr(peer), "peer"))
			check(err)
			fmt.Printf("the peer gets %q\n", got)
		},
		"close-amid-events": func() {
			stop, stopped := make(chan bool), make(chan bool)
			go func() {
				for {
					select {
					case <-stop:
						close(stopped)
						return
					default:
						closeAll()
					}
				}
			}()
			counting()
			close(stop)
			<-stopped
			racy()
		},
		"descriptors": func() { // those of the program, and of what it starts
			files, err := filepath.Glob("/proc/self/fd/*")
			check(err)
			for _, f := range files {
				if target, err := os.Readlink(f); err == nil {
					fmt.Println(f, target)
				}
			}
			run(exec.Command("ls", "-l", "/proc/self/fd/"))
		},
		"environment": func() {
			fmt.Println(strings.Join(os.Environ(), "\n"))
			run(exec.Command("env"))
			cmd := exec.Command("sh", "-c", "env")
			cmd.Env = append(os.Environ(), "ADDED=1")
			run(cmd)
		},
		"bare-child": func() { // its own executable in an empty environment, from another folder
			cmd := exec.Command("./"+filepath.Base(os.Args[0]), "return")
			cmd.Dir, cmd.Env = filepath.Dir(os.Args[0]), []string{}
			fmt.Println(cmd.Run())
		},
		"exec": func() {
			racy()
			check(syscall.Exec("/bin/echo", []string{"echo", "another program"}, nil))
		},
		"exec-self": func() {
			racy()
			check(syscall.Exec(os.Args[0], []string{os.Args[0], "exit-3"}, os.Environ()))
		},
		"exec-fails": func() {
			if err := syscall.Exec("/nonexistent", nil, nil); err == nil {
				panic("it has become another program")
			}
			racy()
		},
		"syscall-exit": func() {
			racy()
			syscall.Exit(0)
		},
		"goexit-main": func() {
			go func() {
				racy()
				os.Exit(3)
			}()
			runtime.Goexit()
		},
		"all-threads": func() {
			_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_GETPPID, 0, 0, 0)
			if errno != 0 {
				panic(errno)
			}
			racy()
		},
		"crash": func() {
			debug.SetTraceback("crash")
			racy()
			panic("for the test")
		},
		"exit-group": func() { // around the Go runtime
			racy()
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		},
		"kill-child": func() {
			cmd := exec.Command(os.Args[0], "idle")
			out, err := cmd.StdoutPipe()
			check(err)
			check(cmd.Start())
			_, err = io.ReadFull(out, make([]byte, len("ready\n")))
			check(err)
			check(cmd.Process.Kill())
			cmd.Wait()
		},
	}
}

// lastDescriptor is the highest descriptor that the programs close.
const lastDescriptor = 255

func closeAll() {
	for fd := 3; fd <= lastDescriptor; fd++ {
		syscall.Close(fd)
	}
}

// takeAll makes all descriptors duplicates of the first of the given ones, but
// for those.
func takeAll(given ...int) {
	for fd := 3; fd <= lastDescriptor; fd++ {
		own := false
		for _, g := range given {
			own = own || fd == g
		}
		if !own {
			syscall.Dup3(given[0], fd, syscall.O_CLOEXEC) // fails beyond the limit
		}
	}
}

// connection returns the two ends of a TCP connection, made without the poller
// of package net, whose descriptor the programs close.
func connection() (conn, peer int) {
	l, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.Bind(l, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(l, 1))
	at, err := syscall.Getsockname(l)
	check(err)
	conn, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.Connect(conn, at))
	peer, _, err = syscall.Accept(l)
	check(err)
	check(syscall.Close(l))
	return conn, peer
}

// racy is a race in every schedule.
func racy() {
	done := make(chan bool)
	go func() {
		v[1]++
		done <- true
	}()
	v[1]++
	<-done
}

func run(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	check(cmd.Run())
}
