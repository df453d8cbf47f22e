//go:build heisen_inject && unix && !linux

package runtime

import "unsafe"

// The connection to the analyzer, with what package runtime does with files on all systems that are like Unix: two named
// pipes, one for each direction. See os.go.
//
// The door is a named pipe that the analyzer reads. A program writes a number to it, and the analyzer makes a folder of that
// name beside the door. Once it is there, both pipes in it can be opened.

const (
	heisenToRead    = 0 // O_RDONLY
	heisenToWrite   = _O_WRONLY
	heisenSetFlags  = 4    // F_SETFL
	heisenMaxPath   = 1024 // bytes
	heisenFirstLook = 20   // µs until a program looks for its folder again, and then more and more
	heisenLastLook  = 1000
)

// Reasons for which there is no connection.
const (
	heisenNoDoor      = 1 // there is no pipe, or nobody reads it
	heisenNotAdmitted = 2 // the analyzer has ended, or refused the program
)

// heisenPrintNoConnection prints why heisenConnect has failed.
func heisenPrintNoConnection(why int32) {
	if why == heisenNoDoor {
		print("there is no pipe that anybody reads")
	} else {
		print("it has ended before it admitted the program")
	}
}

// heisenConnect returns the descriptors of pipes to and from the analyzer whose door is at path. If there is no analyzer, to is
// the negated reason.
func heisenConnect(path string) (to, from int32) {
	number := uint64(heisenGetpid())<<32 | uint64(uint32(nanotime1()))
	if !heisenAnnounce(path, number) {
		return -heisenNoDoor, -1
	}
	folder := path
	for folder != "" && folder[len(folder)-1] != '/' {
		folder = folder[:len(folder)-1]
	}
	var digits [16]byte
	heisenHexadecimal(digits[:], number)
	name := unsafe.String(&digits[0], len(digits))
	nap := uint32(heisenFirstLook)
	for to = -1; to < 0; to = heisenOpenPipe(heisenToWrite, folder, name, "/events") {
		door := heisenOpenPipe(heisenToWrite, path)
		if door < 0 { // the analyzer is gone
			return -heisenNotAdmitted, -1
		}
		closefd(door)
		usleep(nap)
		nap = min(2*nap, heisenLastLook)
	}
	if from = heisenOpenPipe(heisenToRead, folder, name, "/answers"); from < 0 {
		closefd(to)
		return -heisenNotAdmitted, -1
	}
	fcntl(to, heisenSetFlags, heisenToWrite) // from now on writes and reads wait
	fcntl(from, heisenSetFlags, heisenToRead)
	return heisenMoveUp(to), heisenMoveUp(from)
}

// heisenOpenPipe opens a named pipe, to write only if another process has opened it to read. Its name comes in parts. Reads
// and writes do not wait.
func heisenOpenPipe(mode int32, name ...string) int32 {
	var path [heisenMaxPath]byte
	n := 0
	for _, part := range name {
		n += copy(path[n:], part)
	}
	if n == len(path) {
		return -1
	}
	return open((*byte)(noescape(unsafe.Pointer(&path))), mode|_O_NONBLOCK|heisenCloseOnExec, 0)
}

// heisenAnnounce writes a number to the door, and reports whether it could.
func heisenAnnounce(path string, number uint64) bool {
	door := heisenOpenPipe(heisenToWrite, path)
	if door < 0 {
		return false
	}
	n := int32(-heisenBusy)
	for n == -heisenBusy || n == -heisenInterrupted {
		if n = write1(uintptr(door), noescape(unsafe.Pointer(&number)), int32(unsafe.Sizeof(number))); n < 0 {
			usleep(heisenLastLook)
		}
	}
	closefd(door)
	return n == int32(unsafe.Sizeof(number))
}

// heisenHexadecimal writes a number with all its digits.
func heisenHexadecimal(to []byte, number uint64) {
	for i := range to {
		to[i] = "0123456789abcdef"[number>>60]
		number <<= 4
	}
}

// heisenSendto relies on that SIGPIPE does not end a program of Go.
func heisenSendto(fd int32, p unsafe.Pointer, n uintptr) int {
	return int(write1(uintptr(fd), p, int32(n)))
}

func heisenTakeDescriptors(int32) bool { return false }

func heisenGetppid() uintptr { return 0 }
