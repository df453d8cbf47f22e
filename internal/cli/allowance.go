package cli

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
)

// An allowance is what a command may spend on files: they may come from anybody, and a small file can
// describe a long or a large execution. Without the flags it is in proportion to the size of the input.
type allowance struct {
	memory  bytesFlag
	time    time.Duration // -1 if the flag is not given
	machine func() int64  // machineMemory, measured once
}

const (
	perMiB    = 640 << 20        // bytes of memory for each MiB of the input; at least for one
	timePer   = 45 * time.Second // for each MiB of the input; at least for one
	sizeUnit  = 1 << 20
	unlimited = math.MaxInt64
)

// bytesFlag is a number of bytes, such as 4G. -1 means that the flag is not given.
type bytesFlag int64

func (b *bytesFlag) String() string {
	if b == nil || *b < 0 {
		return ""
	}
	return byteSize(int64(*b))
}

func (b *bytesFlag) Set(text string) error {
	digits := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), "KMGT")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text)[len(digits):], "B"), "I")
	shift, known := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > unlimited>>shift {
		return fmt.Errorf("want a number of bytes, such as 800M or 4G")
	}
	*b = bytesFlag(n << shift)
	return nil
}

// byteSize returns a number of bytes in the largest unit that keeps three digits.
func byteSize(n int64) string {
	unit := 0
	for n >= 10_000 && unit < 4 {
		n, unit = (n+512)>>10, unit+1
	}
	return strconv.FormatInt(n, 10) + " " + [...]string{"bytes", "KiB", "MiB", "GiB", "TiB"}[unit]
}

var _ flag.Value = (*bytesFlag)(nil)

// allowanceFlags defines -max-memory and -max-time.
func (inv *invocation) allowanceFlags() *allowance {
	a := &allowance{memory: -1, time: -1, machine: sync.OnceValue(machineMemory)}
	inv.flags.Var(&a.memory, "max-memory", "end when about so many `bytes` of memory are in use, such as 4G; 0 is no limit (default:\n"+byteSize(perMiB)+" for each MiB of the input, and at least that)")
	inv.flags.Func("max-time", fmt.Sprintf("end after this `time`, such as 10m; 0 is no limit (default: %v for each MiB of the input, and\nat least that)", timePer), func(text string) (err error) {
		if a.time, err = time.ParseDuration(text); err == nil && a.time < 0 {
			err = fmt.Errorf("want no negative time")
		}
		return err
	})
	return a
}

// liveAllowanceFlag defines -max-memory for commands that analyze programs while they run. These run on
// the same machine, and how much they send is not known before.
func (inv *invocation) liveAllowanceFlag() *allowance {
	a := &allowance{memory: -1, machine: sync.OnceValue(machineMemory)}
	inv.flags.Var(&a.memory, "max-memory", "end the analysis of a program when "+inv.tool.Name+" itself has about so many `bytes` of memory in\nuse, such as 4G; 0 is no limit (default: half of the memory of the machine or the control\ngroup)")
	return a
}

// liveMemory returns the bytes that may be in use while programs are analyzed that run.
func (a *allowance) liveMemory() int64 {
	if a.memory < 0 {
		return a.machine() / 8 * 5 // of 4/5
	}
	return a.memoryFor(0)
}

// memoryFor returns the bytes that may be in use for an input of a size.
func (a *allowance) memoryFor(size int64) int64 {
	allowed := int64(a.memory)
	switch {
	case allowed == 0:
		allowed = unlimited
	case allowed < 0:
		allowed = proportion(perMiB, size)
	}
	return min(allowed, a.machine())
}

// timeFor returns the time that may be spent on an input of a size.
func (a *allowance) timeFor(size int64) time.Duration {
	switch {
	case a.time == 0:
		return math.MaxInt64
	case a.time < 0:
		return time.Duration(proportion(int64(timePer), size))
	}
	return a.time
}

// proportion returns unit for each sizeUnit, and at least once.
func proportion(unit, size int64) int64 {
	if size <= sizeUnit {
		return unit
	}
	if p := float64(unit) * (float64(size) / sizeUnit); p < unlimited {
		return int64(p)
	}
	return unlimited
}

// machineMemory returns how much memory this process can use before the operating system refuses more
// or ends it: part of what ulimit -v, the control group and the machine allow.
func machineMemory() int64 {
	memory := int64(unlimited)
	atMost := func(n uint64, part float64) {
		if f := float64(n) * part; f < float64(memory) {
			memory = int64(f)
		}
	}
	atMost(processes.AddressSpace(), 0.6) // the runtime reserves more address space than it uses
	if group, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(group)), 10, 64); err == nil {
			atMost(n, 0.8)
		}
	}
	if n := totalMemory(); n > 0 {
		atMost(n, 0.8)
	}
	return memory
}

// totalMemory returns the memory of the machine, or 0 if it is not known.
func totalMemory() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if field := strings.Fields(line); len(field) == 3 && field[0] == "MemTotal:" && field[2] == "kB" {
			n, _ := strconv.ParseUint(field[1], 10, 54)
			return n << 10
		}
	}
	return 0
}
