package recorder

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/processes"
)

// processSymbolizer asks a second process of the program's own executable, which knows its inlined
// calls, even if the linker has stripped it.
type processSymbolizer struct {
	exe      *os.File // keeps an executable that is deleted during the run
	emulator *os.File // the emulator that runs it; nil if none
	env      []string // what it needs in its environment
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
}

// askedBy is the variable that makes a program which process pid starts answer questions about
// symbols. Any value does. The number tells the program that the variable is meant for it, and does
// not come from the user's environment.
func askedBy(pid int) string { return wire.SymbolizeEnv + "=" + strconv.Itoa(pid) }

// newProcessSymbolizer prepares a symbolizer for the executable of process pid. It fails in a
// process that was itself started as a symbolizer. Otherwise an executable that is no instrumented
// program but uses this package would start processes without end.
func newProcessSymbolizer(pid int) (*processSymbolizer, error) {
	if wire.SymbolizeEnv+"="+os.Getenv(wire.SymbolizeEnv) == askedBy(os.Getppid()) {
		return nil, errors.New("a symbolizer must not start another symbolizer")
	}
	exe, emulator, err := openProgram(pid)
	if err != nil {
		return nil, err
	}
	return &processSymbolizer{exe: exe, emulator: emulator, env: append(libraryPath(pid), askedBy(os.Getpid()))}, nil
}

// SymbolCache is a Symbolizer for all executions of an executable, which it asks only once for each
// place. It is safe for concurrent use. Close it at the end.
type SymbolCache struct {
	mu    sync.Mutex
	solve *processSymbolizer
	known map[uint32][]heisen.Frame
}

// OpenSymbolCache returns a SymbolCache for the executable at path, which must be an instrumented
// program.
func OpenSymbolCache(path string) (*SymbolCache, error) {
	exe, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	env := []string{askedBy(os.Getpid())}
	if dirs, ok := os.LookupEnv(libraryEnv); ok {
		env = append(env, libraryEnv+"="+dirs)
	}
	return &SymbolCache{solve: &processSymbolizer{exe: exe, env: env}, known: map[uint32][]heisen.Frame{}}, nil
}

// Frames implements Symbolizer.
func (s *SymbolCache) Frames(offsets []uint32) ([][]heisen.Frame, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unknown []uint32
	for _, off := range offsets {
		if _, known := s.known[off]; !known {
			unknown = append(unknown, off)
		}
	}
	if len(unknown) > 0 {
		frames, err := s.solve.Frames(unknown)
		if err != nil {
			return nil, err
		}
		for i, off := range unknown {
			s.known[off] = frames[i]
		}
	}
	all := make([][]heisen.Frame, len(offsets))
	for i, off := range offsets {
		all[i] = s.known[off]
	}
	return all, nil
}

// Close ends the process that was asked, if there is one.
func (s *SymbolCache) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.solve.close()
}

// libraryEnv has the folders of shared libraries.
const libraryEnv = "LD_LIBRARY_PATH"

// libraryPath returns the setting of libraryEnv of process pid, which programs that use C may need.
func libraryPath(pid int) []string {
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	for variable := range strings.SplitSeq(string(all), "\x00") {
		if strings.HasPrefix(variable, libraryEnv+"=") {
			return []string{variable}
		}
	}
	return nil
}

// start runs the process. Programs that are stopped early mostly never need it.
func (p *processSymbolizer) start() error {
	p.cmd = exec.Command(descriptor(p.exe))
	if p.emulator != nil {
		p.cmd = exec.Command(descriptor(p.emulator), descriptor(p.exe))
	}
	p.cmd.Env = p.env
	// A signal typed at the terminal goes to a process group. This process is still needed then, and ends
	// with its input.
	processes.OwnGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p.cmd.Start()
}

// descriptor returns a path to an open file that is valid in other processes, too.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }

// Frames implements Symbolizer.
func (p *processSymbolizer) Frames(offsets []uint32) ([][]heisen.Frame, error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	request := binary.LittleEndian.AppendUint32(nil, uint32(len(offsets)))
	for _, off := range offsets {
		request = binary.LittleEndian.AppendUint32(request, off)
	}
	written := make(chan error, 1) // the answer may fill its pipe before the request is read
	go func() {
		_, err := p.in.Write(request)
		written <- err
	}()
	frames, err := readFrames(p.out, len(offsets))
	if err != nil {
		return nil, err
	}
	return frames, <-written
}

const (
	maxName    = 1 << 16 // length of a function's or file's name
	maxInlined = 255     // frames of a program counter
)

func readFrames(r io.Reader, n int) ([][]heisen.Frame, error) {
	frames := make([][]heisen.Frame, n)
	for i := range frames {
		var count uint32
		if err := binary.Read(r, binary.LittleEndian, &count); err != nil {
			return nil, err
		}
		if count > maxInlined {
			return nil, fmt.Errorf("%w: %d frames at one place", ErrCorrupt, count)
		}
		for range count {
			var f heisen.Frame
			var lines [2]uint32
			if err := binary.Read(r, binary.LittleEndian, &lines); err != nil {
				return nil, err
			}
			f.Line, f.Start = int(lines[0]), int(lines[1])
			for _, name := range []*string{&f.Func, &f.File} {
				var size uint32
				if err := binary.Read(r, binary.LittleEndian, &size); err != nil {
					return nil, err
				}
				if size > maxName {
					return nil, fmt.Errorf("%w: a name of %d bytes", ErrCorrupt, size)
				}
				b := make([]byte, size)
				if _, err := io.ReadFull(r, b); err != nil {
					return nil, err
				}
				*name = string(b)
			}
			frames[i] = append(frames[i], f)
		}
	}
	return frames, nil
}

func (p *processSymbolizer) close() {
	if p.cmd != nil {
		if p.cmd.Process != nil {
			p.cmd.Process.Kill() // it may be writing an unread answer
			p.cmd.Wait()
		}
	}
	p.exe.Close()
	if p.emulator != nil {
		p.emulator.Close()
	}
}
